package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/queue"
)

// Func brings the actual state in line with the object of a key. ctx ends when the controller
// should stop, and after Options.Timeout. A key whose run fails is retried after a delay that
// grows. If the error wraps a *kube.Status with RetryAfter, the delay is at least that time, but a
// time above 2 minutes counts as 2 minutes. The key runs earlier, without any delay, if something
// changes.
type Func[K comparable] func(ctx context.Context, key K) (Result, error)

// Options are the settings of a Controller. The zero value is recommended.
type Options[K comparable] struct {
	// Workers is the number of keys that are processed concurrently. Default 1.
	Workers int

	// Timeout limits the ctx of one run. Default: no limit.
	Timeout time.Duration

	// MaxRetries is how many times in a row a failing key is retried; then GaveUp is called,
	// if set, and the key runs again only when something changes. A run without an error
	// resets the count, even if it requests another run. Default: no limit. Negative = no
	// retries. A run that ends because the controller stops does not count as failed if it
	// returns only the error or the cause of its ctx. A panic of GaveUp is logged and
	// counted like a panic of the Func.
	MaxRetries int
	GaveUp     func(key K, err error)

	// Grace is how long runs may continue after the controller was stopped, before their own
	// ctx ends. Default 0: their ctx ends at once. [Controller.Run] always waits for them.
	Grace time.Duration

	// AwaitTimeout limits how long Await holds a key back. Default 1 minute.
	AwaitTimeout time.Duration

	// Queue sets priorities and delays.
	Queue queue.Options[K, Cause]

	// Logger gets a warning for each run that failed, with its key, and a line when the
	// controller has waited for a cache for 10 seconds and when the cache is filled. The
	// first five conflicts in a row are logged at level Debug, because they are usual.
	// Default: the logger of the Manager that runs the controller.
	Logger *slog.Logger

	// Trace has hooks; Observe adds further ones.
	Trace Trace[K]
}

// Trace is a set of hooks, each of which may be nil. Workers call them concurrently. A
// panic of a hook is logged and counted like a panic of the Func.
type Trace[K comparable] struct {
	// Waiting is called with the reason when the controller has waited for an input for
	// 10 seconds, and again while it waits longer.
	Waiting func(input string, why error)

	// Ran is called when a run has ended.
	Ran func(Run[K])
}

// Run is one call of a Func, with its cause and result.
type Run[K comparable] struct {
	queue.Item[K, Cause]           // the key, its cause, and how long it waited
	Attempt              int       // consecutive failed runs of the key before this one
	Start                time.Time // of the call
	Duration             time.Duration
	Result               Result
	Err                  error // nil = success
	Stopped              bool  // Err says only that the controller stops: the run has not failed
}

// Controller calls a Func with keys from a queue. Wire it with For, Owns and Map, and
// call Run. It is safe for concurrent use.
type Controller[K comparable] struct {
	name  string
	f     Func[K]
	o     Options[K]
	log   *slog.Logger
	queue *queue.Queue[K, Cause]

	mu       sync.Mutex
	inputs   []*input
	late     []*late // to be followed
	why      error   // what it waits for; nil = nothing
	state    phase
	awaiting map[K][]awaited
	failing  map[K]int  // consecutive failed runs; missing = 0
	traces   []Trace[K] // fixed when it runs

	wake chan struct{} // of size 1: late was added to

	runs, failures, panics, gaveUp atomic.Uint64
	active                         atomic.Int64
}

// phase is the progress of a controller.
type phase uint8

const (
	wired phase = iota
	syncing
	working
	ended
)

// New returns a controller with a name for logs and metrics.
func New[K comparable](name string, f Func[K], o Options[K]) *Controller[K] {
	if f == nil {
		panic("controller " + name + ": the function is nil")
	}
	if o.Workers <= 0 {
		o.Workers = 1
	}
	if o.AwaitTimeout <= 0 {
		o.AwaitTimeout = time.Minute
	}
	c := &Controller[K]{name: name, f: f, o: o, log: o.Logger, queue: queue.New(o.Queue), awaiting: make(map[K][]awaited), failing: make(map[K]int), wake: make(chan struct{}, 1), traces: []Trace[K]{o.Trace}}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.log = c.log.With("controller", name)
	return c
}

