package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// relist counts what a second listing finds.
type relist struct {
	cause                    string
	added, modified, deleted int
}

func (s *stream[T]) restart(cause error) {
	s.listing, s.items = true, 0
	s.state.List()
	if s.relist == nil && (s.synced || s.partial) {
		s.relist = &relist{cause: causeOf(cause)}
	}
}

// ahead is called before the list of a server that was restored.
func (s *stream[T]) ahead(error) {
	if s.lose != nil {
		s.lose()
	}
}

// causeOf returns why the watch could not resume.
func causeOf(err error) string {
	switch {
	case errors.Is(err, kube.ErrGone):
		return "history expired (410)"
	case errors.Is(err, watch.ErrAhead):
		return "the server was restored to an earlier state"
	case errors.Is(err, codec.ErrTooLarge):
		return "an event was too large to take"
	case err == nil:
		return "listed again"
	}
	return "could not resume (" + printable.Line(err.Error()) + ")"
}

// blind handles an event whose previous state is unknown, because the watch began at a
// revision: it is delivered with the type that the server gave it.
func (s *stream[T]) blind(ev watch.Event[T]) bool {
	if !s.partial || ev.Object.GetName() == "" {
		return false
	}
	rev := kube.Revision(ev.Object.GetResourceVersion())
	if s.listing {
		// The history is lost: an object with a newer revision than s.from has changed.
		_, known := s.store.Get(kube.KeyOf(ev.Object))
		if known {
			return false
		}
		s.apply(ev)
		if _, err := rev.Compare(s.from); err != nil || rev.Newer(s.from) {
			r := s.object(watch.Modified, ev.Object)
			r.Synthetic = "relist"
			s.emit(r)
		}
		return true
	}
	s.from = ev.Revision
	s.apply(ev)
	s.emit(s.object(ev.Type, ev.Object))
	return true
}

func (s *stream[T]) sync(rev kube.Revision) {
	s.listing = false
	s.talk.Done()
	n := s.store.Len()
	at := codec.Identity{ResourceVersion: string(rev)}
	switch {
	case s.relist == nil:
		s.emit(record.Record{Type: string(watch.Synced), ID: at, Detail: record.SyncedDetail{Count: n}})
		s.empty(n)
	case s.partial:
		s.warn(fmt.Sprintf("%s; relisted %s; what was added or deleted while away cannot be known", s.relist.cause, printable.Count(n, "object")),
			"relisted", "cause", s.relist.cause, "objects", n)
		s.emit(record.Record{Type: record.RelistedType, ID: at, Detail: record.RelistedDetail{Cause: s.relist.cause}})
	default:
		s.relisted(at, n)
	}
	s.relist, s.synced, s.partial = nil, true, false
}

// empty says that there is nothing, or not all that was named, to those who see
// nothing of it.
func (s *stream[T]) empty(n int) {
	match, nor := "", "" // what is there may only not be selected
	if s.narrowed {
		match, nor = " match", " or does not match"
	}
	waiting := func(what string) string {
		if s.once || s.decided {
			return ""
		}
		return "; waiting for " + what
	}
	switch absent := len(s.Names) - n; {
	case n > 0 && absent > 0 && (s.Namespace != "" || !s.Resource.Namespaced):
		s.info(fmt.Sprintf("%s of %s found%s%s", printable.Thousands(n), printable.Count(len(s.Names), "name"), s.Where(), waiting("the others")), "none")
	case n > 0 || s.terse:
	case s.Name != "" && !s.once:
		s.info("does not exist"+s.Where()+nor+waiting("it"), "none")
	default:
		s.share(messages.Shared{Text: "no objects" + s.Where() + match + waiting("some"), Kind: "no objects" + match + waiting("some")}, "none")
	}
}

// absent returns the names that were asked for and do not exist, where that is known.
func (s *stream[T]) absent() (labels []string) {
	if s.narrowed || s.noted || s.Namespace == "" && s.Resource.Namespaced {
		return nil
	}
	t := s.Target
	for _, t.Name = range s.Wanted() {
		if _, ok := s.store.Get(kube.Key{Namespace: s.Namespace, Name: t.Name}); !ok {
			labels = append(labels, t.Label())
		}
	}
	return labels
}

func (s *stream[T]) relisted(at codec.Identity, n int) {
	l := s.relist
	unchanged := max(0, n-l.added-l.modified)
	counts, common := []int{n, l.added, l.modified, l.deleted}, func(all [][]int) string { return messages.Relisted(l.cause, all) }
	s.share(messages.Shared{Level: slog.LevelWarn, Text: common([][]int{counts}), Kind: l.cause + "; relisted", Numbers: counts, Common: common},
		"relisted", "cause", l.cause, "objects", n, "added", l.added, "modified", l.modified, "deleted", l.deleted)
	s.emit(record.Record{Type: record.RelistedType, ID: at, Detail: record.RelistedDetail{Cause: l.cause, Added: &l.added, Modified: &l.modified, Deleted: &l.deleted, Unchanged: &unchanged}})
}
