package sink_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/sinktest"
	"github.com/listwatch/listwatch/sink/sqlite"
)

// play is a Runner over a file, in virtual time.
type play struct {
	*sinktest.World
	t      *testing.T
	db     *sqlite.Sink
	runner *sink.Runner
	stop   context.CancelFunc
	ended  chan error

	mu      sync.Mutex
	commits []sink.Committed
}

// perform runs f in a bubble, with a Runner that start starts.
func perform(t *testing.T, f func(t *testing.T, p *play)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, NoManagedFields: true, BookmarkInterval: 5 * time.Second})
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "cluster.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		f(t, &play{World: sinktest.NewWorld(srv), t: t, db: db})
	})
}

// start starts a Runner and waits until it is idle.
func (p *play) start(change func(*sink.Options)) {
	p.t.Helper()
	c, err := p.Client()
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(c.CloseIdleConnections)
	o := sink.Options{Client: c, Sink: p.db, Scope: sink.Scope{Cluster: "c", Resource: sinktest.Resource}, Logger: slog.New(slog.DiscardHandler)}
	o.Trace.Committed = func(c sink.Committed) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.commits = append(p.commits, c)
		if c.Position.Phase == sink.Live {
			p.Begin(c.Position.Revision)
		}
	}
	if change != nil {
		change(&o)
	}
	if p.runner, err = sink.NewRunner(o); err != nil {
		p.t.Fatal(err)
	}
	var ctx context.Context
	ctx, p.stop = context.WithCancel(p.t.Context())
	p.ended = make(chan error, 1)
	go func() { p.ended <- p.runner.Run(ctx) }()
	p.t.Cleanup(p.stop)
	synctest.Wait()
}

func (p *play) pass(d time.Duration) {
	time.Sleep(d) // virtual
	synctest.Wait()
}

// recorded reports whether records of an epoch were committed.
func (p *play) recorded(epoch int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.commits, func(c sink.Committed) bool { return c.Position.Epoch == epoch && c.Records > 0 })
}

// count returns the number of commits and records so far.
func (p *play) count() (commits, records int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.commits {
		records += c.Records
	}
	return len(p.commits), records
}

// equal requires that the sink holds the world, and that each record was sent once.
func (p *play) equal() {
	p.t.Helper()
	if err := p.Check(p.t.Context(), p.db, "c", false); err != nil {
		p.t.Error(err)
	}
	n := 0
	for _, err := range p.db.Records(p.t.Context(), "c", sinktest.Resource) {
		if err != nil {
			p.t.Fatal(err)
		}
		n++
	}
	if _, sent := p.count(); sent != n {
		p.t.Errorf("%d records were sent, and the history has %d", sent, n)
	}
}

func (p *play) reasons() (all []string) {
	p.t.Helper()
	gaps, err := p.db.Gaps(p.t.Context(), "c", sinktest.Resource)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, g := range gaps {
		all = append(all, g.Reason)
	}
	return all
}

func (p *play) gaps(want ...string) {
	p.t.Helper()
	if diff := cmp.Diff(want, p.reasons()); diff != "" {
		p.t.Errorf("gaps (-want +got):\n%s", diff)
	}
}

func (p *play) change(round string) {
	for i := range 5 {
		p.Put(fmt.Sprint("n-", i), "web", round)
	}
	p.Delete("n-2")
}

func TestRunnerCommitsWhatIsOldEnough(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.start(nil)
		before, _ := p.count()
		p.change("1")
		p.pass(499 * time.Millisecond)
		if n, _ := p.count(); n != before {
			t.Errorf("%d commits before FlushAfter", n-before)
		}
		p.pass(time.Millisecond)
		if n, _ := p.count(); n != before+1 {
			t.Errorf("%d commits after FlushAfter, want 1", n-before)
		}
		p.equal()
	})
}

