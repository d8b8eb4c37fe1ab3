//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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

// TestReaderGoesAway, as head(1) does: exit code 141, quietly, and the checkpoint has
// what the pipe took in whole, and not more.
func TestReaderGoesAway(t *testing.T) {
	t.Parallel()
	srv, names := crowd(t, 600) // more than a pipe holds
	for _, test := range []struct {
		name string
		args []string
		bare bool // without a checkpoint too
	}{
		{"lines", []string{"-o", "name"}, true},
		{"a table", nil, false},
		{"custom columns", []string{"-o", "custom-columns=N:.metadata.name"}, false},
		{"ndjson", []string{"-o", "ndjson", "--events", "ADDED"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			state := filepath.Join(t.TempDir(), "state")
			args := append([]string{"watch", "nodes", "-s", srv.URL}, test.args...)
			for _, kept := range [][]string{{"--checkpoint", state}, nil} {
				if kept == nil && !test.bare {
					continue
				}
				c := newChild(t, append(args, kept...)...)
				c.cmd.Stdout = nil
				stdout, err := c.cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				c.start()
				in := bufio.NewReaderSize(stdout, 16)
				for range 3 {
					if line, err := in.ReadString('\n'); err != nil {
						t.Fatalf("%q, %v\n%s", line, err, c.stderr)
					}
				}
				if err := stdout.Close(); err != nil {
					t.Error(err)
				}
				c.end(141)
				if s := c.stderr.String(); s != "" {
					t.Errorf("stderr: %s", s)
				}
			}
			code, rest, stderr := runProgram(t, nil, append(args, "--checkpoint", state, "--once")...)
			if code != 0 {
				t.Fatalf("exit code %d\n%s", code, stderr)
			}
			got := crowdName.FindAllString(rest, -1)
			if test.name == "ndjson" { // in the name of a line and of its object
				got = nil
				for line := range strings.Lines(rest) {
					got = append(got, crowdName.FindString(line))
				}
			}
			from := len(names) - len(got)
			if from < 2 || from > len(names)-100 {
				t.Fatalf("the next run tells %d of %d", len(got), len(names))
			}
			for i, name := range got {
				if name != names[from+i] {
					t.Fatalf("the next run tells %s, want %s", name, names[from+i])
				}
			}
		})
	}
}

// TestNobodyReadsStderr: that is no reason to end, and does not keep it from ending.
func TestNobodyReadsStderr(t *testing.T) {
	t.Parallel()
	srv, _ := crowd(t, 1)
	for _, both := range []bool{false, true} {
		t.Run(fmt.Sprintf("stdout is the same pipe %t", both), func(t *testing.T) {
			t.Parallel()
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			c := newChild(t, "watch", "nodes", "-o", "name", "-v", "6", "-s", srv.URL)
			c.cmd.Stderr = w
			if both {
				c.cmd.Stdout = w
			}
			if err := r.Close(); err != nil { // before it says anything
				t.Error(err)
			}
			c.start()
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			if both {
				c.end(141)
				return
			}
			c.until(c.stdout, "^ADDED node/n0000")
			c.signal(syscall.SIGTERM)
			c.end(143)
		})
	}
}

// TestSignalsInEachPhase: the program ends with the code of the signal, wherever it is,
// and the next run repeats nothing.
func TestSignalsInEachPhase(t *testing.T) {
	t.Parallel()
	signals := []struct {
		sig  syscall.Signal
		code int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}, {syscall.SIGHUP, 129}}
	stalled := func(t *testing.T, srv *apitest.Server, verb, resource string) func(*child) {
		asked := make(chan struct{}, 100)
		srv.On(apitest.Match{Verb: verb, Resource: resource}, func(_ http.ResponseWriter, r *http.Request) {
			asked <- struct{}{}
			<-r.Context().Done()
		})
		return func(*child) {
			select {
			case <-asked:
			case <-time.After(time.Minute):
				t.Error("it does not ask")
			}
		}
	}
	for i, phase := range []struct {
		name  string
		begin func(t *testing.T, srv *apitest.Server) (reached func(*child))
		told  string
	}{
		{"before anything is known", func(t *testing.T, srv *apitest.Server) func(*child) { return stalled(t, srv, "", "") }, ""},
		{"asking which cluster it is", func(t *testing.T, srv *apitest.Server) func(*child) { return stalled(t, srv, "get", "namespaces") }, ""},
		{"in the first list", func(t *testing.T, srv *apitest.Server) func(*child) { return stalled(t, srv, "list", "nodes") }, ""},
		{"in the watch", func(t *testing.T, srv *apitest.Server) func(*child) {
			return func(c *child) { c.until(c.stdout, "^ADDED node/n0001") }
		}, "ADDED"},
		{"in back-off", func(t *testing.T, srv *apitest.Server) func(*child) {
			return func(c *child) {
				c.until(c.stdout, "^ADDED node/n0001")
				if err := srv.WaitForWatches(t.Context(), 1); err != nil {
					t.Error(err)
				}
				if err := srv.SetDoor(apitest.Refusing); err != nil {
					t.Error(err)
				}
				srv.DropWatches()
				c.until(c.stderr, "connection refused")
			}
		}, "ADDED"},
	} {
		of := signals
		if phase.name != "in the watch" { // the signals do not differ in what they do
			of = signals[i%3 : i%3+1]
		}
		for _, s := range of {
			t.Run(fmt.Sprint(phase.name, " ", s.sig), func(t *testing.T) {
				t.Parallel()
				srv, names := crowd(t, 2)
				reached := phase.begin(t, srv)
				state := filepath.Join(t.TempDir(), "state")
				args := []string{"watch", "nodes", "-o", "name", "--list", "paged", "--checkpoint", state, "-s", srv.URL}
				c := newChild(t, args...).start()
				reached(c)
				c.signal(s.sig)
				c.end(s.code)
				told := ""
				if phase.told != "" {
					told = "ADDED node/" + names[0] + "\nADDED node/" + names[1] + "\n"
				}
				if got := c.stdout.String(); got != told {
					t.Errorf("stdout:\n%swant:\n%s", got, told)
				}
				if told == "" {
					return
				}
				if err := srv.SetDoor(apitest.Open); err != nil {
					t.Error(err)
				}
				if code, stdout, stderr := runProgram(t, nil, append(args, "--once")...); code != 0 || stdout != "" {
					t.Errorf("the next run: exit code %d\n%s%s", code, stdout, stderr)
				}
			})
		}
	}
}
