package sinktest

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// story is a world, a storage, and the processes that move the one into the other.
type story struct {
	*World
	t      *testing.T
	store  Store
	shared Sink // of all processes; nil = each has a connection of its own

	patience time.Duration // in virtual time, where faults last
	all      []*process
}

func newStory(t *testing.T, store Store) *story {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true, NoManagedFields: true})
	return &story{World: NewWorld(srv), t: t, store: store}
}

// process is a Runner with a connection of its own.
type process struct {
	*story
	sink  Sink
	run   *sink.Runner
	dead  atomic.Bool // commits do not get out
	stop  context.CancelFunc
	ended chan struct{}
	err   error // once ended is closed

	mu      sync.Mutex
	moved   chan struct{} // closed at the next commit
	pos     sink.Position
	retries []error
	skipped []kube.Key
	records int
}

// start starts a process. change, if not nil, changes its options.
func (s *story) start(change func(*sink.Options)) *process {
	s.t.Helper()
	p := &process{story: s, sink: s.connect(), ended: make(chan struct{}), moved: make(chan struct{})}
	c, err := s.Client()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.CloseIdleConnections)
	o := sink.Options{
		Client: c, Sink: p.sink, Scope: configMaps(),
		FlushAfter: time.Millisecond, BookmarkEvery: time.Nanosecond,
		Logger: slog.New(slog.DiscardHandler),
		Trace: sink.Trace{
			Opened:    func(pos sink.Position) { p.move(pos, 0) },
			Committed: func(c sink.Committed) { p.move(c.Position, c.Records) },
			Retrying:  func(err error, _ time.Duration) { p.mu.Lock(); defer p.mu.Unlock(); p.retries = append(p.retries, err) },
			Skipped:   func(k kube.Key, _ error) { p.mu.Lock(); defer p.mu.Unlock(); p.skipped = append(p.skipped, k) },
		},
	}
	if change != nil {
		change(&o)
	}
	o.Sink = &faulty{Sink: o.Sink.(Sink), before: func(int) error {
		if p.dead.Load() {
			return errLost
		}
		return nil
	}}
	r, err := sink.NewRunner(o)
	if err != nil {
		s.t.Fatal(err)
	}
	p.run = r
	s.all = append(s.all, p)
	ctx, stop := context.WithCancel(s.t.Context())
	p.stop = stop
	go func() {
		defer close(p.ended)
		p.err = r.Run(ctx)
	}()
	s.t.Cleanup(p.end)
	return p
}

func (p *process) move(pos sink.Position, records int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.records += records
	if p.pos = pos; pos.Phase == sink.Live {
		p.Begin(pos.Revision)
	}
	close(p.moved)
	p.moved = make(chan struct{})
}

// end stops the process as a signal does.
func (p *process) end() {
	p.stop()
	<-p.ended
}

// kill ends the process without a last commit.
func (p *process) kill() {
	p.dead.Store(true)
	p.end()
}

// patience bounds each wait for something that must happen, unless the story has another. A
// commit that the system holds for CommitTimeout, and the opening after it, fit in twice.
const patience = 3 * time.Minute

// until waits for a position.
func (p *process) until(what string, reached func(sink.Position) bool) {
	p.t.Helper()
	if !p.attempt(reached) {
		p.t.Fatalf("%s: the process has ended at %+v: %v", what, p.pos, p.err)
	}
}

// attempt waits for a position, and returns false if the process ends before.
func (p *process) attempt(reached func(sink.Position) bool) bool {
	p.t.Helper()
	wait := max(patience, p.patience)
	limit := time.After(wait)
	for {
		p.mu.Lock()
		pos, moved := p.pos, p.moved
		p.mu.Unlock()
		if reached(pos) {
			return true
		}
		select {
		case <-moved:
		case <-p.ended:
			return false
		case <-limit:
			p.mu.Lock()
			defer p.mu.Unlock()
			p.t.Fatalf("still at %+v after %s; retries: %v", pos, wait, p.retries)
		}
	}
}

// live waits until the sink holds all that the server has.
func (p *process) live() {
	p.t.Helper()
	want := p.Server.Revision()
	p.until("live", func(pos sink.Position) bool {
		if pos.Phase == sink.Live && want.Newer(pos.Revision) {
			p.Server.Bookmark()
		}
		return pos.Phase == sink.Live && !want.Newer(pos.Revision)
	})
}

// equal requires that the sink holds the whole world.
func (s *story) equal() {
	s.t.Helper()
	if err := s.Check(s.t.Context(), s.store.read(s.t), cluster, s.store.Duplicates); err != nil {
		s.t.Error(err)
	}
}

// sentOnce requires that each record was sent to the sink once: that a sink passes over an
// id which it has does not hide that it came again. It is for stories in which each commit
// either fails before it is sent or is known to be done.
func (s *story) sentOnce() {
	s.t.Helper()
	sent := 0
	for _, p := range s.all {
		p.mu.Lock()
		sent += p.records
		p.mu.Unlock()
	}
	if n := len(s.history()); n != sent {
		s.t.Errorf("%d records were sent, and the history has %d", sent, n)
	}
}

// history returns what the sink holds, without what must not be in any.
func (s *story) history() []sink.Record {
	s.t.Helper()
	return records(s.t, s.store.read(s.t), cluster, Resource)
}

// faulty is a connection that loses commits and answers, as networks do.
type faulty struct {
	Sink
	before func(n int) error // is called before the nth commit; an error is returned instead of it
	after  func(n int) error // is called after the nth commit that succeeded; an error is returned for it

	mu sync.Mutex
	n  int
}

var errLost = errors.New("the connection was lost")

// Commit counts, and does what before and after say.
func (f *faulty) Commit(ctx context.Context, records []sink.Record, p sink.Position) error {
	f.mu.Lock()
	f.n++
	n := f.n
	f.mu.Unlock()
	if f.before != nil {
		if err := f.before(n); err != nil {
			return err
		}
	}
	if err := f.Sink.Commit(ctx, records, p); err != nil {
		return err
	}
	if f.after != nil {
		return f.after(n)
	}
	return nil
}
