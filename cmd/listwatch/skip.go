package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// skipFor is how long a target that may not be read is left alone: rights may be granted.
const skipFor = 5 * time.Minute

// errSkipped ends the watcher of a target that is skipped.
var errSkipped = errors.New("the target is skipped")

// skippable reports whether err is about one type, and says nothing about the others.
func skippable(err error, t target.Target) bool {
	return errors.Is(err, kube.ErrForbidden) || errors.Is(err, kube.ErrNotFound) || t.Cluster != "" && errors.Is(err, kube.ErrUnauthorized)
}

// skip returns errSkipped where the others go on without s after i, else err.
func (s *stream[T]) skip(i *watch.Interruption, err error) error {
	if s.refusals == nil || !skippable(i.Err, s.Target) {
		return err
	}
	if all := s.refusals.refuse(s.Label(), err); all != nil {
		return all
	}
	s.skipped.Store(true)
	s.absentType = errors.Is(i.Err, kube.ErrNotFound)
	select {
	case <-s.woken: // it was found before this request
	default:
	}
	s.emit(record.Record{Type: record.ErrorType, Detail: errorOf(i.Err)})
	s.state.Skip(i.Err, s.Typed == target.Everything)
	again := ""
	if !s.once {
		again = "; asking again every " + printable.Rough(skipFor)
	}
	if s.skips++; s.skips > 1 {
		return errSkipped // it was said
	}
	s.warn(fmt.Sprintf("skipped%s: %s%s", s.Where(), messages.Reason(i.Err), again), "skipped", "err", messages.Reason(i.Err))
	return errSkipped
}

// rest waits until a target that was skipped is asked for again: for skipFor, or, where
// its type was not served, until discovery finds it. It may be in another version then.
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
		s.skips = 0 // another refusal is news
	}
	if s.absentType && s.resolve != nil {
		if now, err := s.resolve(ctx); err == nil && now != s.served {
			s.serve(now)
		}
	}
	if !s.synced && s.since.IsZero() {
		s.since = s.began
	}
	s.refusals.readmit(s.Label())
	s.skipped.Store(false)
	return nil
}

// wake has a target whose type was not served be asked for again: discovery has found it.
func (s *stream[T]) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// refusals counts the targets that may not be read. It is safe for concurrent use.
type refusals struct {
	mu     sync.Mutex
	open   int // targets that are not refused
	labels []string
	first  error
}

// follow notes that one more target is followed.
func (r *refusals) follow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open++
}

// refuse notes that a target was refused, and returns an error if no other is left.
func (r *refusals) refuse(label string, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
	r.labels = append(r.labels, label)
	if r.first == nil {
		r.first = err
	}
	if r.open > 0 {
		return nil
	}
	return r.first
}

// readmit notes that a target that was refused is asked for again.
func (r *refusals) readmit(label string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open++
	r.labels = slices.DeleteFunc(r.labels, func(l string) bool { return l == label })
}

// missing is the error of a run that wants everything that was named.
func (r *refusals) missing() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.labels) == 0 {
		return nil
	}
	return exit.Failed(fmt.Errorf("%s: %w", strings.Join(r.labels, ", "), r.first))
}
