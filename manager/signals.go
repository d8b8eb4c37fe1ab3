package manager

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// sentTwice is the time within which a repeated signal counts once: timeout(1) sends it
// to the program and to its process group, and some shells do the same.
const sentTwice = 250 * time.Millisecond

// withSignals returns a context that the first SIGINT or SIGTERM ends, and a function
// that releases it. After that a signal ends the process, as by default. If ctx ends by itself,
// the first signal is still taken: the parts may take time to stop.
func withSignals(ctx context.Context) (context.Context, func()) {
	taking, release := context.WithCancel(context.WithoutCancel(ctx))
	ctx, cancel := context.WithCancel(ctx)
	interrupts, terms := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	signal.Notify(terms, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		stopOnSignal(taking, cancel, interrupts, terms, signal.Stop)
	}()
	return ctx, func() {
		cancel()
		release()
		<-done
	}
}

// stopOnSignal calls stop at the first signal, and restores the default of the other
// signal at once and of this one after sentTwice. It returns then, or when ctx ends
// before a signal arrives.
func stopOnSignal(ctx context.Context, stop func(), interrupts, terms chan os.Signal, restore func(chan<- os.Signal)) {
	var came, other chan os.Signal
	select {
	case <-interrupts:
		came, other = interrupts, terms
	case <-terms:
		came, other = terms, interrupts
	case <-ctx.Done():
		restore(interrupts)
		restore(terms)
		return
	}
	restore(other)
	stop()
	<-time.After(sentTwice)
	restore(came)
}
