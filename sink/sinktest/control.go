package sinktest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/sink"
)

// keepsControl pauses a scope, and has somebody open it.
func keepsControl(t *testing.T, store Store) {
	s, scope := store.Connect(t), configMaps()
	p := possess(t, s, scope)
	a := record(sink.Added, scope, "a", "uid-a", "5")
	p.commit(sink.Live, "5", a)
	for _, step := range []struct {
		do             func(context.Context, sink.Sink, sink.Scope) error
		stored, opened sink.Control
		epoch          int64
	}{
		{sink.Pause, sink.Paused, sink.Paused, 1},
		{sink.Backfill, sink.Paused, sink.Paused, 2},
		{sink.Resume, sink.Released, "", 2},
		{sink.Backfill, sink.Released, "", 3},
	} {
		if err := step.do(t.Context(), &busy{Sink: s}, scope); err != nil {
			t.Fatal(err)
		}
		if !store.OneWriter {
			p.fenced(p.next(sink.Live, "9"), "who was in possession")
		}
		all, err := s.Positions(t.Context())
		if err != nil || len(all) != 1 || all[0].Control != step.stored || all[0].Epoch != step.epoch || all[0].Revision != "5" {
			t.Errorf("positions %+v, error %v, want one of revision 5, epoch %d and control %q", all, err, step.epoch, step.stored)
		}
		if p = possess(t, s, scope); p.pos.Control != step.opened {
			t.Errorf("opened with control %q, want %q", p.pos.Control, step.opened)
		}
	}
	if p.pos.Phase != sink.Loading || p.pos.Cause != sink.CauseBackfill {
		t.Errorf("after Backfill the position is %+v", p.pos)
	}
	holds(t, s, scope, []sink.Row{sink.RowOf(&a)}, []sink.Record{a})
}

func (s *story) control(do func(context.Context, sink.Sink, sink.Scope) error) {
	s.t.Helper()
	if err := do(s.t.Context(), s.connect(), configMaps()); err != nil {
		s.t.Error(err)
	}
}

// storyOfPause pauses a process that is busy and one that starts: nothing is committed, no
// process ends, and nothing is lost.
func storyOfPause(t *testing.T, store Store) {
	if store.OneWriter {
		return // nobody else can open the storage
	}
	s := newStory(t, store)
	s.churn("first")
	p := s.start(nil)
	p.live()
	s.churn("second")
	s.control(sink.Pause)
	want := s.history()
	s.churn("third")
	p.paused()
	p.end()
	p = s.start(nil)
	p.until("it waits", func(pos sink.Position) bool { return pos.Control == sink.Paused })
	s.churn("fourth")
	if diff := cmp.Diff(want, s.history(), sameJSON); diff != "" && !store.Duplicates { // a batch may be on its way to the server
		t.Errorf("history in the pause (-want +got):\n%s", diff)
	}
	s.control(sink.Resume)
	p.live()
	s.control(sink.Pause)
	s.churn("fifth")
	s.control(sink.Resume)
	p.live()
	s.equal()
	for _, r := range s.history() {
		if r.Type == sink.Gap {
			t.Errorf("%s: a pause that the server's history outlives leaves no GAP", line(&r))
		}
	}
	select {
	case <-p.ended:
		t.Errorf("the process ended with %v", p.err)
	default:
	}
}

// storyOfPauseAmid pauses a process that is fenced before the pause is committed, and by a
// command that is killed then: it opens the scope again, and does not end.
func storyOfPauseAmid(t *testing.T, store Store) {
	if store.OneWriter {
		return
	}
	s := newStory(t, store)
	s.churn("first")
	p := s.start(nil)
	p.live()
	fenced := func() {
		s.churn("second")
		p.until("it opens the scope again", func(pos sink.Position) bool { return pos.Generation > 2 })
	}
	slow := &slowCommand{Sink: s.connect(), opened: fenced}
	if err := sink.Pause(t.Context(), slow, configMaps()); err != nil {
		t.Fatal(err)
	}
	s.churn("third")
	p.paused()
	s.control(sink.Resume)
	p.live()
	s.equal()
}

