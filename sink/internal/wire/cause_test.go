package wire

import (
	"testing"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// TestARestoreIsNotForgotten: a list after a restore that did not end is the last that knows
// of it, whatever the next list is for.
func TestARestoreIsNotForgotten(t *testing.T) {
	scope := sink.Scope{Cluster: "c", Resource: kube.Pods, Shards: 2}
	other := scope
	other.Labels, other.Rescope = "app=web", true
	at := func(shard int, phase sink.Phase, cause string) sink.Position {
		p := sink.Position{Scope: scope, Revision: "5", Epoch: 1, Generation: 1, Phase: phase, Cause: cause}
		p.Scope.Shard = shard
		return p
	}
	for _, c := range []struct {
		cause string
		phase sink.Phase
		want  string
	}{
		{sink.CauseRestored, sink.Loading, sink.CauseRestored},
		{sink.CauseRestored, sink.Live, sink.CauseRescoped},
		{sink.CauseBackfill, sink.Loading, sink.CauseRescoped},
		{"", sink.Live, sink.CauseRescoped},
	} {
		stored := at(0, c.phase, c.cause)
		p, err := Take(other, &stored, []sink.Position{stored})
		if err != nil || p.Cause != c.want || p.Epoch != 2 || p.Phase != sink.Loading {
			t.Errorf("after %q in phase %s: %+v, %v, want cause %q", c.cause, c.phase, p, err, c.want)
		}
	}
	restored, backfill := at(0, sink.Loading, sink.CauseRestored), at(1, sink.Loading, sink.CauseBackfill)
	all, err := Reshard([]sink.Position{restored, backfill}, kube.Pods, 3)
	if err != nil || all[2].Cause != sink.CauseRestored {
		t.Errorf("a reshard: %+v, %v, want cause %q", all, err, sink.CauseRestored)
	}
}
