package main

import (
	"context"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/cmd/listwatch/checkpoint"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/table"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// resume begins s where the output of an earlier run ended: the store gets the objects
// that were delivered, and so finds the differences.
func (s *stream[T]) resume(st checkpoint.State, path string) {
	s.noted, s.partial, s.from = true, false, ""
	if !st.Synced && len(st.Objects)+len(st.Maybe) == 0 {
		return
	}
	s.maybe = st.Maybe
	s.resumed, s.synced = true, st.Synced
	s.apply(watch.Event[T]{Type: watch.Restart})
	for _, o := range st.Objects {
		object := record.RawAs[T](o.Raw)
		s.apply(watch.Event[T]{Type: watch.Added, Key: kube.KeyOf(object), UID: o.UID, Revision: o.Revision, Object: object})
	}
	s.apply(watch.Event[T]{Type: watch.Synced, Revision: st.Revision})
	what := printable.Count(len(st.Objects), "object") + " of " + path
	switch {
	case !st.Synced:
		s.talk.Info(s.Label(), "going on with a first list that was interrupted, knowing "+what, "resumed", "objects", len(st.Objects))
	case s.once || st.Revision == "":
		s.relist = &relist{cause: "compared with the checkpoint"}
		s.talk.Info(s.Label(), "comparing with "+what, "resumed", "objects", len(st.Objects))
	default:
		s.talk.Info(s.Label(), "resuming at rv="+string(st.Revision)+" with "+what, "resumed", "rev", string(st.Revision), "objects", len(st.Objects))
	}
}

// mark records the progress that ev makes, after the records of ev.
func (s *stream[T]) mark(ev watch.Event[T]) {
	switch {
	case !s.noted:
	case ev.Type == watch.Restart:
		s.give(record.Record{Mark: record.MarkListing})
	case !s.listing && ev.Revision != "":
		s.give(record.Record{Mark: record.MarkAt, At: ev.Revision})
	}
}

// continued returns d as the interrupted first list would have delivered it, if this run
// continues that list.
func (s *stream[T]) continued(d cache.Delta[T]) cache.Delta[T] {
	if d.Type == watch.Added {
		s.reckon(d.Key, d.UID, false)
	}
	if s.resumed && !s.synced && d.Type == watch.Added && d.Inferred {
		d.Initial, d.Inferred = true, false
	}
	return d
}

// reckon reports the deletion of objects that an earlier run may have delivered just
// before it died, when an object of the same key or, with all, the end of a list shows
// that they are deleted. If the server has the history, it sends their events again, and
// there is nothing to do.
func (s *stream[T]) reckon(key kube.Key, uid string, all bool) {
	var rest []checkpoint.Object
	for _, o := range s.maybe {
		object := record.RawAs[T](o.Raw)
		switch {
		case o.UID == uid && kube.KeyOf(object) == key: // it exists, and is delivered again
		case s.listing && (all || kube.KeyOf(object) == key):
			r := s.object(watch.Deleted, object)
			r.ID.UID, r.Synthetic, r.Last = o.UID, "relist", true
			if s.relist != nil {
				s.relist.deleted++
			}
			s.emit(r)
		default:
			rest = append(rest, o)
		}
	}
	s.maybe = rest
}

// headed requests the columns of the rows if no row has come with them.
func (s *stream[T]) headed(ctx context.Context) {
	if s.resumed && s.columns == nil && s.col.Accept.List != "" {
		s.columns = table.Fetch(ctx, s.col)
	}
}
