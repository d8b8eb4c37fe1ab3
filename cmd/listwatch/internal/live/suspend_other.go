//go:build !unix

package live

import (
	"io"

	tea "charm.land/bubbletea/v2"
)

// signalled does nothing until done is closed: there are no signals that stop a process.
func signalled(done <-chan struct{}, _ func(tea.Msg)) { <-done }

func stopJob() {}

// stopped does nothing.
type stopped struct{}

func (stopped) Run() error          { return nil }
func (stopped) SetStdin(io.Reader)  {}
func (stopped) SetStdout(io.Writer) {}
func (stopped) SetStderr(io.Writer) {}
