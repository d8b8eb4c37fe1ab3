package wire

import (
	"fmt"
	"slices"
	"time"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

func unfinished(all []sink.Position) bool {
	return slices.ContainsFunc(all, func(p sink.Position) bool { return p.Control.Unfinished() })
}

// Begun returns the Control of a position that was c before Reshard.
func Begun(c sink.Control) sink.Control {
	if c == sink.Paused || c == sink.PausedResharding {
		return sink.PausedResharding
	}
	return sink.Resharding
}

// Reshard returns the positions that replace those of all shards of a resource. The error is
// sink.ErrRefused where there are none, or they do not fit together.
func Reshard(old []sink.Position, r kube.Resource, shards int) ([]sink.Position, error) {
	if shards < 1 {
		return nil, fmt.Errorf("%s: %d shards: %w", r.GroupResource(), shards, sink.ErrRefused)
	}
	if len(old) == 0 {
		return nil, fmt.Errorf("the sink holds no %s: %w", r.GroupResource(), sink.ErrRefused)
	}
	next := old[0]
	same := len(old) == next.Scope.Count() // a shard that was never opened has seen nothing
	if !same {
		next.Revision = ""
	}
	cause := sink.CauseResharded
	for _, p := range old {
		if a, b := next.Scope.Selection(), p.Scope.Selection(); a != b {
			return nil, fmt.Errorf("%s: the shards hold the selections %s and %s: have all of them started with --rescope first: %w", r.GroupResource(), a, b, sink.ErrRefused)
		}
		same = same && p.Phase == sink.Live && p.Revision == next.Revision && p.Epoch == next.Epoch
		if p.Phase != sink.Live && p.Cause != "" && p.Cause != sink.CauseExpired && cause != sink.CauseRestored {
			cause = p.Cause // the table may lack more than the changes since
		}
		next.Epoch = max(next.Epoch, p.Epoch)
		next.Generation, next.Sequence = max(next.Generation, p.Generation), max(next.Sequence, p.Sequence)
		if p.Revision == "" || next.Revision.Newer(p.Revision) {
			next.Revision = p.Revision
		}
		if p.Control == sink.Paused || p.Control == sink.PausedResharding {
			next.Control = sink.Paused
		}
	}
	if next.Control != sink.Paused {
		next.Control = ""
	}
	if begun := slices.ContainsFunc(old, func(p sink.Position) bool { return p.Revision != "" || p.Cause != "" }); !same && begun {
		// The next epoch, as what one shard has seen is forgotten: whether the server was
		// restored to before that cannot be known.
		next.Epoch, next.Phase, next.Cause = next.Epoch+1, sink.Loading, cause
	}
	next.Generation, next.Sequence, next.Time = next.Generation+1, next.Sequence+1, time.Now().UTC()
	all := make([]sink.Position, shards)
	for i := range all {
		all[i] = next
		all[i].Scope.Shard, all[i].Scope.Shards = i, shards
	}
	return all, nil
}

// Namesakes finds objects of one key, of which all but the newest were deleted: in shards,
// an object can be created again before the deletion of the former is committed.
type Namesakes map[kube.Key]sink.Held

// Add returns the object that was deleted of two with one key.
func (n Namesakes) Add(h sink.Held) (deleted sink.Held, found bool) {
	o, ok := n[h.Key]
	if ok && o.UID == h.UID {
		return h, false
	}
	if ok && o.Revision.Newer(h.Revision) {
		return h, true
	}
	n[h.Key] = h
	return o, ok
}

// Deletion returns the record of the deletion of an object. p is a position after Reshard.
func Deletion(p sink.Position, h sink.Held) sink.Record {
	s := p.Scope
	return sink.Record{
		ID: sink.DeletionID(s.Cluster, p.Epoch, h.UID), Type: sink.Deleted, Cluster: s.Cluster, Group: s.Resource.Group, Resource: s.Resource.Plural,
		Shard: sink.ShardOf(h.UID, s.Count()), Namespace: h.Key.Namespace, Name: h.Key.Name, UID: h.UID, Epoch: p.Epoch, Time: p.Time, Phase: p.Phase, Synthetic: true,
	}
}
