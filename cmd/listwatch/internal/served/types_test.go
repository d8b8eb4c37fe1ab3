package served_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/served"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/kube"
)

var crontabs = kube.Resource{Group: "stable.example.com", Version: "v1", Plural: "crontabs", Kind: "CronTab", Namespaced: true}

// newTypes returns what srv serves as a new process has it.
func newTypes(t *testing.T, srv *apitest.Server, dir string, change func(*client.Config)) *served.Types {
	t.Helper()
	cfg := client.Config{Server: srv.URL, Dial: srv.Dial, TLS: client.TLS{CAData: srv.CAPEM()}}
	if change != nil {
		change(&cfg)
	}
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return served.New(c, cfg, dir)
}

// codes returns those of the requests since the last call.
func codes(srv *apitest.Server) []int {
	synctest.Wait()
	var all []int
	for _, r := range srv.Requests() {
		all = append(all, r.Code)
	}
	srv.ForgetRequests()
	return all
}

func resolves(name string) func(*discovery.API) error {
	return func(api *discovery.API) error {
		_, err := api.Resolve(name)
		return err
	}
}

func TestTypes(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, TLS: true})
		cached := []int(nil)
		asked := func(code int) []int { return []int{code, code} }
		definitions := http.StatusOK
		const ok, current = http.StatusOK, http.StatusNotModified
		files := func() []string {
			t.Helper()
			found, err := filepath.Glob(filepath.Join(dir, "listwatch", "discovery", "*"))
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		overwrite := func(change func([]byte) []byte) func() {
			return func() {
				path := files()[0]
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(os.WriteFile(path, change(b), 0o600), os.Chtimes(path, time.Now(), time.Now())); err != nil {
					t.Fatal(err)
				}
			}
		}
		nothing := func() {}
		for _, step := range []struct {
			name   string
			before func()
			typed  string
			now    bool
			err    bool
			codes  []int
		}{
			{"the first process", nothing, "pods", false, false, asked(ok)},
			{"the second", nothing, "pods", false, false, cached},
			{"one that asks", nothing, "pods", true, false, asked(current)},
			{"just before the TTL", func() { <-time.After(served.TTL - time.Second) }, "pods", false, false, cached},
			{"at the TTL", func() { <-time.After(time.Second) }, "pods", false, false, asked(current)},
			{"after a confirmation", nothing, "pods", false, false, cached},
			{"a type that is not found", nothing, "crontabs", false, true, []int{current, current, definitions}},
			{"a new type", func() { srv.AddResource(apitest.ResourceInfo{Resource: crontabs}) }, "crontabs", false, false, []int{current, ok}},
			{"the new type again", nothing, "crontabs", false, false, cached},
			{"a bit is wrong", overwrite(func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), "pods", false, false, asked(ok)},
			{"the file is cut", overwrite(func(b []byte) []byte { return b[:len(b)-10] }), "pods", false, false, asked(ok)},
			{"the file is longer", overwrite(func(b []byte) []byte { return append(b, 'x') }), "pods", false, false, asked(ok)},
			{"the file is empty", overwrite(func([]byte) []byte { return nil }), "pods", false, false, asked(ok)},
			{"the file is of the future", func() { _ = os.Chtimes(files()[0], time.Now(), time.Now().Add(time.Hour)) }, "pods", false, false, asked(current)},
			{"at last", nothing, "pods", false, false, cached},
		} {
			step.before()
			types := newTypes(t, srv, dir, nil)
			ask := types.Known
			if step.now {
				ask = types.Now
			}
			if err := ask(t.Context(), resolves(step.typed)); (err != nil) != step.err {
				t.Errorf("%s: %v", step.name, err)
			}
			got := codes(srv)
			slices.Sort(got)
			slices.Sort(step.codes)
			if diff := cmp.Diff(step.codes, got); diff != "" {
				t.Errorf("%s: codes of the requests (-want +got):\n%s", step.name, diff)
			}
		}
		if got := files(); len(got) != 1 {
			t.Errorf("files: %q", got)
		}
		modes := map[string]fs.FileMode{}
		for _, path := range []string{filepath.Join(dir, "listwatch"), filepath.Dir(files()[0]), files()[0]} {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			modes[filepath.Base(filepath.Dir(path))] = info.Mode().Perm()
		}
		if diff := cmp.Diff(map[string]fs.FileMode{filepath.Base(dir): 0o700, "listwatch": 0o700, "discovery": 0o600}, modes); diff != "" {
			t.Errorf("modes (-want +got):\n%s", diff)
		}
	})
}

