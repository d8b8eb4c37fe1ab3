package sinktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/sink"
)

// churn makes some changes of each kind.
func (s *story) churn(round string) {
	for i := range 6 {
		s.Put(fmt.Sprint("n-", i), "web", round)
	}
	s.Put("brief-"+round, "web", "")
	s.Delete("brief-" + round)
	s.Delete("n-1")
	s.Put("n-1", "web", "again in "+round)
	s.Delete("n-2")
}

func storyOfChanges(t *testing.T, store Store) {
	s := newStory(t, store)
	s.churn("before")
	p := s.start(nil)
	p.live()
	s.equal()
	for i := range 5 {
		s.churn(fmt.Sprint("after-", i))
	}
	p.live()
	p.end()
	if !errors.Is(p.err, context.Canceled) {
		t.Errorf("the process ended with %v", p.err)
	}
	s.equal()
	s.sentOnce()
	initial := 0
	for _, r := range s.history() {
		if r.Initial {
			initial++
		}
		if r.Type == sink.Gap {
			t.Errorf("%s, want no GAP", line(&r))
		}
	}
	if initial != 5 {
		t.Errorf("%d records of the first list, want 5", initial)
	}
}

func storyOfRestarts(t *testing.T, store Store) {
	s := newStory(t, store)
	s.churn("first")
	for i := range 4 {
		p := s.start(nil)
		p.live()
		s.churn(fmt.Sprint("up-", i))
		p.end() // with or without what just happened
		s.churn(fmt.Sprint("down-", i))
	}
	p := s.start(nil)
	p.live()
	s.equal()
	s.sentOnce()
	for _, r := range s.history() {
		if r.Type == sink.Gap {
			t.Errorf("a GAP from %s to %s, want none", r.From, r.To)
		}
	}
}

func storyOfExpiry(t *testing.T, store Store) {
	s := newStory(t, store)
	s.churn("first")
	p := s.start(nil)
	p.live()
	p.end()
	from := p.pos.Revision
	s.Put("n-0", "web", "changed while nobody looked")
	s.Delete("n-3")
	s.Delete("n-4")
	s.Put("n-4", "web", "another of the same name")
	s.Put("new", "web", "")
	s.Expire()
	p = s.start(nil)
	p.live()
	s.churn("second")
	p.live()
	s.equal()

	var got []string
	var gaps []sink.Record
	s.sentOnce()
	for _, r := range s.history() {
		if want := map[bool]sink.Phase{true: sink.Loading, false: sink.Live}[r.Synthetic]; r.Phase != want {
			t.Errorf("%s has the phase %s, want %s", line(&r), r.Phase, want)
		}
		switch {
		case r.Type == sink.Gap:
			gaps = append(gaps, r)
		case r.Synthetic && !r.Initial:
			got = append(got, string(r.Type)+" "+r.Name)
		}
	}
	want := []string{"MODIFIED n-0", "DELETED n-4", "ADDED n-4", "ADDED new", "DELETED n-3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the list taught (-want +got):\n%s", diff)
	}
	if len(gaps) != 1 || gaps[0].From != from || !gaps[0].To.Newer(from) || gaps[0].Reason != sink.CauseExpired {
		t.Errorf("gaps %+v, want one from %s", gaps, from)
	}

	s.Expire() // while it runs
	s.churn("third")
	p.live()
	s.equal()
}

func storyOfRestore(t *testing.T, store Store) {
	s := newStory(t, store)
	s.churn("first")
	p := s.start(nil)
	p.live()
	s.churn("second")
	p.live()
	p.end()
	s.Restore(7)
	p = s.start(nil)
	p.until("another epoch", func(pos sink.Position) bool { return pos.Epoch == 2 })
	p.live()
	s.churn("third") // gives out revisions that were given out before
	p.live()
	s.equal()
	if !slices.ContainsFunc(s.history(), func(r sink.Record) bool { return r.Type == sink.Gap && r.Reason == sink.CauseRestored && r.Epoch == 2 }) {
		t.Error("no GAP names the restore")
	}
}

