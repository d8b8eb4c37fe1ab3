package main

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/auth"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// fatal returns an error if there is no point in going on after i.
func (s *stream[T]) fatal(i *watch.Interruption) error {
	refused := errors.Is(i.Err, kube.ErrUnauthorized) || errors.Is(i.Err, kube.ErrForbidden) || errors.Is(i.Err, kube.ErrNotFound)
	began := s.synced && !s.resumed || (s.partial || s.resumed) && s.opened || s.Absent && errors.Is(i.Err, kube.ErrNotFound)
	switch {
	case i.Next == watch.OpNone, refused && !began, s.Typed == target.Everything && errors.Is(i.Err, kube.ErrNotFound):
		return exit.Failed(fmt.Errorf("%s %s: %w", messages.Verb(i.Op), s.Label(), i.Err))
	case watches(i.Op) && (i.Events > 0 || i.Lived > 5*time.Second): // it worked, for a while
	case s.maxFailures >= 0 && i.Err != nil && i.Attempt >= max(1, s.maxFailures):
		return exit.Failed(fmt.Errorf("%s %s: gave up after %s in a row (--max-failures): %w", messages.Verb(i.Op), s.Label(), printable.Count(i.Attempt, "failure"), i.Err))
	}
	return nil
}

// interrupted: a request ended.
func (s *stream[T]) interrupted(i watch.Interruption) {
	if i.Err != nil && s.fatal(&i) != nil {
		return // run says it
	}
	gone := errors.Is(i.Err, kube.ErrGone) && i.Wait == 0 // RESTART, which follows at once, reports it
	if watches(i.Op) && i.Lived > 0 {
		s.closed(&i, gone)
		return
	}
	if i.Op == watch.OpStream && errors.Is(i.Err, kube.ErrInvalid) || gone {
		return // an older server, which is listed instead
	}
	s.attempts++
	why := i.Err
	if why == nil {
		why = errors.New("closed by the server")
	}
	s.share(messages.Shared{Level: slog.LevelWarn, Text: fmt.Sprintf("cannot %s: %v; again in %s", messages.Verb(i.Op), why, printable.Rough(i.Wait)),
		Kind: fmt.Sprintf("cannot %s: %s; retrying", messages.Verb(i.Op), auth.Cause(why))},
		"failed", "op", string(i.Op), "err", printable.Line(why.Error()), "attempt", i.Attempt, "wait", i.Wait.String())
	s.emit(record.Record{Type: record.ErrorType, Detail: errorOf(why)})
}

// closed: a watch that was open is no more. gone means that its history expired, and
// that it is listed again at once.
func (s *stream[T]) closed(i *watch.Interruption, gone bool) {
	lived := " after " + printable.Rough(i.Lived)
	cause, text, common := "closed by the server", "watch closed by server"+lived, "watch closed by server"
	level := slog.LevelInfo
	s.broken = i.Err != nil && !gone
	if i.Err != nil {
		level = slog.LevelWarn
		cause = printable.Line(i.Err.Error())
		text, common = fmt.Sprintf("watch broken%s (%s)", lived, auth.Brief(i.Err)), fmt.Sprintf("watch broken (%s)", auth.Cause(i.Err))
	}
	var st *kube.Status
	if errors.As(i.Err, &st) && !gone {
		s.emit(record.Record{Type: record.ErrorType, Detail: errorOf(i.Err)})
	}
	s.emit(record.Record{Type: record.DisconnectedType, ID: codec.Identity{ResourceVersion: string(i.Revision)}, Detail: record.DisconnectedDetail{Cause: cause, Lived: i.Lived.Milliseconds()}})
	switch {
	case gone:
		return
	case i.Next == watch.OpWatch:
		text, common = text+", resuming at rv="+string(i.Revision), common+", resuming"
	case i.Next == watch.OpProbe:
		text, common = text+", asking the server where it is", common+", asking the server where it is"
	default:
		text, common = text+", listing again", common+", listing again"
	}
	if i.Wait > 0 {
		text += " in " + printable.Rough(i.Wait)
	}
	s.share(messages.Shared{Level: level, Text: text, Kind: common}, "watch ended", "cause", cause, "lived", i.Lived.String(), "rev", string(i.Revision), "next", string(i.Next))
}