// TestTypesWaitForNewDefinitions: kube-apiserver lists a type a moment after its definition
// is created.
func TestTypesWaitForNewDefinitions(t *testing.T) {
	const definition = `{"metadata":{"name":"crontabs.stable.example.com","creationTimestamp":%q},
		"spec":{"group":"stable.example.com","scope":"Namespaced","names":{"plural":"crontabs","kind":"CronTab"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
	for _, test := range []struct {
		name       string
		age, after time.Duration // of the definition, and until its type is served
		found      bool
		takes      time.Duration
	}{
		{"soon", 0, time.Second, true, time.Second},
		{"too late", 0, time.Minute, false, 10 * time.Second},
		{"an old definition", time.Hour, time.Second, false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := apitest.NewWith(t, apitest.Options{InMemory: true, TLS: true})
				began := time.Now()
				srv.On(apitest.Match{Path: "/apis"}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body := `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`
					if time.Since(began) >= test.after {
						body = `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{"metadata":{"name":"stable.example.com"},
							"versions":[{"version":"v1","resources":[{"resource":"crontabs","scope":"Namespaced","singularResource":"crontab","responseKind":{"kind":"CronTab"},"verbs":["list","watch"]}]}]}]}`
						w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
					} else {
						w.Header().Set("Content-Type", "application/json")
					}
					_, _ = io.WriteString(w, body)
				}))
				srv.Put(kube.CustomResourceDefinitions, fmt.Sprintf(definition, began.Add(-test.age).UTC().Format(time.RFC3339)))
				err := newTypes(t, srv, "", nil).Known(t.Context(), resolves("crontabs"))
				if (err == nil) != test.found {
					t.Error(err)
				}
				if took := time.Since(began); took != test.takes {
					t.Errorf("it took %s, want %s", took, test.takes)
				}
			})
		})
	}
}

// TestTypesOfServersThatMayBeOthers: nothing is kept of a server that is not verified, and
// another authority is another server.
func TestTypesOfServersThatMayBeOthers(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, TLS: true})
		for _, test := range []struct {
			name   string
			dir    string
			change func(*client.Config)
			files  int
		}{
			{"not verified", dir, func(c *client.Config) { c.TLS = client.TLS{Insecure: true} }, 0},
			{"no folder", "", nil, 0},
			{"a folder that cannot be made", filepath.Join(os.DevNull, "x"), nil, 0},
			{"verified", dir, nil, 1},
			{"the same", dir, nil, 1},
			{"another authority", dir, func(c *client.Config) { c.TLS.CAData = append(c.TLS.CAData, '\n') }, 2},
		} {
			if err := newTypes(t, srv, test.dir, test.change).Known(t.Context(), resolves("pods")); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			found, _ := filepath.Glob(filepath.Join(dir, "listwatch", "discovery", "*"))
			if len(found) != test.files {
				t.Errorf("%s: %d files, want %d", test.name, len(found), test.files)
			}
		}
	})
}

// TestTypesKeepsALimitedNumberOfFiles: the oldest are removed.
func TestTypesKeepsALimitedNumberOfFiles(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "listwatch", "discovery")
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, TLS: true})
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range 120 {
			path := filepath.Join(folder, string(rune('a'+i/26))+string(rune('a'+i%26)))
			at := time.Now().Add(-time.Duration(i+1) * time.Hour)
			if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
				t.Fatal(err)
			}
		}
		if err := newTypes(t, srv, dir, nil).Known(t.Context(), resolves("pods")); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(folder)
		if err != nil || len(entries) != 100 {
			t.Errorf("%d files, %v", len(entries), err)
		}
		if _, err := os.Stat(filepath.Join(folder, "aa")); err != nil {
			t.Errorf("the newest was removed: %v", err)
		}
		codes(srv)
		if err := newTypes(t, srv, dir, nil).Known(t.Context(), resolves("pods")); err != nil || codes(srv) != nil {
			t.Errorf("what was written is not used: %v", err)
		}
	})
}
