//go:build unix

package live

import (
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	tea "charm.land/bubbletea/v2"
)

// signalled sends what SIGTSTP and SIGCONT ask for, until done is closed: the terminal is
// given back before the process stops, and all is drawn again when it continues.
func signalled(done <-chan struct{}, send func(tea.Msg)) {
	stop, cont := make(chan os.Signal, 1), make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(stop, syscall.SIGTSTP)
		defer signal.Stop(stop)
	}
	signal.Notify(cont, syscall.SIGCONT)
	defer signal.Stop(cont)
	for {
		select {
		case <-done:
			return
		case <-stop:
			send(suspend{})
		case <-cont:
			send(tea.ClearScreen())
		}
	}
}

// stopJob sends SIGTSTP to all processes of our job, as a terminal does at Ctrl-Z.
func stopJob() {
	_ = syscall.Kill(0, syscall.SIGTSTP) // it can be sent to ourselves
}

// stopped is a command that stops the process until it is continued. It sends SIGSTOP,
// because the Go runtime keeps its handler of SIGTSTP. A process without a shell that could
// continue it is not stopped: of those the kernel discards SIGTSTP, too.
type stopped struct{}

func (stopped) Run() error {
	session, err := unix.Getsid(0)
	if err != nil || session == syscall.Getpgrp() {
		return err
	}
	cont := make(chan os.Signal, 1)
	signal.Notify(cont, syscall.SIGCONT)
	defer signal.Stop(cont)
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGSTOP); err != nil {
		return err
	}
	<-cont
	return nil
}

func (stopped) SetStdin(io.Reader)  {}
func (stopped) SetStdout(io.Writer) {}
func (stopped) SetStderr(io.Writer) {}
