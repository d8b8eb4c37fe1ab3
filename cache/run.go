package cache

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/listwatch/listwatch/codec"
)

// ErrRunning is returned by Run of an informer that was started before.
var ErrRunning = errors.New("the informer was started before")

// errUnwound is the error of Run when a handler did not return.
var errUnwound = errors.New("a handler panicked or called runtime.Goexit: the event that it was called with counts as not delivered")

// Run watches until ctx is done or a source ends, and returns the reason after all its
// goroutines have ended. It can be called once.
//
// When ctx is done, each source ends. The store then has all its events up to the last applied one,
// without a gap, and all handlers have handled them.
//
// Handlers are called in the goroutine of Run, or, with several sources, in those of
// the sources, one at a time. A slow handler delays the reading from the server: a slow consumer
// should use [Informer.Changes].
//
// A panic of a handler passes through the Run or Handle in whose goroutine it occurs; otherwise it
// ends the program. A handler that calls runtime.Goexit ends the informer. After a panic or Goexit
// the last snapshot does not hold the event.
func (i *Informer[T]) Run(ctx context.Context) error {
	i.mu.Lock()
	if !i.started.IsZero() || i.ended != nil {
		i.mu.Unlock()
		return ErrRunning
	}
	i.started = time.Now()
	i.mu.Unlock()

	err := errUnwound // unless run returns
	observed, stop := context.WithCancel(ctx)
	var observer sync.WaitGroup
	if log := i.logger(); log != nil && i.maxStaleness > 0 {
		observer.Go(func() { i.observe(observed, log) })
	}
	defer func() {
		stop()
		observer.Wait()
		i.end(ctx, err)
	}()
	defer i.detectMutations()()
	err = i.run(ctx)
	return err
}

// end stores and logs the error of Run.
func (i *Informer[T]) end(ctx context.Context, err error) {
	i.mu.Lock()
	i.ended = err
	i.mu.Unlock()
	i.progress()
	if log := i.logger(); log != nil && ctx.Err() == nil {
		log.Error("the informer ended; its objects are no longer updated", "informer", i.name, "err", err)
	}
}

// abandon ends an informer that was not started and will not be.
func (i *Informer[T]) abandon(err error) {
	i.mu.Lock()
	if i.started.IsZero() && i.ended == nil {
		i.ended = err
	}
	i.mu.Unlock()
	i.progress()
}

// run does the work of Run, without logging and status.
func (i *Informer[T]) run(ctx context.Context) error {
	if i.account != nil {
		defer i.account.close()
	}
	if i.restorer != nil {
		release, err := i.open()
		if err != nil {
			return err
		}
		defer release()
		defer i.restorer.journal.End()
		if err := i.load(); err != nil {
			return err
		}
	}

	ctx, cancel := context.WithCancelCause(ctx)
	var others sync.WaitGroup
	stop := func(why error) {
		cancel(why)
		others.Wait()
	}
	defer stop(errUnwound)
	start := func(f func() error) {
		others.Go(func() {
			why := errUnwound
			defer func() { cancel(why) }()
			why = f()
		})
	}
	if i.restorer != nil {
		start(func() error { return i.saveEvery(ctx) })
	}
	start(func() error { return i.resync(ctx) })
	for n, src := range i.sources[1:] {
		start(func() error { return i.follow(ctx, n+1, src) })
	}
	stop(i.follow(ctx, 0, i.sources[0]))
	if i.restorer != nil {
		i.save()
	}
	return context.Cause(ctx)
}

// follow applies the events of a source and returns why the source ended. It returns at
// the first event that was not applied.
func (i *Informer[T]) follow(ctx context.Context, source int, src Source[T]) error {
	var last error
	for ev, err := range src.Events(ctx) {
		last = err
		var unreadable error
		switch {
		case err == nil:
			if ev, unreadable, err = i.transformed(ctx, ev); err != nil {
				return err
			}
		case codec.IsItem(err):
			unreadable = err
		default:
			if ctx.Err() == nil {
				i.failed(source, ev, err)
			}
			continue
		}
		unlogged, err := i.apply(ctx, source, ev, unreadable != nil)
		if err != nil {
			return err
		}
		if unlogged != nil {
			i.unsaved(unlogged)
		}
		if unreadable != nil {
			i.failed(source, ev, unreadable)
		} else {
			i.well(source, ev)
		}
	}
	if last == nil {
		last = errors.New("the source ended without a reason")
	}
	return last
}
