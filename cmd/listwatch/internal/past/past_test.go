package past

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/compressed"
	"github.com/listwatch/listwatch/internal/archive"
	"github.com/listwatch/listwatch/kube"
)

// state returns one of a Pod.
func state(t *testing.T, name string, at int64, op string) archive.State {
	t.Helper()
	raw, err := codec.ParseRaw(fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"shop","uid":%q,"resourceVersion":"%d"}}`, name, name, at))
	if err != nil {
		t.Fatal(err)
	}
	return archive.State{At: at, Op: op, Key: kube.Key{Namespace: "shop", Name: name}, UID: name, Revision: fmt.Sprint(at), Cells: archive.RowOf(name), Object: compressed.Of(raw)}
}

// TestServeKeepsRevisions: objects are served with the resourceVersions that they had, and
// one whose revision is no number, or another's too, is there as well.
func TestServeKeepsRevisions(t *testing.T) {
	object := func(r kube.Resource, name, rv string) Object {
		return Object{r, fmt.Appendf(nil, `{"metadata":{"name":%q,"uid":"u","resourceVersion":%q}}`, name, rv)}
	}
	srv, err := Serve([]Object{{kube.Nodes, nil}, object(kube.Nodes, "late", "812"), object(kube.Nodes, "opaque", "x"), object(kube.Nodes, "early", "7"), object(kube.Namespaces, "between", "400"), object(kube.Namespaces, "twin", "400")}, time.Now(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	got := map[string]string{}
	for _, r := range []kube.Resource{kube.Nodes, kube.Namespaces} {
		all, _ := srv.List(r)
		for _, b := range all {
			raw, err := codec.ParseRaw(b)
			if err != nil {
				t.Fatal(err)
			}
			got[raw.GetName()] = raw.GetResourceVersion()
		}
	}
	if got["opaque"] == "" || got["twin"] == "" {
		t.Errorf("objects are missing: %v", got)
	}
	delete(got, "opaque")
	delete(got, "twin")
	if diff := cmp.Diff(map[string]string{"late": "812", "early": "7", "between": "400"}, got); diff != "" {
		t.Errorf("revisions (-want +got):\n%s", diff)
	}
}

// TestMomentsThatNobodySaw: a moment between two runs, or in a gap of a run, has the state
// before, and a note says so.
func TestMomentsThatNobodySaw(t *testing.T) {
	dir := t.TempDir()
	d, err := archive.Open(dir, "cluster", archive.Limits{Bytes: 1 << 20, Age: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cols := []archive.Column{{Name: "Name"}}
	first, err := d.Begin(kube.Pods, cols, 10_000, "", slices.Values([]archive.State{state(t, "a", 5_000, archive.Added)}))
	check(err)
	check(first.Mark(20_000))
	found := state(t, "b", 30_000, archive.Added)
	found.Inferred = true
	check(first.Add(found)) // what a list finds is written before the gap that it ends
	check(first.Gap(archive.Gap{From: 20_000, To: 30_000, Reason: "expired", Added: 1}))
	check(first.Mark(40_000))
	check(first.Close())
	second, err := d.Begin(kube.Pods, cols, 60_000, "it did not run", slices.Values([]archive.State{state(t, "c", 60_000, archive.Added)}))
	check(err)
	check(second.Mark(70_000))
	check(second.Close())
	check(d.Close())

	for _, tt := range []struct {
		at    int64
		names []string
		notes []string
	}{
		{15_000, []string{"a"}, nil},
		{25_000, []string{"a"}, []string{"pods: this is the state of 1970-01-01T00:00:20Z; what was later is not known: expired"}},
		{30_000, []string{"a", "b"}, nil},
		{35_000, []string{"a", "b"}, nil},
		{50_000, []string{"a", "b"}, []string{"pods: this is the state of 1970-01-01T00:00:40Z; what was later is not known: it did not run"}},
		{60_000, []string{"c"}, nil},
		{71_000, []string{"c"}, nil},
		{700_000, []string{"c"}, []string{"pods: this is the state of 1970-01-01T00:01:10Z; what was later is not known: nothing was written since"}},
	} {
		m, err := read(t.Context(), dir, time.UnixMilli(tt.at))
		check(err)
		var names []string
		for _, o := range m.objects() {
			if o.JSON == nil {
				continue
			}
			raw, err := codec.ParseRaw(o.JSON)
			check(err)
			names = append(names, raw.GetName())
		}
		if diff := cmp.Diff(tt.names, names); diff != "" {
			t.Errorf("at %d (-want +got):\n%s", tt.at, diff)
		}
		notes := m.notes
		if k := m.types["pods"]; k.why != "" {
			notes = append(notes, k.note("pods"))
		}
		if diff := cmp.Diff(tt.notes, notes); diff != "" {
			t.Errorf("at %d (-want +got):\n%s", tt.at, diff)
		}
	}
}
