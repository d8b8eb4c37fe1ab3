package controller

import (
	"errors"
	"fmt"
	"time"
)

// Result requests another run. The zero Result requests none: the key runs again when
// something changes.
type Result struct {
	// RequeueAfter adds the key again after this delay. The key runs earlier if something
	// changes: that run must then request the delay again.
	RequeueAfter time.Duration

	// Requeue adds the key again after the limiter's delay, which grows with each
	// consecutive run that fails or requeues. It is a success: it does not count for
	// Run.Attempt and Options.MaxRetries.
	Requeue bool

	// Priority of the next run; nil = that of this one. Priorities are meant to be few: see
	// queue.Add.
	Priority *int
}

// Permanent marks an error that a retry cannot resolve: the key runs again only when
// something changes. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err}
}

type permanent struct{ err error }

func (p *permanent) Error() string { return p.err.Error() }
func (p *permanent) Unwrap() error { return p.err }

func isPermanent(err error) bool {
	var p *permanent
	var panicked *PanicError // what it was called with is no answer
	return errors.As(err, &p) && !errors.As(err, &panicked)
}

// PanicError is the error of a run that panicked, or ended its goroutine by
// runtime.Goexit. It is retried like any other error.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value of the panic if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