// Name returns the name.
func (c *Controller[K]) Name() string { return c.name }

// Queue returns the queue, to add keys for other reasons: they wait until the controller
// runs.
func (c *Controller[K]) Queue() *queue.Queue[K, Cause] { return c.queue }

// SetLogger sets the logger of a controller without Options.Logger. A Manager calls it
// before Run.
func (c *Controller[K]) SetLogger(l *slog.Logger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.o.Logger == nil && c.state == wired {
		c.log = l.With("controller", c.name)
	}
}

// Observe adds a trace to Options.Trace. It must be called before Run.
func (c *Controller[K]) Observe(t Trace[K]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != wired {
		panic("controller " + c.name + ": observe it before Run")
	}
	c.traces = append(c.traces, t)
}

// Run adds a handler to each input, waits until the caches are filled and show every
// write from before Run, see [cache.Informer.UpToDate], then works until ctx ends. It
// returns when all workers have ended and the handlers are removed: nil if ctx ended, and
// an error if a cache has ended or was never run. It can be called once.
//
// Before Run, for instance in a replica that does not lead, the controller gets nothing from its
// inputs, unless [Controller.Attach] was called. When Run begins, it gets each existing object
// once, and nothing for objects that were deleted before the handlers were added: to clean up
// after deleted objects, use finalizers or owner references. Keys that a stopped controller had
// not processed are lost: the next controller begins with all objects that exist, but without keys
// that were added to [Controller.Queue].
func (c *Controller[K]) Run(ctx context.Context) error {
	if err := c.run(ctx); err != nil {
		return fmt.Errorf("controller %s: %w", c.name, err)
	}
	return nil
}

// run does the work of Run; its errors do not name the controller.
func (c *Controller[K]) run(ctx context.Context) error {
	if !c.advance(wired, syncing) {
		return errors.New("Run was called before")
	}
	defer c.finish()
	c.Attach()
	c.mark()
	following, stopFollowing := context.WithCancel(ctx)
	var followers sync.WaitGroup
	defer func() {
		stopFollowing()
		followers.Wait()
	}()
	followers.Go(func() { c.followLate(following, &followers) })
	if err := c.waitForInputs(ctx); err != nil {
		if ctx.Err() != nil && !errors.Is(err, errForgotten) {
			return nil
		}
		return err
	}
	c.advance(syncing, working)

	// The ctx of the runs ends up to Grace after ctx.
	runs, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	var workers, waits sync.WaitGroup
	for range c.o.Workers {
		workers.Go(func() { c.worker(ctx, runs, &workers, &waits) })
	}
	<-ctx.Done()
	if c.o.Grace > 0 {
		grace := time.AfterFunc(c.o.Grace, func() { stop(context.Cause(ctx)) })
		defer grace.Stop()
	} else {
		stop(context.Cause(ctx))
	}
	workers.Wait()
	stop(context.Cause(ctx))
	waits.Wait()
	return nil
}

func (c *Controller[K]) advance(from, to phase) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != from {
		return false
	}
	c.state = to
	return true
}

func (c *Controller[K]) finish() {
	c.mu.Lock()
	inputs := c.inputs
	c.state, c.why, c.late = ended, nil, nil
	c.mu.Unlock()
	for _, in := range inputs {
		c.detach(in)
	}
	c.queue.Close()
}

// Stats is the state of a controller.
type Stats struct {
	Queue    queue.Stats
	Workers  int
	Active   int    // workers that have a key; Queue.Running has also the keys that wait for a cache
	Runs     uint64 // completed runs
	Failures uint64 // those with an error or a panic
	Panics   uint64
	GaveUp   uint64 // keys given up, after Permanent or MaxRetries
}

// Stats returns the state of the controller.
func (c *Controller[K]) Stats() Stats {
	return Stats{
		Queue: c.queue.Stats(), Workers: c.o.Workers, Active: int(c.active.Load()), Runs: c.runs.Load(), Failures: c.failures.Load(),
		Panics: c.panics.Load(), GaveUp: c.gaveUp.Load(),
	}
}
