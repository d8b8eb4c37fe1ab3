package past

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/compressed"
	"github.com/listwatch/listwatch/internal/archive"
	"github.com/listwatch/listwatch/kube"
)

// state returns one of a Pod.
func state(t *testing.T, name string, at int64, op string) archive.State {
	t.Helper()
	raw, err := codec.ParseRaw(fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"shop","uid":%q,"resourceVersion":"%d","creationTimestamp":"1970-01-01T00:00:00Z"}}`, name, name, at))
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
	srv, left, err := Serve([]Object{{kube.Nodes, nil}, object(kube.Nodes, "late", "812"), object(kube.Nodes, "opaque", "x"), object(kube.Nodes, "early", "7"), object(kube.Namespaces, "between", "400"), object(kube.Namespaces, "twin", "400")}, nil, time.Now(), true)
	if err != nil || left != nil {
		t.Fatal(left, err)
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

// TestDiffOfAHistory: what changed between two moments of a folder of ui --history.
func TestDiffOfAHistory(t *testing.T) {
	dir := t.TempDir()
	d, err := archive.Open(dir, "cluster", archive.Limits{Bytes: 1 << 20, Age: 100 * 365 * 24 * time.Hour})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	with := func(s archive.State, uid, labels string) archive.State {
		raw, err := codec.ParseRaw(fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"shop","uid":%q,"resourceVersion":%q,"creationTimestamp":"1970-01-01T00:00:00Z","labels":{%s}}}`, s.Key.Name, uid, s.Revision, labels))
		check(err)
		s.UID, s.Object = uid, compressed.Of(raw)
		return s
	}
	cols := []archive.Column{{Name: "Name"}}
	s, err := d.Begin(kube.Pods, cols, 10_000, "", slices.Values([]archive.State{state(t, "a", 5_000, archive.Added), state(t, "b", 6_000, archive.Added), state(t, "c", 7_000, archive.Added), state(t, "d", 8_000, archive.Added)}))
	check(err)
	check(s.Add(with(state(t, "a", 20_000, archive.Modified), "a", `"x":"y"`)))
	check(s.Add(state(t, "b", 21_000, archive.Deleted)))
	check(s.Add(state(t, "c", 22_000, archive.Deleted)))
	check(s.Add(with(state(t, "c", 23_000, archive.Added), "c2", "")))
	check(s.Add(state(t, "e", 24_000, archive.Added)))
	check(s.Mark(30_000))
	check(s.Close())
	later, err := d.Begin(kube.ConfigMaps, cols, 25_000, "", slices.Values([]archive.State{state(t, "m", 25_000, archive.Added)}))
	check(err)
	check(later.Mark(30_000))
	check(later.Close())
	check(d.Close())

	clock := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
	for args, want := range map[string][2]string{
		"pods -n shop": {"MODIFIED pod/a\n+ .metadata.labels: {\"x\":\"y\"}\nDELETED pod/c\nADDED pod/c\nADDED pod/e\nDELETED pod/b\n",
			"listwatch: 2 added, 1 modified, 2 deleted between 1970-01-01T00:00:10Z and 1970-01-01T00:00:30Z\n"},
		"* -A": {"MODIFIED pod/a in shop\n+ .metadata.labels: {\"x\":\"y\"}\nDELETED pod/c in shop\nADDED pod/c in shop\nADDED pod/e in shop\nDELETED pod/b in shop\n",
			"listwatch: warning: configmaps is left out: its states are known at one of the two moments only\nlistwatch: 2 added, 1 modified, 2 deleted between 1970-01-01T00:00:10Z and 1970-01-01T00:00:30Z\n"},
	} {
		var stdout, stderr strings.Builder
		cmd := DiffCommand(&cli.Program{Env: func(string) string { return "" }, Stdout: &stdout, Stderr: &stderr})
		cmd.SetArgs(append(strings.Fields(args), "--diff", "paths", "--history", dir, "--from", clock(10_000), "--to", clock(30_000)))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		if diff := cmp.Diff(want, [2]string{stdout.String(), stderr.String()}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", args, diff)
		}
	}
}