// connected: a watch was answered.
func (s *stream[T]) connected(op watch.Op, from kube.Revision, gap time.Duration) {
	s.opened = true
	defer s.state.Connect(op)
	if s.reached != nil && (s.attempts > 0 || s.broken) {
		s.reached(s.Cluster)
	}
	if gap == 0 {
		s.attempts = 0
		return
	}
	s.emit(record.Record{Type: record.ReconnectedType, ID: codec.Identity{ResourceVersion: string(from)}, Detail: record.ReconnectedDetail{Gap: gap.Milliseconds()}})
	if s.attempts > 0 || s.broken {
		s.share(messages.Shared{Text: messages.Again([][]int{{int(gap), s.attempts}}), Kind: "watching again", Numbers: []int{int(gap), s.attempts}, Common: messages.Again}, "watching again", "gap", gap.String(), "attempts", s.attempts)
	}
	s.attempts, s.broken = 0, false
}

func (s *stream[T]) quarantine(ev watch.Event[T], item *codec.ItemError) {
	var deleted []cache.Delta[T]
	if _, known := s.store.Get(ev.Key); known { // of others the store would remember their names
		deleted = s.store.Quarantine(ev)
		s.count(deleted)
	}
	if item.Identity.Name != "" && !s.Includes(item.Identity.Name) || s.selector.Excludes(item.Identity.Namespace) {
		return
	}
	s.each("skipped an object that cannot be read: "+item.Error(), "quarantined", "err", item.Error())
	s.emit(record.Record{Type: record.QuarantinedType, ID: item.Identity, Detail: record.ErrorDetail{Error: printable.Line(item.Err.Error())}})
	for _, d := range deleted {
		s.emit(s.delta(d))
	}
}

func errorOf(err error) record.ErrorDetail {
	d := record.ErrorDetail{Error: printable.Line(err.Error())}
	var st *kube.Status
	if errors.As(err, &st) {
		d.Status = &record.StatusView{Code: st.Code, Reason: st.Reason, Message: st.Message}
	}
	return d
}

// info and warn say something on stderr once everything before it is printed.
func (s *stream[T]) info(text, message string, attrs ...any) {
	s.say(slog.LevelInfo, text, message, attrs...)
}

func (s *stream[T]) warn(text, message string, attrs ...any) {
	s.say(slog.LevelWarn, text, message, attrs...)
}

// each is warn about one object.
func (s *stream[T]) each(text, message string, attrs ...any) {
	s.give(record.Record{Say: func() { s.talk.Each(s.Label(), text, message, attrs...) }})
}

// share is say of what several streams may have for one reason.
func (s *stream[T]) share(m messages.Shared, message string, attrs ...any) {
	m.Cluster, m.Subject = s.Cluster, s.Label()
	s.give(record.Record{Say: func() { s.folder.Say(m, message, attrs...) }})
}

func (s *stream[T]) say(level slog.Level, text, message string, attrs ...any) {
	s.give(record.Record{Say: func() { s.folder.Alone(level, s.Label(), text, message, attrs...) }})
}

// listed: a page was read.
func (s *stream[T]) listed(p list.Progress) {
	s.total = 0
	if p.Remaining >= 0 {
		s.total = p.Items + int(p.Remaining)
	}
	s.progress(max(s.items, p.Items))
}

// progress reports the progress of the first list, with the total number of objects if
// the server sends that.
func (s *stream[T]) progress(items int) {
	if !s.listing || s.synced {
		return
	}
	every := progressEvery
	if s.talk.Live {
		every = 200 * time.Millisecond
	}
	if since := time.Since(s.began); since > every && time.Since(s.reported) > every {
		s.reported = time.Now()
		remaining := int64(-1)
		if s.total > 0 {
			remaining = int64(max(0, s.total-items))
		}
		s.talk.Progress(s.Label(), items, remaining, since)
	}
}

func watches(op watch.Op) bool { return op == watch.OpStream || op == watch.OpWatch }
