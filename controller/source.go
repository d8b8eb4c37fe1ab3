package controller

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/queue"
)

// Source is the connection of an [Input] to a controller. For, Owns and Map return it. It yields no
// events, unlike a cache.Source.
//
// An input that is added while the controller runs is used when its cache is filled and up
// to date. Until then the controller works on the keys of its other inputs, and afterwards
// it gets each object of the new one once. If the cache cannot be filled, the other inputs
// continue; if the cache has ended, the controller logs an error and leaves the input out.
// An input that is added after the controller has ended is not used.
type Source struct{ remove func() }

// Remove removes the input: it adds no more keys, except those of a predicate or function of Map
// that is running now. Keys that it has added stay in the queue. The cache is not stopped. Remove
// may be called at any time, and more than once.
func (s *Source) Remove() { s.remove() }

// input is a cache that adds keys.
type input struct {
	name     string
	wait     func(ctx context.Context) error
	upToDate func() (wait func(ctx context.Context) error) // [cache.Informer.UpToDate]
	synced   func() bool
	ready    func() error
	attach   func() (detach func()) // adds a handler, which is first called with the existing objects
	late     bool                   // nothing waits for it

	attached sync.Once
	removed  chan struct{} // closed when it is removed

	// Guarded by Controller.mu.
	current func(ctx context.Context) error // waits until the cache shows all writes from before Run, or Attach; nil = not attached
	detach  func()                          // nil = not attached
}

func (in *input) isRemoved() bool {
	select {
	case <-in.removed:
		return true
	default:
		return false
	}
}

// late is inputs that are used together when all of them are filled, while the controller
// works on others.
type late struct {
	inputs  []*input
	removed chan struct{}
}

// newInput returns an input that adds the keys of the changes of in.
func newInput[K comparable, T kube.Object](c *Controller[K], in Input[T], only []func(cache.Delta[T]) bool, keys func(cache.Delta[T], func(K))) *input {
	if in == nil {
		panic("controller " + c.name + ": the input is nil")
	}
	made := &input{name: in.Name(), wait: in.WaitSynced, removed: make(chan struct{})}
	made.ready = func() error { return nil }
	if r, ok := in.(interface{ Ready() error }); ok {
		made.ready = r.Ready
	}
	made.upToDate = func() func(context.Context) error { return in.WaitSynced }
	if u, ok := in.(interface {
		UpToDate() func(context.Context) error
	}); ok {
		made.upToDate = u.UpToDate
	}
	made.synced = func() bool {
		i, ok := in.(interface{ Status() cache.Status })
		return ok && i.Status().Synced
	}
	made.attach = func() (detach func()) {
		return in.Handle(func(d cache.Delta[T]) {
			if made.isRemoved() { // while Handle waited for the cache
				return
			}
			for _, pass := range only {
				if !pass(d) {
					return
				}
			}
			add := queue.Add[Cause]{Cause: Cause{Input: made.name, Type: d.Type, Object: d.Key, Revision: d.Revision}}
			if d.Initial || d.Resync {
				add.Priority = LowPriority
			}
			keys(d, func(k K) { c.queue.AddWith(k, add) })
		}).Remove
	}
	return made
}

// wire adds an input, for which Run waits if it has not begun.
func wire[K comparable, T kube.Object](c *Controller[K], in Input[T], only []func(cache.Delta[T]) bool, keys func(cache.Delta[T], func(K))) *Source {
	made := newInput(c, in, only, keys)
	c.mu.Lock()
	early := c.state == wired
	if early {
		c.inputs = append(slices.Clip(c.inputs), made)
	}
	c.mu.Unlock()
	if !early {
		return c.addLate(made)
	}
	return &Source{sync.OnceFunc(func() {
		close(made.removed)
		c.mu.Lock()
		c.inputs = slices.DeleteFunc(slices.Clone(c.inputs), func(o *input) bool { return o == made })
		c.mu.Unlock()
		c.detach(made)
	})}
}

// addLate adds inputs for which nothing waits.
func (c *Controller[K]) addLate(inputs ...*input) *Source {
	l := &late{inputs: inputs, removed: make(chan struct{})}
	for _, in := range inputs {
		in.late = true
	}
	c.mu.Lock()
	if c.state != ended {
		c.late = append(c.late, l)
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return &Source{sync.OnceFunc(func() {
		close(l.removed)
		c.mu.Lock()
		c.late = slices.DeleteFunc(c.late, func(o *late) bool { return o == l })
		c.mu.Unlock()
		for _, in := range inputs {
			close(in.removed)
			c.detach(in)
		}
	})}
}

// followLate follows the inputs of addLate until ctx ends.
func (c *Controller[K]) followLate(ctx context.Context, followers *sync.WaitGroup) {
	for {
		c.mu.Lock()
		added := c.late
		c.late = nil
		c.mu.Unlock()
		for _, l := range added {
			followers.Go(func() { c.follow(ctx, l) })
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			return
		}
	}
}

// follow uses inputs from when they are filled until ctx ends or they are removed.
func (c *Controller[K]) follow(ctx context.Context, l *late) {
	ctx, stop := wait.Until(ctx, l.removed, errRemoved)
	defer stop()
	for _, in := range l.inputs {
		current := in.upToDate()
		c.mu.Lock()
		in.current = current
		c.mu.Unlock()
	}
	for _, in := range l.inputs {
		if err := c.waitForInput(ctx, in); err != nil {
			if ctx.Err() == nil {
				c.log.Error("an input that was added later is left out", "input", in.name, "err", err)
			}
			return
		}
	}
	for _, in := range l.inputs {
		c.attach(in)
	}
	<-ctx.Done()
	for _, in := range l.inputs {
		c.detach(in)
	}
}

// wiredInputs returns the inputs for which Run waits.
func (c *Controller[K]) wiredInputs() []*input {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inputs
}

// Attach adds the handlers of the inputs now; without Attach, Run adds them. A Manager without an
// Elector calls it before it starts the informers, so that the controller gets the deletions that
// an informer finds when it starts from a snapshot. Further calls do nothing.
func (c *Controller[K]) Attach() {
	for _, in := range c.wiredInputs() {
		c.attach(in)
	}
}

// attach adds the handler of an input, once, unless the input was removed.
func (c *Controller[K]) attach(in *input) {
	in.attached.Do(func() {
		if !in.late {
			current := in.upToDate() // before the handler is called
			c.mu.Lock()
			in.current = current
			c.mu.Unlock()
		}
		detach := in.attach()
		c.mu.Lock()
		in.detach = detach
		c.mu.Unlock()
		if in.isRemoved() {
			detach()
		}
	})
}

// detach removes the handler of an input, if there is one.
func (c *Controller[K]) detach(in *input) {
	c.mu.Lock()
	detach := in.detach
	c.mu.Unlock()
	if detach != nil {
		detach()
	}
}

// mark marks the beginning of Run. Where Attach was called long before, its marks are old;
// those of caches that are not filled yet are kept, so that one list does for both.
func (c *Controller[K]) mark() {
	for _, in := range c.wiredInputs() {
		if in.synced() {
			current := in.upToDate()
			c.mu.Lock()
			in.current = current
			c.mu.Unlock()
		}
	}
}

var errRemoved = errors.New("the input was removed")