func TestRunnerCommitsFullBatches(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.start(func(o *sink.Options) { o.BatchRecords = 2 })
		before, _ := p.count()
		p.change("1") // six changes
		synctest.Wait()
		if n, _ := p.count(); n != before+3 {
			t.Errorf("%d commits, want 3", n-before)
		}
		p.equal()
	})
}

func TestRunnerCommitsOnShutdown(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.start(nil)
		p.change("1")
		synctest.Wait()
		p.stop()
		if err := <-p.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		p.equal()
	})
}

// TestRunnerMovesThePositionWithBookmarks: the server sends one every 5 seconds.
func TestRunnerMovesThePositionWithBookmarks(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.start(nil)
		before, _ := p.count()
		for range 120 {
			p.Server.Tick()
			p.pass(5 * time.Second)
		}
		if n, _ := p.count(); n-before < 15 || n-before > 20 {
			t.Errorf("%d commits in 10 minutes without a change, want one in 30 s", n-before)
		}
	})
}

// TestPendingIsOfTheMonotonicClock, which a bubble does not have: otherwise a clock that is set
// back by an hour delays the commit of a batch that is not full by an hour.
func TestPendingIsOfTheMonotonicClock(t *testing.T) {
	w := sinktest.NewWorld(apitest.NewWith(t, apitest.Options{InMemory: true}))
	c, err := w.Client()
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "cluster.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	listed := make(chan struct{}, 10)
	r, err := sink.NewRunner(sink.Options{
		Client: c, Sink: db, Scope: sink.Scope{Cluster: "c", Resource: sinktest.Resource}, FlushAfter: time.Hour,
		Trace: sink.Trace{Committed: func(sink.Committed) { listed <- struct{}{} }},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	<-listed
	w.Put("a", "web", "1")
	for limit := time.Now().Add(time.Minute); r.Status().Pending.IsZero() && time.Now().Before(limit); {
		time.Sleep(time.Millisecond)
	}
	if got := r.Status().Pending; !strings.Contains(got.String(), " m=") {
		t.Errorf("pending since %s, want a time with a monotonic reading", got)
	}
	cancel()
	<-ended
}

// TestRunnerMovesThePositionAfterTheClockWasAhead, and has been set back.
func TestRunnerMovesThePositionAfterTheClockWasAhead(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.start(nil)
		p.stop()
		<-p.ended
		pos, _, err := p.db.Open(t.Context(), sink.Scope{Cluster: "c", Resource: sinktest.Resource})
		if err != nil {
			t.Fatal(err)
		}
		pos.Sequence++
		pos.Time = time.Now().Add(24 * time.Hour)
		if err := p.db.Commit(t.Context(), nil, pos); err != nil {
			t.Fatal(err)
		}
		p.start(nil)
		before, _ := p.count()
		for range 12 {
			p.Server.Tick()
			p.pass(5 * time.Second)
		}
		if n, _ := p.count(); n == before {
			t.Error("no commit in a minute without a change, want one in 30 s")
		}
	})
}

func TestRunnerPassesOverRepeatedEvents(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.Server.On(apitest.Match{Verb: "watch", AfterEvent: 2}, faults.Duplicate()).Times(1)
		p.start(nil)
		p.change("1")
		p.pass(time.Minute)
		p.equal()
		p.gaps()
	})
}

func TestRunnerListsAfterEventsOutOfOrder(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.Server.On(apitest.Match{Verb: "watch", AfterEvent: 2}, faults.Swap()).Times(1)
		p.start(nil)
		p.change("1")
		p.pass(time.Minute)
		p.equal()
		p.gaps(sink.CauseDisorder)
	})
}

func TestRunnerListsAfterAnEventOfNobody(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.Server.On(apitest.Match{Verb: "watch", AfterEvent: 2}, faults.ReplaceObject(`{"kind":"ConfigMap","metadata":{}}`)).Times(1)
		p.start(nil)
		p.change("1")
		p.pass(time.Minute)
		p.equal()
		p.gaps(sink.CauseUnreadable)
	})
}

