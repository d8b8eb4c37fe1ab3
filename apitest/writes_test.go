package apitest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
)

// TestWrites plays the stories in testdata/writes. A line
//
//	POST /api/v1/namespaces/a/configmaps {"metadata":{"name":"x"}}
//
// is a request; what follows it, up to a blank line, is its answer: the code, and
// a JSON value of which every member must be in the answer. A value "?" stands
// for any. Lines that begin with # are comments, with > are headers of the next
// request, with ! are for the server: !gc collects garbage. Where a story begins
// with #options, they name Options.
func TestWrites(t *testing.T) {
	files, err := filepath.Glob("testdata/writes/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) { playWrites(t, string(b)) })
		})
	}
}

func playWrites(t *testing.T, text string) {
	o := apitest.Options{InMemory: true}
	if first, _, _ := strings.Cut(text, "\n"); strings.HasPrefix(first, "#options ") {
		o.Namespaces = strings.Contains(first, "namespaces")
		o.CollectGarbage = strings.Contains(first, "garbage")
	}
	playWritesOn(t, apitest.NewWith(t, o), text)
}

func playWritesOn(t *testing.T, srv *apitest.Server, text string) {
	t.Helper()
	known := map[string]string{} // $uid and the like
	header := http.Header{}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := expand(lines[i], known)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case line == "!gc":
			srv.CollectGarbage()
			continue
		case strings.HasPrefix(line, "> "):
			name, value, _ := strings.Cut(line[2:], ": ")
			header.Set(name, value)
			continue
		}
		at := i + 1
		parts := strings.SplitN(line, " ", 3)
		body := ""
		if len(parts) == 3 {
			body = parts[2]
		}
		var want []string
		for i++; i < len(lines) && lines[i] != ""; i++ {
			want = append(want, expand(lines[i], known))
		}
		code, answer := ask(t, srv, parts[0], parts[1], body, header)
		header = http.Header{}
		check(t, fmt.Sprintf("line %d: %s %s", at, parts[0], parts[1]), want, code, answer, known)
	}
}

func ask(t *testing.T, srv *apitest.Server, method, path, body string, header http.Header) (string, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}}
	maps.Copy(r.Header, header)
	resp, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	code := fmt.Sprint(resp.StatusCode)
	if w := resp.Header.Values("Warning"); len(w) > 0 {
		code += " " + strings.Join(w, " ")
	}
	return code, b
}

var name = regexp.MustCompile(`\$[a-zA-Z0-9]+`)

func expand(line string, known map[string]string) string {
	return name.ReplaceAllStringFunc(line, func(s string) string {
		if v, ok := known[s]; ok {
			return v
		}
		return s
	})
}

func check(t *testing.T, what string, want []string, code string, answer []byte, known map[string]string) {
	t.Helper()
	if len(want) == 0 || want[0] != code {
		t.Errorf("%s: got %s, want %q\n%s", what, code, want, answer)
		return
	}
	if len(want) == 1 {
		return
	}
	var w, got any
	if err := json.Unmarshal([]byte(strings.Join(want[1:], "\n")), &w); err != nil {
		t.Fatalf("%s: the wanted answer is not JSON: %v", what, err)
	}
	dec := json.NewDecoder(bytes.NewReader(answer))
	if err := dec.Decode(&got); err != nil {
		t.Errorf("%s: %v in %s", what, err, answer)
		return
	}
	if diff := cmp.Diff(w, pick(w, got, known)); diff != "" {
		t.Errorf("%s (-want +got):\n%s\nin %s", what, diff, answer)
	}
}

// pick returns of got what want speaks of. A wanted "?" is whatever is there, and
// "?$x" is remembered as $x; null is what is missing.
func pick(want, got any, known map[string]string) any {
	switch w := want.(type) {
	case string:
		if rest, ok := strings.CutPrefix(w, "?"); ok && got != nil {
			if rest != "" {
				known[rest] = fmt.Sprint(got)
			}
			return w
		}
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return got
		}
		out := map[string]any{}
		for k, v := range w {
			out[k] = pick(v, g[k], known)
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return got
		}
		out := make([]any, len(w))
		for i := range w {
			out[i] = pick(w[i], g[i], known)
		}
		return out
	}
	return got
}
