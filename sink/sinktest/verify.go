package sinktest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// storyOfVerification commits what did not happen, which Verify must find.
func storyOfVerification(t *testing.T, store Store) {
	s := newStory(t, store)
	for _, name := range []string{"changed", "future", "labelled", "missing", "newer", "same"} {
		s.Put(name, "web", "1")
	}
	p := s.start(nil)
	p.live()
	p.end()
	if diff := cmp.Diff([]string(nil), s.differences()); diff != "" {
		t.Errorf("differences of a table that has none (-want +got):\n%s", diff)
	}

	planted := map[string]sink.Record{}
	for _, r := range s.history() {
		r.ID = sink.RecordID(cluster, 99, r.UID, r.Revision) // of no state that there was
		planted[r.Name] = r
	}
	change := func(name string, f func(*sink.Record)) sink.Record {
		r := planted[name]
		r.Type = sink.Modified
		f(&r)
		return r
	}
	rogue := possess(t, s.connect(), configMaps())
	rogue.commit(sink.Live, rogue.pos.Revision,
		change("changed", func(r *sink.Record) { r.Object = bytes.Replace(r.Object, []byte(`"1"`), []byte(`"2"`), 1) }),
		change("future", func(r *sink.Record) { r.Revision = "999999999" }),
		change("labelled", func(r *sink.Record) { r.Labels = map[string]string{"app": "api"} }),
		change("missing", func(r *sink.Record) { r.Type = sink.Deleted }),
		change("newer", func(r *sink.Record) { r.Revision = "1" }),
		change("same", func(r *sink.Record) {
			r.Type, r.Name, r.UID = sink.Added, "ghost", "uid-ghost"
			r.ID = sink.RecordID(cluster, 99, r.UID, r.Revision)
		}),
	)
	want := []string{
		"changed: another object in the cluster, of the same revision",
		"future: a revision that the position of the table has not reached",
		"ghost: not in the cluster", "labelled: other labels in the cluster, of the same revision",
		"missing: missing in the table", "newer: another revision in the cluster",
	}
	if diff := cmp.Diff(want, s.differences()); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

// connect returns the connection of a process.
func (s *story) connect() Sink {
	if s.shared != nil {
		return s.shared
	}
	return s.store.Connect(s.t)
}

// differences returns what Verify finds.
func (s *story) differences() (all []string) {
	s.t.Helper()
	c, err := s.Client()
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	v, err := sink.Verify(s.t.Context(), sink.Options{Client: c, Scope: configMaps()}, s.store.read(s.t), 0)
	if err != nil || v.Objects != 6 {
		s.t.Fatalf("%d objects, error %v, want 6", v.Objects, err)
	}
	for _, d := range v.Differences {
		if d.Key != (kube.Key{Namespace: "default", Name: d.Key.Name}) {
			s.t.Errorf("difference of %s", d.Key)
		}
		all = append(all, strings.Join([]string{d.Key.Name, d.Problem}, ": "))
	}
	return all
}