// TestGapIsInTheCommitThatEndsTheList, also if it fills the batch: after a stop between the two
// another list would repeat it.
func TestGapIsInTheCommitThatEndsTheList(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.change("1")
		p.start(nil)
		p.stop()
		<-p.ended
		p.change("2")
		p.Expire()
		p.start(func(o *sink.Options) { o.BatchRecords = 1 })
		p.pass(time.Minute)
		p.equal()
		p.gaps(sink.CauseExpired)
		for _, c := range p.commits {
			if c.Gaps > 0 && c.Position.Phase != sink.Live {
				t.Errorf("a commit with a GAP at %+v", c.Position)
			}
		}
	})
}

// gate holds up commits.
type gate struct {
	sink.Sink
	open atomic.Pointer[chan struct{}]
}

func (g *gate) Commit(ctx context.Context, records []sink.Record, p sink.Position) error {
	if open := g.open.Load(); open != nil {
		<-*open
	}
	return g.Sink.Commit(ctx, records, p)
}

// TestDeletionsFromASelectionDiffer: an object leaves the selection, comes back and is deleted,
// before the Runner can ask what happened. No record replaces the last one.
func TestDeletionsFromASelectionDiffer(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.Put("x", "web", "1")
		g := &gate{Sink: p.db}
		p.start(func(o *sink.Options) { o.Scope.Labels, o.Sink = "app=web", g })
		closed := make(chan struct{})
		g.open.Store(&closed)
		p.Put("y", "web", "1")
		p.pass(time.Second)
		p.Put("x", "db", "2")
		p.Put("x", "web", "3")
		p.Delete("x")
		close(closed)
		p.pass(time.Minute)
		var types []sink.Type
		ids := map[string]bool{}
		for r, err := range p.db.Records(t.Context(), "c", sinktest.Resource) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Name == "x" {
				types, ids[r.ID] = append(types, r.Type), true
			}
		}
		if want := []sink.Type{sink.Added, sink.Deleted, sink.Added, sink.Deleted}; !slices.Equal(types, want) || len(ids) != len(types) {
			t.Errorf("records %v, %d ids, want %v", types, len(ids), want)
		}
	})
}

// TestRunnerListsAgainAfterAnInconsistentList: the second page is of a later snapshot, and
// an object of it was changed and deleted in between. The watch from the first snapshot
// brings both again.
func TestRunnerListsAgainAfterAnInconsistentList(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		for i := range 600 {
			p.Put(fmt.Sprintf("n-%03d", i), "web", "1")
		}
		p.start(nil)
		p.pass(time.Second)
		p.stop()
		<-p.ended
		p.Expire()
		p.Server.On(apitest.Match{Verb: "list", Query: "continue="}, func(w http.ResponseWriter, r *http.Request) {
			p.Put("n-550", "web", "2")
			p.Delete("n-550")
			p.Put("n-560", "web", "2")
			faults.ExpireContinue()(w, r)
		}).Times(1)
		p.start(nil)
		p.pass(time.Minute)
		p.equal()
		p.gaps(sink.CauseExpired)
	})
}

func TestRunnerEndsWithARequestThatIsWrong(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.start(func(o *sink.Options) { o.Scope.Fields = "spec.nothing=1" })
		if err := <-p.ended; !errors.Is(err, kube.ErrInvalid) {
			t.Errorf("Run returned %v, want ErrInvalid", err)
		}
	})
}

// TestRunnerTakesPossessionOnlyAsLeader: a commit that took too long has an unknown outcome,
// and a former leader must not open the scope to learn it.
func TestRunnerTakesPossessionOnlyAsLeader(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		leading := true
		p.start(func(o *sink.Options) { o.Leading = func() bool { return leading } })
		leading = false
		p.db.Close() // commits fail from now on
		p.change("1")
		p.pass(time.Minute)
		if err := <-p.ended; !errors.Is(err, sink.ErrFenced) {
			t.Errorf("Run returned %v, want ErrFenced", err)
		}
	})
}
