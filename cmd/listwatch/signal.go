package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// signalled is the cause of a context that a signal ended.
type signalled struct{ sig syscall.Signal }

func (s signalled) Error() string { return "stopped by " + s.sig.String() }

// code is what a shell makes of a program that died of the signal.
func (s signalled) code() int { return 128 + int(s.sig) }

// graceful is how long a stop may take, for example when nobody reads stdout.
const graceful = time.Second

// withSignals returns a context that SIGINT or SIGTERM ends. A second signal,
// or a stop that takes too long, ends the process. A closed stdout becomes an
// error of the write instead of a signal.
func withSignals() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	sigs := make(chan os.Signal, 2)
	signal.Notify(sigs, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		var s signalled
		select {
		case sig := <-sigs:
			s.sig, _ = sig.(syscall.Signal)
		case <-done:
			return
		}
		cancel(s)
		select {
		case sig := <-sigs:
			s.sig, _ = sig.(syscall.Signal)
		case <-time.After(graceful):
		case <-done:
			return
		}
		os.Exit(s.code())
	}()
	return ctx, func() {
		close(done)
		cancel(nil)
	}
}
