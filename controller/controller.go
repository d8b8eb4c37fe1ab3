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

// Func makes the world match what the object of a key says. ctx ends when the
// controller should stop, and at Options.Timeout.
type Func[K comparable] func(ctx context.Context, key K) (Result, error)

// Options are the settings of a Controller; the zero value is good.
type Options[K comparable] struct {
	// Workers is how many keys are worked on at the same time. Default 1.
	Workers int

	// Timeout ends the ctx of one run. Default none.
	Timeout time.Duration

	// MaxRetries is how many times in a row a key that fails is tried again; then
	// GaveUp is called, if set, and the key comes again only when something
	// changes. A run without an error, one that asks for another run too, begins
	// a new count. Default: for ever. Negative = never. A panic of GaveUp is logged,
	// and counted as one of the Func.
	MaxRetries int
	GaveUp     func(key K, err error)

	// Grace is how long runs may go on after the controller was told to stop,
	// before their own ctx ends. Default 0: it ends at once. Either way Run waits
	// for them.
	Grace time.Duration

	// AwaitTimeout is how long Await keeps a key back at most. Default 1 minute.
	AwaitTimeout time.Duration

	// Queue is about order and delays.
	Queue queue.Options[K, Cause]

	// Logger gets a warning for each run that failed, with its key, and a line when
	// the controller waits for a cache and when that is over. Default: that of the
	// Manager that runs the controller.
	Logger *slog.Logger

	// Trace, if set, is told what happens; see Observe for more than one.
	Trace Trace[K]
}

// Trace is called by the workers, at the same time.
type Trace[K comparable] struct {
	// Waiting is called when the controller cannot begin because of this input, after 10
	// seconds and again later, with the reason.
	Waiting func(input string, why error)

	// Ran: one run has ended.
	Ran func(Run[K])
}

// Run is one call of a Func: why, and what came of it.
type Run[K comparable] struct {
	queue.Item[K, Cause]           // the key, what caused the run, and how long it waited
	Attempt              int       // 0 for the first after a success
	Start                time.Time // of the call
	Duration             time.Duration
	Result               Result
	Err                  error // nil = success
}

// Controller calls a Func with keys from a queue. Wire it with For, Owns and Map,
// then Run it. Its methods may be called at the same time.
type Controller[K comparable] struct {
	name  string
	f     Func[K]
	o     Options[K]
	log   *slog.Logger
	queue *queue.Queue[K, Cause]

	mu       sync.Mutex
	inputs   []input // fixed once it runs
	why      error   // what it waits for; nil = it works, or has not begun
	state    phase
	awaiting map[K][]awaited
	failing  map[K]int  // failed runs in a row; 0 = not in it
	traces   []Trace[K] // fixed once it runs

	attached sync.Once
	detach   []func()                          // what removes the handlers
	current  []func(ctx context.Context) error // by input: waits until the cache is as new as the controller

	runs, failures, panics, gaveUp atomic.Uint64
}

// phase is how far a controller is.
type phase uint8

const (
	wired phase = iota
	syncing
	working
	ended
)

// input is a cache that must be filled before the first run.
type input struct {
	name     string
	wait     func(ctx context.Context) error
	upToDate func() (wait func(ctx context.Context) error) // as [cache.Informer.UpToDate]
	ready    func() error
	attach   func() (detach func()) // adds a handler, which is first called with what exists
}

// New returns a controller of the name, which logs and metrics show.
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
	c := &Controller[K]{name: name, f: f, o: o, log: o.Logger, queue: queue.New(o.Queue), awaiting: make(map[K][]awaited), failing: make(map[K]int), traces: []Trace[K]{o.Trace}}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.log = c.log.With("controller", name)
	return c
}

// Name returns the name.
func (c *Controller[K]) Name() string { return c.name }

// Queue returns the queue, to add keys for reasons of one's own: they wait there
// until the controller runs.
func (c *Controller[K]) Queue() *queue.Queue[K, Cause] { return c.queue }

// SetLogger sets the logger of a controller that has none by its Options. It is for
// whoever runs controllers, as a Manager does, and is called before Run.
func (c *Controller[K]) SetLogger(l *slog.Logger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.o.Logger == nil && c.state == wired {
		c.log = l.With("controller", c.name)
	}
}

// Observe adds a trace besides that of the Options. Before Run.
func (c *Controller[K]) Observe(t Trace[K]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != wired {
		panic("controller " + c.name + ": observe it before Run")
	}
	c.traces = append(c.traces, t)
}

// Run adds a handler to each input, waits until the caches are filled and show every
// write from before Run, as [cache.Informer.UpToDate] says, then works until ctx ends, removes the handlers, and returns when no worker runs any more:
// nil if ctx ended, an error if a cache has ended or was never run, or if the
// controller runs already or has run. It may be called once.
//
// A controller that does not run yet, such as that of a replica that does not lead,
// gets nothing from its inputs. At first it gets each object that exists once. Of an
// object that was deleted before that it gets nothing: cleaning up after objects
// takes a finalizer, or objects that name their owner. The same holds for keys that
// were not done when the controller stopped: the next one begins with all objects,
// and keys that were added to [Controller.Queue] are lost with it.
func (c *Controller[K]) Run(ctx context.Context) error {
	if err := c.run(ctx); err != nil {
		return fmt.Errorf("controller %s: %w", c.name, err)
	}
	return nil
}

// run is Run; its errors do not name the controller.
func (c *Controller[K]) run(ctx context.Context) error {
	if !c.advance(wired, syncing) {
		return errors.New("Run was called before")
	}
	defer c.finish()
	c.Attach()
	if err := c.waitForInputs(ctx); err != nil {
		if ctx.Err() != nil && !errors.Is(err, errForgotten) {
			return nil
		}
		return err
	}
	c.advance(syncing, working)

	// The ctx of the runs outlives ctx by Grace.
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
	for _, remove := range c.detach {
		remove()
	}
	c.queue.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state, c.why = ended, nil
}

// Stats is how a controller is.
type Stats struct {
	Queue    queue.Stats
	Workers  int
	Runs     uint64 // ended ones
	Failures uint64 // among them, with an error, panics too
	Panics   uint64
	GaveUp   uint64 // after Permanent, or MaxRetries
}

// Stats returns how the controller is.
func (c *Controller[K]) Stats() Stats {
	return Stats{
		Queue: c.queue.Stats(), Workers: c.o.Workers, Runs: c.runs.Load(), Failures: c.failures.Load(),
		Panics: c.panics.Load(), GaveUp: c.gaveUp.Load(),
	}
}
