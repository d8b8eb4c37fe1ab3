package sink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// load is a list in progress, which is compared with the table.
type load struct {
	held   map[kube.Key]heldObject
	known  kube.Revision // the newest of held that the server has reached, as far as is known
	newest kube.Revision // of the objects so far
}

// heldObject is the row of a key in the table, and whether the list has the object too.
type heldObject struct {
	uid      string
	revision kube.Revision
	epoch    int64
	seen     bool
	left     bool // the list has it, but Options.Where does not select it
}

// see records that the list has the object of the key unchanged.
func (l *load) see(k kube.Key) {
	if h, ok := l.held[k]; ok {
		h.seen = true
		l.held[k] = h
	}
}

// reload commits the pending records, and that the history is lost: the next Runner lists,
// even if the server's revision is that of the position.
func (s *session) reload(ctx context.Context, cause string) error {
	s.next.Phase, s.next.Cause = Loading, cause
	if cause == CauseRestored {
		s.next.Epoch++
		s.unrecorded, s.used = true, false
	}
	err := s.flush(ctx)
	if err == nil {
		s.unrecorded = false
	}
	return err
}

// restored is reload for a restore of the server, which may be known already. Each list that
// follows one has an epoch of its own: the server may have been restored again since another
// list, and then the ids and revisions of what that has recorded are given once more.
func (s *session) restored(ctx context.Context) error {
	if s.next.Cause != CauseRestored || s.used {
		return s.reload(ctx, CauseRestored)
	}
	return s.flush(ctx)
}

// begin starts a load after RESTART, and drops an unfinished one.
func (s *session) begin(ctx context.Context, cause error) error {
	var err error
	switch {
	case s.next.Cause == CauseRestored, errors.Is(cause, watch.ErrAhead), errors.Is(cause, kube.ErrTooLargeRevision):
		err = s.restored(ctx)
	case s.next.Phase == Live:
		err = s.reload(ctx, CauseExpired)
	default:
		err = s.flush(ctx) // so that the table has all records
	}
	if err != nil {
		return err
	}
	held, err := s.held(ctx)
	if err != nil {
		return err
	}
	if s.next.Cause == CauseNotServed && len(held) == 0 {
		s.next.Epoch++ // with the first records: the ids of objects that are back were used by Drop
	}
	s.load, s.inconsistent = &load{held: held, known: s.newest(held)}, false
	return nil
}

// seen returns the newest revision that the server has reached, as far as is known: that of the
// position or, after a list that was not completed, of a row. After a restore it is empty, as
// they are of the state before.
func (s *session) seen(ctx context.Context) (kube.Revision, error) {
	if s.pos.Cause == CauseRestored {
		return "", nil
	}
	if s.pos.Phase == Live {
		return s.pos.Revision, nil
	}
	held, err := s.held(ctx)
	if rev := s.newest(held); s.pos.Revision == "" || rev.Newer(s.pos.Revision) {
		return rev, err
	}
	return s.pos.Revision, err
}

// newest returns the newest revision of rows that the server has reached, as far as is known.
func (s *session) newest(held map[kube.Key]heldObject) (rev kube.Revision) {
	for _, h := range held {
		if s.reached(h) && (rev == "" || h.revision.Newer(rev)) {
			rev = h.revision
		}
	}
	return rev
}

// reached reports whether the server has reached the revision of a row, unless it was restored
// and nobody knows: rows of earlier epochs are of before the restore that is known.
func (s *session) reached(h heldObject) bool {
	return h.epoch == s.next.Epoch || s.next.Cause != CauseRestored
}

