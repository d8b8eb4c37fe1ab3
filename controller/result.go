package controller

import (
	"errors"
	"fmt"
	"time"
)

// Result is what a run wants besides. The zero Result wants nothing: the key comes
// again when something changes.
type Result struct {
	// RequeueAfter brings the key again after so long, or earlier if something
	// changes: then what it waited for must be asked for anew.
	RequeueAfter time.Duration

	// Requeue brings the key again after the limiter's delay, which grows with each
	// run in a row that fails or requeues. It is a success: it does not count in
	// Run.Attempt and Options.MaxRetries.
	Requeue bool

	// Priority of that next run; nil = that of this one.
	Priority *int
}

// Permanent marks an error that no retry can mend: the key comes again only when
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
	return errors.As(err, &p)
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
