package hook

import (
	"context"
	"errors"
	"math/rand/v2"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Pool runs commands for events. Its methods but Run may be called by any
// goroutine; events must be added by one.
type Pool struct {
	opts    Options
	run     func(context.Context, []Event) error
	limiter *rate.Limiter

	orphans *orphans

	adds    chan Event
	passes  chan int64
	closed  chan struct{}
	stopped chan struct{}
	done    atomic.Int64
	late    atomic.Int64 // events that came after a stop

	counts struct{ well, bad, gaveUp, running, open atomic.Int64 } // see Counts

	mu      sync.Mutex
	over    bool                 // nothing is started any more
	started map[*exec.Cmd]func() // what kills those that run
}

// Why runs are ended from here.
var (
	errTimeout = errors.New("took too long")
	errStopped = errors.New("the program stops")
	errNow     = errors.New("the program stops at once")
)

// New returns a pool of o. Nothing happens before Run.
func New(o Options) *Pool {
	o = o.withDefaults()
	p := &Pool{opts: o, limiter: rate.NewLimiter(o.Rate, o.Burst), orphans: newOrphans(),
		adds: make(chan Event), passes: make(chan int64), closed: make(chan struct{}), stopped: make(chan struct{}),
		started: map[*exec.Cmd]func(){}}
	p.run = p.command
	if o.Webhook != nil {
		p.run = p.post
	}
	return p
}

// Add hands over an event. It waits while more than Options.Backlog events are
// there besides one for each object, or with Options.Every that many in all, or while
// more than Options.Held bytes are of states that no object has any more: who adds
// should not read on meanwhile. After a stop it does nothing.
func (p *Pool) Add(e Event) {
	select {
	case p.adds <- e:
	case <-p.stopped:
		p.late.Add(1)
	}
}

// Pass says that there is nothing to run for number seq.
func (p *Pool) Pass(seq int64) {
	select {
	case p.passes <- seq:
	case <-p.stopped:
	}
}

// Close says that no event is added any more: Run ends when all are finished.
func (p *Pool) Close() { close(p.closed) }

// Stopped is closed when the pool takes no more events: Run's context has ended, or
// too many have failed.
func (p *Pool) Stopped() <-chan struct{} { return p.stopped }

// Done returns the largest number up to which every added event is finished: its run,
// or that of a later event in its place, has ended well or was given up. A checkpoint
// that must not be ahead of the hooks asks it. Events that were dropped are never
// finished.
func (p *Pool) Done() int64 { return p.done.Load() }

// Counts are what a Pool has done so far.
type Counts struct {
	Succeeded, Failed int64 // runs
	GivenUp           int64 // runs that failed and are not tried again
	Running           int64 // now
	Unfinished        int64 // events now: running, waiting or to be tried again
}

// Counts may be asked for at any time.
func (p *Pool) Counts() Counts {
	return Counts{p.counts.well.Load(), p.counts.bad.Load(), p.counts.gaveUp.Load(), p.counts.running.Load(), p.counts.open.Load()}
}

// loop is the state of Run.
type loop struct {
	*Pool
	*queue
	Summary
	results  chan result
	running  int
	first    time.Time // batches: since when something waits
	last     int64     // number
	closing  bool
	stopping bool
	graceEnd time.Time
	runs     context.Context
	kill     context.CancelCauseFunc
	err      error
}

type result struct {
	job *job
	err error
}

// Run runs commands until Close was called and all events are finished. When ctx
// ends it drops what waits, gives what runs Options.Grace to end, and ends it. When
// hard ends, what runs is killed at once. It returns ErrFailures if that is why it
// ended, and nil otherwise.
func (p *Pool) Run(ctx, hard context.Context) (Summary, error) {
	l := &loop{Pool: p, queue: newQueue(p.opts.Every, p.opts.Batch > 0), results: make(chan result)}
	l.runs, l.kill = context.WithCancelCause(context.Background())
	defer l.kill(nil)
	timer := time.NewTimer(0)
	defer timer.Stop()
	var reap <-chan time.Time
	if p.orphans.on {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		reap = tick.C
	}
	stop, now, closed := ctx.Done(), hard.Done(), p.closed
	for {
		next := l.dispatch(time.Now())
		l.tally()
		if l.running == 0 && (l.stopping || l.closing && len(l.open) == 0) {
			break
		}
		adds := p.adds
		if l.stopping || l.full() {
			adds = nil
		}
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
		select {
		case e := <-adds:
			l.accept(e)
		case l.last = <-p.passes:
			l.mark()
		case r := <-l.results:
			l.end(r)
		case <-reap:
			p.orphans.reap()
		case <-closed:
			closed, l.closing = nil, true
		case <-stop:
			stop = nil
			l.halt(nil)
		case <-now:
			now = nil
			l.halt(nil)
			l.kill(errNow)
		case <-timer.C:
		}
	}
	l.Dropped += int(p.late.Load())
	return l.Summary, l.err
}

// full says that no event is taken for now.
func (l *loop) full() bool { return l.surplus() >= l.opts.Backlog || l.held >= l.opts.Held }

func (l *loop) accept(e Event) {
	if l.count == 0 {
		l.first = time.Now()
	}
	l.last = e.Seq
	l.add(e)
	l.mark()
}

// mark stores up to which event all are finished.
func (l *loop) mark() {
	if len(l.open) > 0 {
		l.done.Store(l.open[0].first - 1)
		return
	}
	l.done.Store(l.last)
}

// dispatch starts what may run, and returns when it must be asked again though
// nothing happens; zero = never.
func (l *loop) dispatch(now time.Time) (next time.Time) {
	if l.stopping {
		if l.graceEnd.After(now) {
			return l.graceEnd
		}
		l.kill(errStopped)
		return next
	}
	for l.running < l.opts.Concurrency {
		j, wait := l.due(now)
		if j == nil && l.batch && !wait.IsZero() {
			return wait // batches are serial, also when they fail
		}
		next = wait
		if j == nil {
			if len(l.ready) == 0 {
				return next
			}
			if l.batch && l.count < l.opts.Batch && !l.closing && !l.full() {
				if end := l.first.Add(l.opts.Window); end.After(now) {
					return end
				}
			}
		}
		if free := l.limiter.ReserveN(now, 1); free.DelayFrom(now) > 0 {
			at := now.Add(free.DelayFrom(now))
			free.CancelAt(now)
			if j != nil {
				j.due = at
				l.rest(j, at)
			}
			if next.IsZero() || at.Before(next) {
				next = at
			}
			return next
		}
		if j == nil {
			j = l.take(max(1, l.opts.Batch))
			l.first = now
		}
		if j == nil {
			return next
		}
		l.start(j)
	}
	return next
}

// tally shows how things are to Counts.
func (l *loop) tally() {
	l.counts.running.Store(int64(l.running))
	l.counts.open.Store(int64(len(l.open)))
	l.counts.well.Store(int64(l.Runs))
	l.counts.gaveUp.Store(int64(l.Failed))
}

func (l *loop) start(j *job) {
	l.running++
	l.tally() // before it can be observed
	events := make([]Event, len(j.entries))
	for i, e := range j.entries {
		events[i] = e.Event
	}
	go func() { l.results <- result{j, l.run(l.runs, events)} }()
}

// permanent is an error that no retry mends.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// end takes in the end of a run.
func (l *loop) end(r result) {
	l.running--
	j := r.job
	if r.err != nil {
		l.counts.bad.Add(1)
	}
	var never permanent
	switch {
	case r.err == nil:
		l.Runs++
	case errors.Is(r.err, errStopped), errors.Is(r.err, errNow):
		l.Killed++
		return // not finished
	case l.stopping:
		l.opts.Failed(j.newest(), r.err, j.runs+1, 0)
		l.Failed++
		return
	case j.runs < l.opts.Retries && !errors.As(r.err, &never):
		j.runs++
		again := l.backoff(j.runs)
		l.opts.Failed(j.newest(), r.err, j.runs, again)
		l.rest(j, time.Now().Add(again))
		return
	default:
		l.opts.Failed(j.newest(), r.err, j.runs+1, 0)
		if l.Failed++; l.Failed == l.opts.Errors {
			l.halt(ErrFailures)
			return // the next program begins with it
		}
	}
	l.finish(j)
	l.mark()
}

// backoff is how long to wait after n failures: twice as long each time, and up to
// half of it less at random.
func (l *loop) backoff(n int) time.Duration {
	d := l.opts.Backoff
	for ; n > 1 && d < l.opts.BackoffMax; n-- {
		d *= 2
	}
	d = min(d, l.opts.BackoffMax)
	return d - rand.N(d/2+1)
}

// halt begins the end.
func (l *loop) halt(err error) {
	if l.stopping {
		return
	}
	l.stopping, l.err = true, err
	l.graceEnd = time.Now().Add(l.opts.Grace)
	l.Dropped = l.drop()
	l.opts.Stopping(l.Dropped, l.running)
	close(l.stopped)
}