// listed compares an object of the list with the table.
func (s *session) listed(ctx context.Context, ev event) error {
	l := s.load
	rec, selected := s.record(ev)
	if !selected {
		if h, ok := l.held[ev.Key]; ok && h.uid == ev.UID {
			h.left = true
			l.held[ev.Key] = h
		}
		return nil
	}
	if l.newest == "" || ev.Revision.Newer(l.newest) {
		l.newest = ev.Revision
	}
	h, ok := l.held[ev.Key]
	same := ok && h.uid == ev.UID
	// In the epoch of the position the table holds everything that existed at its
	// revision. If the list has an older state, or an old object that the table does not
	// have, the server was restored, or the table has lost rows.
	whole := s.next.Cause == CauseExpired || s.next.Cause == CauseResharded
	old := !ok && whole && !ev.Revision.Newer(s.next.Revision) && ev.Revision.Ordered() && s.next.Revision.Ordered()
	switch {
	case same && h.epoch == s.next.Epoch && h.revision == ev.Revision:
		l.see(ev.Key)
		return nil
	case old || same && s.reached(h) && h.revision.Newer(ev.Revision):
		return s.loseHistory(ctx, CauseRestored)
	case ok && h.uid != ev.UID:
		if err := s.add(ctx, s.vanished(ev.Key, h)); err != nil {
			return err
		}
	}
	rec.Synthetic, rec.Initial = true, s.next.Revision == "" && s.next.Cause == ""
	if rec.Type != Quarantined {
		if rec.Type = Added; ok && h.uid == ev.UID {
			rec.Type = Modified
		}
	}
	l.held[ev.Key] = heldObject{uid: ev.UID, revision: ev.Revision, epoch: s.next.Epoch, seen: true}
	return s.add(ctx, rec)
}

// vanished returns the record of the deletion of an object that is missing in a list.
func (s *session) vanished(k kube.Key, h heldObject) Record {
	rec := s.blank()
	rec.Type, rec.ID = Deleted, DeletionID(rec.Cluster, rec.Epoch, h.uid)
	rec.Namespace, rec.Name, rec.UID, rec.Synthetic = k.Namespace, k.Name, h.uid, true
	return rec
}

func sortedKeys(held map[kube.Key]heldObject) []kube.Key {
	return slices.SortedFunc(maps.Keys(held), kube.Key.Compare)
}

// complete ends the load after SYNCED at a revision: objects of the table that the list does
// not have are deleted, and the table is the collection at that revision.
func (s *session) complete(ctx context.Context, rev kube.Revision) error {
	l := s.load
	if l == nil {
		return fmt.Errorf("%s: the end of a list that did not begin: %w", s.o.Scope, errListAgain)
	}
	if s.inconsistent || l.newest.Newer(rev) {
		// Objects that such a list does not have may have been deleted after rev, and the
		// watch would deliver their last changes again.
		s.unpaged, s.load = true, nil
		return fmt.Errorf("%s: the list is not of one snapshot: %w", s.o.Scope, errListAgain)
	}
	if l.known.Newer(rev) || s.next.Cause != CauseRestored && s.next.Revision.Newer(rev) {
		return s.loseHistory(ctx, CauseRestored)
	}
	for _, k := range sortedKeys(l.held) {
		h := l.held[k]
		if h.seen {
			continue
		}
		rec, exists := s.vanished(k, h), h.left
		if s.selects() {
			rec.ID = selectedDeletionID(rec.Cluster, rec.Epoch, rec.UID, rev)
		}
		if !exists && (s.selects() || h.epoch != s.next.Epoch) {
			var err error
			if exists, err = s.get(ctx, k, h.uid); err != nil {
				return err
			}
		}
		if exists {
			rec.Type, rec.ID = Left, leftID(rec.Cluster, rec.Epoch, rec.UID, rev)
		}
		if err := s.add(ctx, rec); err != nil {
			return err
		}
	}
	gap := s.blank()
	gap.Type, gap.ID, gap.Synthetic = Gap, gapID(s.next, rev), true
	gap.From, gap.To, gap.Reason = s.next.Revision, rev, s.next.Cause
	s.next.Revision, s.next.Phase, s.next.Cause = rev, Live, "" // in the commit of the GAP: else another list would repeat it
	s.load, s.unpaged = nil, false
	if gap.From != "" || gap.Reason != "" {
		s.o.Logger.Warn("sink: gap in the history", "scope", s.o.Scope.String(), "from", gap.From, "to", rev, "reason", gap.Reason)
		if err := s.add(ctx, gap); err != nil {
			return err
		}
	}
	return s.flush(ctx)
}
