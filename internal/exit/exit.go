// Package exit has the errors that carry an exit code of the program.
package exit

import (
	"errors"
	"fmt"
)

// Error is an error with the exit code that it means.
type Error struct {
	Code int
	Err  error
}

func (f *Error) Error() string { return f.Err.Error() }

func (f *Error) Unwrap() error { return f.Err }

// Exit codes.
const (
	CodeFailed  = 1
	CodeUsage   = 2
	CodeMatched = 3 // --fail-on
	CodeTimeout = 4
	CodeHooks   = 5 // --exec-max-errors
	CodeForeign = 6 // the checkpoint is of something else
	CodePipe    = 141
)

func Failed(err error) error { return &Error{CodeFailed, err} }

func Usage(format string, args ...any) error {
	return &Error{CodeUsage, fmt.Errorf(format, args...)}
}

// Ends that are no failures: causes of the context, see [context.Cause].
var (
	ErrAskedFor = errors.New("the end that was asked for")
	ErrPipe     = errors.New("stdout was closed")
	ErrTimedOut = errors.New("--timeout is over")
)
