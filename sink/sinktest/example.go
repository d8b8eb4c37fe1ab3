package sinktest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// example is some commits with all that a sink keeps.
type example struct {
	scope                          sink.Scope
	a, b, gap, changed, gone, sick sink.Record
}

func newExample() example {
	scope := configMaps()
	e := example{
		scope: scope,
		a:     record(sink.Added, scope, "a", "uid-a", "5"), b: record(sink.Added, scope, "b", "uid-b", "6"),
		gap:     sink.Record{ID: "gap", Type: sink.Gap, Cluster: cluster, Resource: "configmaps", Epoch: 1, Time: moment, Phase: sink.Loading, Synthetic: true, From: "1", To: "6", Reason: sink.CauseExpired},
		changed: record(sink.Modified, scope, "a", "uid-a", "7"), gone: record(sink.Deleted, scope, "b", "uid-b", "8"),
		sick: record(sink.Quarantined, scope, "c", "uid-c", "9"),
	}
	e.a.Synthetic, e.a.Initial, e.a.Phase = true, true, sink.Loading
	e.changed.Trimmed = true
	e.sick.Object, e.sick.Labels, e.sick.Reason = nil, nil, "it cannot be read"
	return e
}

// WriteExample commits some records of each type to an empty storage. Keep the storage that a
// release wrote: CheckExample requires a later one to read it.
func WriteExample(t *testing.T, s Sink) {
	t.Helper()
	e := newExample()
	p := possess(t, s, e.scope)
	p.commit(sink.Loading, "", e.a)
	p.commit(sink.Live, "6", e.b, e.gap)
	p.commit(sink.Live, "9", e.changed, e.gone, e.sick)
	p.commit(sink.Live, "12") // a bookmark
}

// CheckExample requires a storage to hold what WriteExample wrote, and goes on from there.
func CheckExample(t *testing.T, s Sink) {
	t.Helper()
	e := newExample()
	p := possess(t, s, e.scope)
	want := sink.Position{Scope: e.scope, Revision: "12", Generation: 2, Sequence: 4, Epoch: 1, Phase: sink.Live, Time: moment}
	if diff := cmp.Diff(want, p.pos); diff != "" {
		t.Errorf("position (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]sink.Held{heldOf(e.changed), heldOf(e.sick)}, p.held()); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
	table := []sink.Row{sink.RowOf(&e.changed), sink.RowOf(&e.sick)}
	history := []sink.Record{e.a, e.b, e.gap, e.changed, e.gone, e.sick}
	holds(t, s, e.scope, table, history)
	gaps, err := s.Gaps(t.Context(), cluster, e.scope.Resource)
	if diff := cmp.Diff([]sink.Record{e.gap}, gaps, sameJSON); err != nil || diff != "" {
		t.Errorf("gaps, error %v (-want +got):\n%s", err, diff)
	}
	positions, err := s.Positions(t.Context())
	identity := cmp.Transformer("Resource", func(r kube.Resource) [3]string { return [3]string{r.Group, r.Version, r.Plural} }) // no sink keeps more
	if diff := cmp.Diff([]sink.Position{want}, positions, identity); err != nil || diff != "" {
		t.Errorf("positions, error %v (-want +got):\n%s", err, diff)
	}
	d := record(sink.Added, e.scope, "d", "uid-d", "13")
	p.commit(sink.Live, "13", d)
	holds(t, s, e.scope, append(table, sink.RowOf(&d)), append(history, d))
}
