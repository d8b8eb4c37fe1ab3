package sink

import (
	"context"
	"fmt"

	"github.com/listwatch/listwatch/kube"
)

// Drop commits that the server does not serve the resource any more: a DELETED record for
// each object in the table of the scope, and the phase LOADING. When the resource is served
// again, a Runner of the scope lists it in another epoch and reports a GAP. No Runner of the
// scope may run during Drop. Drop returns nil when all is committed; its errors are those of Run.
//
// Call Drop only after the definition of the resource was deleted. It is not enough that
// discovery omits the resource: a replica of the server may not know it yet.
func (r *Runner) Drop(ctx context.Context) error { return r.repeat(ctx, r.drop) }

func (r *Runner) drop(ctx context.Context) (progress bool, err error) {
	s, err := r.open(ctx)
	if err != nil {
		return false, err
	}
	held, err := s.held(ctx)
	if err != nil {
		return false, err
	}
	if s.pos.Revision == "" && len(held) == 0 {
		return true, nil // it was never listed
	}
	s.next.Phase, s.next.Cause = Loading, CauseNotServed // with the first records: they are not sent again
	for _, k := range sortedKeys(held) {
		if err := s.add(ctx, s.vanished(k, held[k])); err != nil {
			return true, err
		}
	}
	return true, s.flush(ctx)
}

// held reads what the table holds.
func (s *session) held(ctx context.Context) (map[kube.Key]heldObject, error) {
	held := map[kube.Key]heldObject{}
	for h, err := range s.known(ctx) {
		if err != nil {
			return nil, fmt.Errorf("read what the sink holds of %s: %w", s.o.Scope, err)
		}
		held[h.Key] = heldObject{uid: h.UID, revision: h.Revision, epoch: h.Epoch}
	}
	return held, nil
}
