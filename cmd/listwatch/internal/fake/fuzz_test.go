package fake

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
)

// FuzzSavedState: a server starts with a file or refuses it. What it saves then is read
// again, and the server that starts with that saves the same, but for its own life.
func FuzzSavedState(f *testing.F) {
	for _, text := range []string{
		`{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"5"}}]}`,
		`{"kind":"List","items":[{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"foos.a.io"},"spec":{"group":"a.io","scope":"Namespaced","names":{"plural":"foos","kind":"Foo"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}},{"kind":"Foo","apiVersion":"a.io/v1","metadata":{"name":"x","namespace":"default"}}]}`,
		"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a, namespace: b, resourceVersion: '18446744073709551615'}\n", `{"kind":"List","items":[{},null,7]}`, `{"kind":"List","items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"../x","namespace":"\u0000"}}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := &saver{path: filepath.Join(t.TempDir(), "state")}
		if err := os.WriteFile(s.path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		start := func() (state []byte, srv *apitest.Server, err error) {
			if state, err = s.load(); err != nil {
				return nil, nil, err
			}
			srv, err = apitest.Start(apitest.Options{InMemory: true, State: state})
			return state, srv, err
		}
		_, srv, err := start()
		if err != nil {
			return
		}
		err = s.prepare(srv)
		srv.Close()
		if err != nil {
			t.Fatalf("it does not save what it has: %v", err)
		}
		saved, srv, err := start()
		if err != nil {
			t.Fatalf("it does not start with what it has saved: %v\n%s", err, saved)
		}
		err = s.prepare(srv)
		srv.Close()
		again, readErr := s.load()
		_, before, _ := strings.Cut(string(saved), "\n")
		_, after, _ := strings.Cut(string(again), "\n")
		if err != nil || readErr != nil || before != after {
			t.Fatalf("%v, %v\nbefore: %s\nafter:  %s", err, readErr, saved, again)
		}
	})
}