// paused waits until a process that is busy has noticed a pause.
func (p *process) paused() {
	p.t.Helper()
	for limit := time.Now().Add(patience); p.run.Status().Position.Control != sink.Paused; <-time.After(10 * time.Millisecond) {
		if time.Now().After(limit) {
			p.t.Fatalf("the pause is not noticed: %+v", p.run.Status())
		}
	}
}

// slowCommand is a connection that calls opened between its first Open and Commit.
type slowCommand struct {
	Sink
	opened func()
}

func (c *slowCommand) Open(ctx context.Context, s sink.Scope) (p sink.Position, known sink.Known, err error) {
	if p, known, err = c.Sink.Open(ctx, s); err == nil && c.opened != nil {
		c.opened()
		c.opened = nil
	}
	return p, known, err
}

// storyOfBackfill changes the table behind the back of a process, which mends it.
func storyOfBackfill(t *testing.T, store Store) {
	s := newStory(t, store)
	s.churn("first")
	p := s.start(nil)
	p.live()
	p.end()
	rogue := possess(t, s.connect(), configMaps())
	ghost := record(sink.Added, configMaps(), "ghost", "uid-ghost", "1")
	var lost sink.Record
	for _, r := range s.history() {
		if r.Name == "n-0" {
			lost = r
		}
	}
	lost.Type, lost.ID = sink.Deleted, "rogue"
	rogue.commit(sink.Live, rogue.pos.Revision, ghost, lost)
	s.control(sink.Backfill)
	p = s.start(nil)
	p.until("written again", func(pos sink.Position) bool { return pos.Epoch == 2 && pos.Phase == sink.Live })
	s.churn("second")
	p.live()
	if err := s.checkTable(t.Context(), s.store.read(t), cluster); err != nil {
		t.Error(err)
	}
	again := map[string]bool{}
	for _, r := range s.history() {
		if r.Epoch == 2 && r.Synthetic {
			again[fmt.Sprint(r.Type, " ", r.Name, r.Reason)] = true
		}
	}
	want := map[string]bool{"DELETED ghost": true, "ADDED n-0": true, "GAP " + sink.CauseBackfill: true}
	for _, name := range []string{"n-1", "n-3", "n-4", "n-5"} {
		want["MODIFIED "+name] = true
	}
	if diff := cmp.Diff(want, again); diff != "" {
		t.Errorf("records of the backfill (-want +got):\n%s", diff)
	}
}

// storyOfBackfills has a process that runs write all of it again. A list after that writes
// only what has changed.
func storyOfBackfills(t *testing.T, store Store) {
	if store.OneWriter {
		return
	}
	s := newStory(t, store)
	s.churn("first")
	p := s.start(nil)
	p.live()
	for range 2 {
		s.control(sink.Backfill)
		s.churn("second")
		p.live()
	}
	s.equal()
	p.end()
	s.Put("n-0", "web", "changed while nobody looked")
	s.Expire()
	p = s.start(nil)
	p.live()
	s.equal()
	if p.pos.Epoch != 3 {
		t.Errorf("epoch %d after two backfills, want 3", p.pos.Epoch)
	}
	if p.end(); p.records > 2 {
		t.Errorf("the list after the backfills wrote %d records, want the change and a GAP", p.records)
	}
}

// pauseAndResume is a calamity in which nobody is fenced for good.
func (k *soak) pauseAndResume() {
	k.t.Helper()
	k.control(sink.Pause)
	k.write(5)
	if k.dice.IntN(4) == 0 {
		k.Expire()
	}
	k.control(sink.Resume)
}

// busy is a connection whose first Open fails, as where somebody opens the scope at the same
// time.
type busy struct {
	Sink
	failed bool
}

func (b *busy) Open(ctx context.Context, s sink.Scope) (sink.Position, sink.Known, error) {
	if !b.failed {
		b.failed = true
		return sink.Position{}, nil, errLost
	}
	return b.Sink.Open(ctx, s)
}
