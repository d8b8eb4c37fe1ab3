package main

import (
	"context"
	"errors"
	"time"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/refused"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// skipFor is the time until a skipped target is requested again, because rights may be granted
// meanwhile.
const skipFor = 5 * time.Minute

// errSkipped ends the watcher of a target that is skipped.
var errSkipped = errors.New("the target is skipped")

// skip returns errSkipped if the other streams continue without s after i, otherwise err.
func (s *stream[T]) skip(i *watch.Interruption, err error) error {
	if s.refusals == nil || !refused.Skippable(i.Err, s.Target) {
		return err
	}
	if all := s.refusals.Refuse(s.Label(), err); all != nil {
		return all
	}
	s.skipped.Store(true)
	s.absentType = errors.Is(i.Err, kube.ErrNotFound)
	select {
	case <-s.woken: // discovery found the type before this request
	default:
	}
	s.emit(record.Record{Type: record.ErrorType, Detail: errorOf(i.Err)})
	s.state.Skip(i.Err, s.Typed == target.Everything)
	again := ""
	if !s.once {
		again = "; asking again every " + printable.Rough(skipFor)
	}
	if s.skips++; s.skips > 1 {
		return errSkipped // reported before
	}
	m := refused.Message(s.Target, i.Err, again)
	if s.Typed == target.Everything {
		s.share(m, "skipped", "err", messages.Reason(i.Err))
	} else {
		s.warn(m.Text, "skipped", "err", messages.Reason(i.Err))
	}
	return errSkipped
}

// rest waits until a skipped target is requested again: for skipFor, or, if its type was not
// served, until discovery finds the type, which may have another version then.
func (s *stream[T]) rest(ctx context.Context) error {
	var found <-chan struct{}
	if s.absentType {
		found = s.woken
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(skipFor):
	case <-found:
		s.skips = 0 // report the next refusal
	}
	if s.absentType && s.resolve != nil {
		if now, err := s.resolve(ctx); err == nil && now != s.served {
			s.serve(now)
		}
	}
	if !s.synced && s.since.IsZero() {
		s.since = s.began
	}
	s.refusals.Readmit(s.Label())
	s.skipped.Store(false)
	return nil
}

// await waits until the type of s, which the checkpoint has and the server had not at the
// start, is served, perhaps in another version.
func (s *stream[T]) await(ctx context.Context) error {
	s.skipped.Store(true)
	defer s.skipped.Store(false)
	for pause, said := firstWait, false; ; pause = min(2*pause, mostWait) {
		now, err := s.resolve(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !said:
			s.warn("cannot begin: "+printable.Line(err.Error())+"; waiting for it", "skipped", "err", printable.Line(err.Error()))
			said = true
			fallthrough
		case err != nil:
			s.state.Skip(err, false)
			if err := wait.For(ctx, pause); err != nil {
				return context.Cause(ctx)
			}
			continue
		case now.Version != s.served.Version:
			s.serve(now)
		}
		s.served = now
		s.begin()
		return nil
	}
}

// wake ends the wait of rest for a type that was not served, after discovery has found it.
func (s *stream[T]) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}
