//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// child is the program as a process of its own.
type child struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *tail
	stderr *tail
	done   chan struct{}
}

// newChild returns the program, not started.
func newChild(t *testing.T, args ...string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, stdout: newTail(), stderr: newTail(), done: make(chan struct{})}
	c.cmd = exec.CommandContext(t.Context(), exe, args...)
	c.cmd.Env = []string{"LISTWATCH_TEST_MAIN=1", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	c.cmd.Stdout, c.cmd.Stderr = c.stdout, c.stderr
	c.cmd.WaitDelay = 10 * time.Second // of what a hook has left, say
	return c
}

func (c *child) start() *child {
	c.t.Helper()
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() {
		defer close(c.done)
		_ = c.cmd.Wait() // the state says it
	}()
	c.t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.done
	})
	return c
}

// limited has the shell start it with a largest size of files, in blocks.
func (c *child) limited(blocks int) *child {
	c.cmd.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, blocks), c.cmd.Path}, c.cmd.Args[1:]...)
	c.cmd.Path = "/bin/sh"
	return c
}

// until waits for a line.
func (c *child) until(out *tail, re string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	if !out.wait(ctx, c.done, regexp.MustCompile(`(?m)`+re)) {
		c.t.Fatalf("no line matches %s\nstdout:\n%s\nstderr:\n%s", re, c.stdout, c.stderr)
	}
}

func (c *child) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Error(err)
	}
}

// end waits for the end, and compares the exit code, which is -1 where a signal was not
// caught.
func (c *child) end(code int) {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(time.Minute):
		c.t.Fatalf("it does not end\nstdout:\n%s\nstderr:\n%s", c.stdout, c.stderr)
	}
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		c.t.Fatalf("exit code %d, want %d\nstderr:\n%s", got, code, c.stderr)
	}
}

// crowd returns a server with so many nodes, n0000 and so on. Their names are long, so
// that few of them are more than a pipe holds.
func crowd(t *testing.T, n int) (srv *apitest.Server, names []string) {
	t.Helper()
	srv = apitest.New(t)
	return srv, fill(srv, 0, n)
}

// fill puts nodes from n0000 or another on.
func fill(srv *apitest.Server, from, n int) (names []string) {
	for i := range n {
		name := fmt.Sprintf("n%04d-%s", from+i, strings.Repeat("x", 235))
		srv.Put(kube.Nodes, `{"metadata":{"name":"`+name+`"}}`)
		names = append(names, name)
	}
	return names
}

// clog is a pipe as the stdout of a child, which nobody reads.
type clog struct {
	t    *testing.T
	r, w *os.File
}

func newClog(c *child) *clog {
	c.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { r.Close(); w.Close() })
	c.cmd.Stdout = w
	return &clog{c.t, r, w}
}

// fill has the next write block. The child must not be writing.
func (p *clog) fill() {
	p.t.Helper()
	fd := int(p.w.Fd())
	if err := syscall.SetNonblock(fd, true); err != nil {
		p.t.Fatal(err)
	}
	for _, b := range [][]byte{make([]byte, 4096), make([]byte, 1)} {
		for {
			if _, err := syscall.Write(fd, b); err == syscall.EAGAIN {
				break
			} else if err != nil {
				p.t.Fatal(err)
			}
		}
	}
	if err := syscall.SetNonblock(fd, false); err != nil {
		p.t.Fatal(err)
	}
}

// rest is what the child has printed, which has ended.
func (p *clog) rest() string {
	p.t.Helper()
	if err := p.w.Close(); err != nil {
		p.t.Error(err)
	}
	b, err := io.ReadAll(p.r)
	if err != nil {
		p.t.Error(err)
	}
	return strings.ReplaceAll(string(b), "\x00", "")
}

// hasNoted waits until the checkpoint knows of an object, which it does before stdout.
func hasNoted(c *child, state, name string) {
	c.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-time.After(10 * time.Millisecond) {
		if b, _ := os.ReadFile(state); strings.Contains(string(b), name) {
			return
		}
	}
	c.t.Fatalf("%s was never noted\n%s", name, c.stderr)
}

var crowdName = regexp.MustCompile(`\bn\d{4}-x+`)
