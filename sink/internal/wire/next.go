package wire

import (
	"fmt"

	"github.com/listwatch/listwatch/sink"
)

// Take returns the position of a scope after Open: stored is what the sink holds of it,
// nil if it has never seen it, and siblings are the positions of all shards of the
// resource. The error is sink.ErrRefused where the scope contradicts them.
func Take(scope sink.Scope, stored *sink.Position, siblings []sink.Position) (sink.Position, error) {
	for _, p := range siblings {
		if p.Scope.Count() != scope.Count() {
			return sink.Position{}, fmt.Errorf("%s: the table was made with %d shards, not %d: reshard changes it: %w", scope, p.Scope.Count(), scope.Count(), sink.ErrRefused)
		}
	}
	if unfinished(siblings) {
		return sink.Position{}, fmt.Errorf("%s: a change of the number of shards has not ended: reshard again: %w", scope, sink.ErrRefused)
	}
	p := sink.Position{Phase: sink.Loading, Epoch: 1}
	if stored != nil {
		p = *stored
		if have, want := p.Scope.Selection(), scope.Selection(); have != want {
			if !scope.Rescope {
				return sink.Position{}, fmt.Errorf("%s: the table holds the selection %s, not %s: --rescope replaces it: %w", scope, have, want, sink.ErrRefused)
			}
			if p.Phase == sink.Live || p.Cause != sink.CauseRestored { // nothing else may tell of that
				p.Cause = sink.CauseRescoped
			}
			p.Epoch, p.Phase = p.Epoch+1, sink.Loading
		}
	}
	p.Control = scope.Opened(p.Control)
	p.Scope, p.Generation = scope, p.Generation+1
	return p, nil
}
