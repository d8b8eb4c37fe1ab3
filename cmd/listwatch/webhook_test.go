package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// TestWebhookGetsCloudEvents: after a failure again with the same id, and with the values
// of Secrets redacted.
func TestWebhookGetsCloudEvents(t *testing.T) {
	srv := apitest.New(t, apitest.Fixture{Resource: kube.Secrets, Object: `{"metadata":{"namespace":"shop","name":"a","uid":"u-1"},"data":{"k":"aHVzaA=="}}`})
	var mu sync.Mutex
	var bodies []string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if bodies = append(bodies, string(body)); len(bodies) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer receiver.Close()
	code, _, stderr := runProgram(t, nil, "watch", "secrets", "-n", "shop", "--once", "-o", "none", "-s", srv.URL,
		"--exec-initial", "--exec-backoff", "1ms", "--exec-on", "ADDED", "--webhook", receiver.URL)
	if code != 0 || !strings.Contains(stderr, "responds 503 Service Unavailable (run 1 of 6), again in") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(bodies) != 2 || bodies[0] != bodies[1] {
		t.Fatalf("bodies: %q", bodies)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(bodies[0]), &got); err != nil {
		t.Fatal(err)
	}
	for key, form := range map[string]string{"id": `^[0-9a-f]{32}$`, "time": `^20.*Z$`, "revision": `^\d+$`, "uid": `.`} {
		if s, _ := got[key].(string); !regexp.MustCompile(form).MatchString(s) {
			t.Errorf("%s: %v", key, got[key])
		}
		delete(got, key)
	}
	data, _ := got["data"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"k": "[redacted]"}, data["data"]); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	delete(got, "data")
	want := map[string]any{"specversion": "1.0", "source": "/clusters/default", "type": "io.listwatch.added", "subject": "secrets/shop/a",
		"datacontenttype": "application/json", "resource": "secrets", "apiversion": "v1", "kind": "Secret", "namespace": "shop", "name": "a", "initial": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWebhookIDs: each state has one, and a deletion another one, whoever posts it.
func TestWebhookIDs(t *testing.T) {
	srv := apitest.New(t)
	var mu sync.Mutex
	ids := map[string][]string{}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var events []struct{ ID, Type, Name string }
		err := json.NewDecoder(r.Body).Decode(&events)
		mu.Lock()
		defer mu.Unlock()
		for _, e := range events {
			ids[r.URL.Path] = append(ids[r.URL.Path], e.Type+" "+e.Name+" "+e.ID)
		}
		if err != nil {
			t.Error(err)
		}
	}))
	defer receiver.Close()
	srv.Put(kube.Nodes, `{"metadata":{"name":"a"}}`)
	srv.Put(kube.Nodes, `{"metadata":{"name":"b"}}`)
	for _, path := range []string{"/first", "/second"} {
		if code, _, stderr := runProgram(t, nil, "watch", "nodes", "--once", "-o", "none", "-s", srv.URL, "--exec-initial",
			"--exec-batch", "10/1ms", "--webhook", receiver.URL+path); code != 0 {
			t.Fatalf("exit code %d\n%s", code, stderr)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(ids["/first"])
	slices.Sort(ids["/second"])
	if diff := cmp.Diff(ids["/first"], ids["/second"]); diff != "" {
		t.Errorf("two runs (-first +second):\n%s", diff)
	}
	if all := slices.Compact(slices.Clone(ids["/first"])); len(all) != 2 {
		t.Errorf("ids: %q", all)
	}
}
