package servers_test

import (
	"bytes"
	stdcmp "cmp"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
)

var update = flag.Bool("update", false, "write what the real server stores into apitest/internal/kinds/testdata/defaults, and what it refuses into refused")

// defaultsCase is an object and what kube-apiserver makes of it. Package apitest
// holds its own defaults against the same files.
type defaultsCase struct {
	Name      string          `json:"name"`
	Path      string          `json:"path"`
	Object    json.RawMessage `json:"object"`
	Stored    json.RawMessage `json:"stored,omitempty"`
	Put       json.RawMessage `json:"put,omitempty"` // a second write, by PUT
	PutStored json.RawMessage `json:"putStored,omitempty"`
	Causes    []cause         `json:"causes,omitempty"` // why the last write is refused
}

type cause struct {
	Reason  string `json:"reason"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

// TestDefaults holds the fixtures of apitest's defaults, and of what it refuses,
// against the real server.
func TestDefaults(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	eachCase(t, "../../apitest/internal/kinds/testdata/defaults/*.json", func(t *testing.T, fc *defaultsCase) {
		checkStored(t, &fc.Stored, setup.MustSend(t, c, http.MethodPost, fc.Path, "application/json", string(fc.Object)))
		if fc.Put != nil {
			checkStored(t, &fc.PutStored, setup.MustSend(t, c, http.MethodPut, fc.Path+"/"+fc.Name, "application/json", string(fc.Put)))
		}
	})
	eachCase(t, "../../apitest/internal/kinds/testdata/refused/*.json", func(t *testing.T, fc *defaultsCase) {
		method, path, body := http.MethodPost, fc.Path, fc.Object
		if fc.Put != nil {
			setup.MustSend(t, c, method, path, "application/json", string(body))
			method, path, body = http.MethodPut, path+"/"+fc.Name, fc.Put
		}
		got := refused(t, c, method, path, body)
		if *update {
			fc.Causes = got
			return
		}
		if diff := cmp.Diff(fc.Causes, got); diff != "" {
			t.Errorf("the real server says something else (-noted +got):\n%s", diff)
		}
	})
}

// eachCase goes through the fixtures, and writes them back where that is wanted.
func eachCase(t *testing.T, pattern string, check func(*testing.T, *defaultsCase)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cases []defaultsCase
		if err := json.Unmarshal(b, &cases); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for i := range cases {
			t.Run(cases[i].Name, func(t *testing.T) { check(t, &cases[i]) })
		}
		if *update {
			writeFixtures(t, file, cases)
		}
	}
}

// refused returns the causes for which a write gets 422, in order.
func refused(t *testing.T, c *cluster.Cluster, method, path string, body []byte) []cause {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, c.URL()+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.HTTPClient().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var st struct {
		Message string
		Details struct{ Causes []cause }
	}
	if err := json.NewDecoder(resp.Body).Decode(&st); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusUnprocessableEntity {
		t.Fatalf("%s %s: HTTP %d %s, want 422", method, path, resp.StatusCode, st.Message)
	}
	slices.SortFunc(st.Details.Causes, func(a, b cause) int {
		return stdcmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(a.Message, b.Message))
	})
	return st.Details.Causes
}

// checkStored compares the answer with what is wanted, or notes it.
func checkStored(t *testing.T, want *json.RawMessage, answer []byte) {
	t.Helper()
	got := masked(t, answer)
	if *update {
		b, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		*want = b
		return
	}
	var wanted map[string]any
	if err := json.Unmarshal(*want, &wanted); err != nil {
		t.Fatalf("no answer is noted: %v", err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("the real server stores something else (-noted +got):\n%s", diff)
	}
}

// masked returns the object in an answer without what differs from run to run:
// UIDs, times, revisions, addresses and ports out of a pool.
func masked(t *testing.T, answer []byte) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(answer, &o); err != nil {
		t.Fatalf("the answer is not an object: %v", err)
	}
	meta, _ := o["metadata"].(map[string]any)
	uid, _ := meta["uid"].(string)
	for _, name := range []string{"uid", "creationTimestamp", "resourceVersion", "managedFields"} {
		delete(meta, name)
	}
	return mask(o, "", uid).(map[string]any)
}

func mask(v any, name, uid string) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = mask(e, k, uid)
		}
	case []any:
		for i, e := range v {
			v[i] = mask(e, name, uid)
		}
	case string:
		switch {
		case v == uid && uid != "":
			return "UID"
		case strings.HasPrefix(v, "10.0.0.") && v != "10.0.0.12":
			return "IP"
		case strings.HasSuffix(name, "TransitionTime"):
			return "TIME"
		}
	case float64:
		if (name == "nodePort" || name == "healthCheckNodePort") && v != 30099 {
			return "PORT"
		}
	}
	return v
}

func writeFixtures(t *testing.T, file string, cases []defaultsCase) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "\t")
	if err := enc.Encode(cases); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