// storyOfBrokenLoad loses the connection to the sink after each commit of a list.
func storyOfBrokenLoad(t *testing.T, store Store) {
	s := newStory(t, store)
	for i := range 40 {
		s.Put(fmt.Sprintf("n-%02d", i), "web", "1")
	}
	broken := func(commits int) func(*sink.Options) {
		return func(o *sink.Options) {
			o.BatchRecords = 10
			o.Sink = &faulty{Sink: o.Sink.(Sink), before: func(n int) error {
				if n > commits {
					return fmt.Errorf("killed: %w", sink.ErrFenced) // which ends the process
				}
				return nil
			}}
		}
	}
	p := s.start(broken(2))
	<-p.ended
	s.Put("n-05", "web", "2") // is in the table as it was
	s.Delete("n-06")
	p = s.start(broken(1))
	<-p.ended
	p = s.start(nil)
	p.live()
	s.equal()

	p.end()
	for i := range 40 {
		s.Put(fmt.Sprintf("n-%02d", i), "web", "3")
	}
	for i := range 20 {
		s.Delete(fmt.Sprintf("n-%02d", i))
	}
	s.Expire()
	p = s.start(broken(3))
	<-p.ended
	s.Expire()
	s.Put("n-30", "web", "4")
	p = s.start(broken(2))
	<-p.ended
	p = s.start(nil)
	p.live()
	s.equal()
	s.sentOnce()

	// Killed in the load after a restore, and the server passes the position before anybody
	// looks again: that there was a restore must be in the sink by then.
	for i := range 20 {
		s.Put(fmt.Sprintf("n-%02d", i), "web", "5")
	}
	p.live()
	p.end()
	s.Restore(15)
	p = s.start(broken(1))
	<-p.ended
	for i := range 40 {
		s.Put(fmt.Sprintf("n-%02d", i), "web", "6")
	}
	p = s.start(nil)
	p.live()
	s.equal()
	s.sentOnce()
}

func storyOfUnknownCommits(t *testing.T, store Store) {
	s := newStory(t, store)
	s.churn("first")
	p := s.start(func(o *sink.Options) {
		o.BatchRecords = 3
		o.Sink = &faulty{Sink: o.Sink.(Sink),
			before: func(n int) error {
				if n%7 == 2 {
					return errLost // it was not done
				}
				return nil
			},
			after: func(n int) error {
				if n%5 == 1 {
					return errLost // it was done
				}
				return nil
			}}
	})
	for i := range 4 {
		s.churn(fmt.Sprint("round-", i))
		p.live()
	}
	s.equal()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.retries) < 3 {
		t.Errorf("%d commits were of unknown outcome, want some: the test is no test", len(p.retries))
	}
}

// storyOfFrozenLeader stops a process in the moment before a commit, for as long as
// another needs to take over, and lets it go on.
func storyOfFrozenLeader(t *testing.T, store Store) {
	if store.OneWriter {
		return
	}
	s := newStory(t, store)
	s.churn("first")
	frozen, wake := make(chan struct{}), make(chan struct{})
	var freeze atomic.Bool
	former := s.start(func(o *sink.Options) {
		o.Sink = &faulty{Sink: o.Sink.(Sink), before: func(int) error {
			if freeze.CompareAndSwap(true, false) {
				close(frozen)
				<-wake
			}
			return nil
		}}
	})
	former.live()
	freeze.Store(true)
	s.churn("second")
	<-frozen
	latter := s.start(nil)
	latter.live()
	s.churn("third")
	latter.live()
	close(wake)
	<-former.ended
	if !errors.Is(former.err, sink.ErrFenced) {
		t.Errorf("the former leader ended with %v, want ErrFenced", former.err)
	}
	s.churn("fourth")
	latter.live()
	s.equal()
}
