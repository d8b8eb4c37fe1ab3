package group

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
)

// fault is an error that says what to do, in place of what it stands for.
type fault struct {
	text string
	err  error
}

func (f *fault) Error() string { return f.text }
func (f *fault) Unwrap() error { return f.err }

func problem(text string, err error) error { return &fault{text: text, err: err} }

// missing is a fault that an installation would mend.
type missing struct{ error }

func (m missing) Unwrap() error { return m.error }

// Missing reports whether err, of Look or NotStarted, is that there is no such program.
func Missing(err error) bool { return errors.As(err, &missing{}) }

// Look finds the program that name means, as exec.LookPath does, whose errors it
// says in words for people: without the name, and what to do. They wrap it.
func Look(name string) (path string, err error) {
	path, err = exec.LookPath(name)
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, exec.ErrNotFound):
		return "", missing{problem("there is no such command in PATH: install it, or correct its name", err)}
	case errors.Is(err, fs.ErrNotExist):
		return "", missing{problem("there is no such file: install it, or correct its path", err)}
	case errors.Is(err, exec.ErrDot):
		return "", problem("it was found in the current directory only: write its path, with ./ before it", err)
	}
	return "", refused(err)
}

// NotStarted says so why name, a program that was there, did not start by err.
func NotStarted(name string, err error) error {
	if _, gone := Look(name); gone != nil {
		return gone
	}
	if errors.Is(err, fs.ErrNotExist) {
		return problem("it cannot be started: what its first line names, or a library of it, does not exist", err)
	}
	return refused(err)
}

func refused(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return problem("it is not executable: chmod +x makes it so", err)
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner // the outer ones name the command again
	}
	return fmt.Errorf("it cannot be started: %w", err)
}
