package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pty is a command on a pseudo terminal of its own.
type pty struct {
	*testing.T
	cmd    *exec.Cmd
	master *os.File
	screen *tail // what the command wrote, with the echo of what was typed
	done   chan struct{}
}

// onPTY starts cmd with stdin, stdout and stderr on a new terminal of 200 columns.
func onPTY(t *testing.T, cmd *exec.Cmd) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 200}); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	p := &pty{T: t, cmd: cmd, master: master, screen: newTail(), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		buf := make([]byte, 32<<10)
		for {
			n, err := master.Read(buf) // EIO once nobody has the terminal open
			if n > 0 {
				_, _ = p.screen.Write(buf[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		<-p.done
		master.Close()
	})
	return p
}

// send types text.
func (p *pty) send(text string) {
	p.Helper()
	if _, err := p.master.WriteString(text); err != nil {
		p.Fatal(err)
	}
}

// until waits until the screen matches.
func (p *pty) until(re string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), time.Minute)
	defer cancel()
	if !p.screen.wait(ctx, p.done, regexp.MustCompile(re)) {
		p.Fatalf("the terminal never showed %s:\n%q", re, p.screen)
	}
}

// end waits for the end of the command and returns all that it wrote.
func (p *pty) end() string {
	p.Helper()
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		p.Fatalf("it does not end:\n%q", p.screen)
	}
	return p.screen.String()
}
