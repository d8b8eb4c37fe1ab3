//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

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
		{"lines", []string{"-o", "name", "--output-watch-events"}, true},
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

// TestReaderGoesAwayFromAQuietCluster: that nothing is written is no reason to stay.
func TestReaderGoesAwayFromAQuietCluster(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		return // elsewhere the next write tells
	}
	srv, _ := crowd(t, 1)
	c := newChild(t, "watch", "nodes", "-o", "name", "--output-watch-events", "-s", srv.URL)
	c.cmd.Stdout = nil
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.start()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v\n%s", line, err, c.stderr)
	}
	if err := stdout.Close(); err != nil {
		t.Error(err)
	}
	c.end(141)
	if s := c.stderr.String(); s != "" {
		t.Errorf("stderr: %s", s)
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
			c := newChild(t, "watch", "nodes", "-o", "name", "--output-watch-events", "-v", "6", "-s", srv.URL)
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
