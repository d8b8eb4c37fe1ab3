package main

import (
	"errors"
	"fmt"
)

// failure is an error with the exit code that it means.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// Exit codes.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitMatched = 3 // --fail-on
	exitTimeout = 4
	exitHooks   = 5 // --exec-max-errors
	exitForeign = 6 // the checkpoint is of something else
	exitPipe    = 141
)

func failed(err error) error { return &failure{exitFailed, err} }

func usage(format string, args ...any) error {
	return &failure{exitUsage, fmt.Errorf(format, args...)}
}

// Ends that are no failures: causes of the context, see [context.Cause].
var (
	errAskedFor = errors.New("the end that was asked for")
	errPipe     = errors.New("stdout was closed")
	errTimedOut = errors.New("--timeout is over")
)
