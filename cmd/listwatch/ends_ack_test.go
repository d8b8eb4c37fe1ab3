//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// acknowledging starts a watch of nodes whose reader acknowledges by a pipe.
func acknowledging(t *testing.T, path, server, state string, more ...string) (c *child, lines *bufio.Reader, stdout *os.File) {
	t.Helper()
	c = newChild(t, append([]string{"watch", "nodes", "-o", "ndjson", "--events", "ADDED", "--initial-list", "paged", "--checkpoint", state, "--ack", path, "-s", server}, more...)...)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stdout = w
	c.start()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	t.Cleanup(func() { r.Close() })
	return c, bufio.NewReader(r), r
}

// acksPipe makes a pipe for acknowledgements, and returns how to write one.
func acksPipe(t *testing.T) (path string, ack func(n int64)) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "acks")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, func(n int64) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY, 0) // as echo does
		if err == nil {
			_, err = fmt.Fprintln(f, n)
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// nodesIn reads n lines, and returns the names in them, and the seq of the first.
func nodesIn(t *testing.T, lines *bufio.Reader, n int) (names []string, first int64) {
	t.Helper()
	for i := range int64(n) {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var l struct{ Seq int64 }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = l.Seq
		}
		if l.Seq != first+i {
			t.Errorf("line %d has the seq %d, and the first %d", i, l.Seq, first)
		}
		names = append(names, crowdName.FindString(line))
	}
	return names, first
}

// TestReaderAcknowledges: of what a reader took from the pipe the checkpoint has what it
// acknowledged, and no more, however the program ends.
func TestReaderAcknowledges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		end  func(c *child, stdout *os.File)
	}{
		{"the reader goes away", func(c *child, stdout *os.File) {
			if err := stdout.Close(); err != nil {
				t.Error(err)
			}
			<-c.done
		}},
		{"SIGTERM", func(c *child, _ *os.File) { c.signal(syscall.SIGTERM); c.end(143) }},
		{"SIGKILL", func(c *child, _ *os.File) { c.signal(syscall.SIGKILL); c.end(-1) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv, names := crowd(t, 12)
			state := filepath.Join(t.TempDir(), "state")
			path, ack := acksPipe(t)
			c, lines, stdout := acknowledging(t, path, srv.URL, state)
			got, first := nodesIn(t, lines, 12)
			if diff := cmp.Diff(names, got); diff != "" {
				t.Fatalf("the first run (-want +got):\n%s", diff)
			}
			before, err := os.Stat(state)
			if err != nil {
				t.Fatal(err)
			}
			ack(first + 2)
			ack(first + 1) // it is done with the third already
			ack(first + 12)
			c.until(c.stderr, fmt.Sprintf("--ack: %d is ignored: the last line that was printed is %d", first+12, first+11))
			for { // acknowledged is noted within a second
				if now, err := os.Stat(state); err == nil && now.Size() > before.Size() {
					break
				}
				select {
				case <-c.done:
					t.Fatalf("it ended\n%s", c.stderr)
				case <-time.After(10 * time.Millisecond):
				}
			}
			test.end(c, stdout)

			late := first + 11 // the last line of the run before
			c, lines, _ = acknowledging(t, path, srv.URL, state, "--once")
			got, first = nodesIn(t, lines, 9)
			if diff := cmp.Diff(names[3:], got); diff != "" {
				t.Fatalf("the next run (-want +got):\n%s", diff)
			}
			if first <= late {
				t.Errorf("the next run begins with the seq %d, and the one before ended with %d", first, late)
			}
			ack(late)
			select {
			case <-c.done:
				t.Error("it did not wait for the reader")
			case <-time.After(100 * time.Millisecond):
			}
			ack(first + 8)
			c.end(0)
			code, rest, stderr := runProgram(t, nil, "watch", "nodes", "-o", "ndjson", "--events", "ADDED", "--checkpoint", state, "--once", "-s", srv.URL)
			if code != 0 || strings.TrimSpace(rest) != "" {
				t.Errorf("the last run: exit code %d\n%s%s", code, rest, stderr)
			}
		})
	}
}

// TestReaderOfAcksEnds: the pipeline of the README ends with the program, also where that
// never opens the pipe. With ">" the shell waits until somebody does.
func TestReaderOfAcksEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "acks")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	const reader = "| ./consume 1<> acks "
	if !strings.Contains(string(readme), reader) {
		t.Fatalf("the README has no %q", reader)
	}
	c := newChild(t)
	c.cmd.Args = []string{"sh", "-c", `"$0" watch nodes -s http://127.0.0.1:1 -o ndjson --checkpoint state --ack acks ` + strings.Replace(reader, "./consume", "cat", 1), c.cmd.Path}
	c.cmd.Path, c.cmd.Dir = "/bin/sh", dir
	c.start().end(0) // of cat
	c.until(c.stderr, "connection refused")
}
