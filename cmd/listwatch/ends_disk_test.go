//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cmd/listwatch/checkpoint"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// A full disk is something that only root can make; ulimit -f makes writes fail in the
// same way, in the middle of a line too. Its blocks have 512 bytes.
const block = 512

// TestStdoutHasNoMoreRoom: one clear error; the checkpoint has what is there in whole,
// and the next run prints again what is not.
func TestStdoutHasNoMoreRoom(t *testing.T) {
	t.Parallel()
	srv, names := crowd(t, 300)
	var all []string
	for _, name := range names {
		all = append(all, "ADDED node/"+name)
	}
	dir := t.TempDir()
	out, state := filepath.Join(dir, "out"), filepath.Join(dir, "state")
	const limit = 2048
	before := bytes.Repeat([]byte("before\n"), (limit*block-15_000)/7)
	if err := os.WriteFile(out, before, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"watch", "nodes", "-o", "name", "--output-watch-events", "--initial-list", "paged", "--checkpoint", state, "-s", srv.URL}
	c := newChild(t, args...)
	stdout, err := os.OpenFile(out, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	c.cmd.Stdout = stdout
	c.limited(limit).start().end(1)
	if got, want := c.stderr.String(), "listwatch: write to stdout: file too large: allow a larger file by ulimit -f; the next run prints again what is not there in whole\n"; got != want {
		t.Errorf("stderr:\n%swant:\n%s", got, want)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b[len(before):]), "\n")
	whole, torn := lines[:len(lines)-1], lines[len(lines)-1]
	if len(b) != limit*block || len(whole) < 50 || torn == "" {
		t.Fatalf("%d bytes, %d lines and %q: the test tests nothing", len(b), len(whole), torn)
	}
	code, rest, stderr := runProgram(t, nil, append(args, "--once")...)
	if code != 0 {
		t.Fatalf("the next run: exit code %d\n%s", code, stderr)
	}
	if diff := cmp.Diff(all, append(whole, strings.Split(strings.TrimSuffix(rest, "\n"), "\n")...)); diff != "" {
		t.Errorf("lines of both runs (-want +got):\n%s", diff)
	}
}

// TestCheckpointHasNoMoreRoom: the watch ends at once, and what it has printed is what
// the checkpoint has. With room again the next run goes on there.
func TestCheckpointHasNoMoreRoom(t *testing.T) {
	t.Parallel()
	srv, names := crowd(t, 10)
	state := filepath.Join(t.TempDir(), "state")
	args := []string{"watch", "nodes", "-o", "name", "--output-watch-events", "--initial-list", "paged", "--checkpoint", state, "-s", srv.URL}
	c := newChild(t, args...).limited(64).start()
	c.until(c.stdout, "^ADDED node/n0009")
	for i := range 300 {
		name := fmt.Sprintf("n%04d-x", 10+i)
		names = append(names, name)
		srv.Put(kube.Nodes, `{"metadata":{"name":"`+name+`"}}`)
		if i == 5 {
			c.until(c.stdout, "^ADDED node/"+name) // so that a batch is noted before there is no room
		}
	}
	c.end(1)
	want := "listwatch: checkpoint " + state + ": write: file too large: allow a larger file by ulimit -f: nothing is lost: the next run continues from the last complete entry of the file, and prints later events again\n"
	if got := c.stderr.String(); got != want {
		t.Errorf("stderr:\n%swant:\n%s", got, want)
	}
	c2 := newChild(t, args...).start()
	c2.until(c2.stdout, "n0309")
	c2.signal(syscall.SIGTERM)
	c2.end(143)
	// A batch that was printed, and could not be noted, comes again.
	first, next := crowdName.FindAllString(c.stdout.String(), -1), crowdName.FindAllString(c2.stdout.String(), -1)
	from := len(names) - len(next)
	if from <= 10 || from > len(first) || !slices.Equal(first, names[:len(first)]) || !slices.Equal(next, names[from:]) {
		t.Errorf("of %d, told by the first run: %q\nby the next: %q", len(names), first, next)
	}
}

// fulls are a stdout and a checkpoint on one disk: as good as full once it is written to.
type fulls struct{ f *checkpoint.File }

func (d fulls) Write([]byte) (int, error) {
	_ = d.f.Close()
	return 0, &os.PathError{Op: "write", Path: "stdout", Err: syscall.ENOSPC}
}

// TestNeitherStdoutNorCheckpointHasRoom: it says what that may mean, and each thing once.
func TestNeitherStdoutNorCheckpointHasRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	f, _, err := checkpoint.Open(path, onlyNodes)
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{file: f}
	p := &printer{output: output{format: print.Format{Name: "name", Events: true}}, w: fulls{f}, keeper: k, stop: func(error) {}, errs: func(err error) { t.Error(err) }}
	records := make(chan record.Record, 1)
	records <- nodeRecord(t, watch.Added, "a", 5)
	close(records)
	err = k.close(p.run(records))
	want := "write to stdout: no space left on device: make room where the output goes; the next run may print some lines again: checkpoint " + path + ": write: file already closed"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestCheckpointCannotBeBegun: nothing is printed, and nothing is left.
func TestCheckpointCannotBeBegun(t *testing.T) {
	t.Parallel()
	srv, _ := crowd(t, 1)
	dir := t.TempDir()
	c := newChild(t, "watch", "nodes", "--checkpoint", filepath.Join(dir, "state"), "-s", srv.URL).limited(0).start()
	c.end(1)
	if got := c.stderr.String(); !strings.HasSuffix(got, ": file too large: allow a larger file by ulimit -f\n") || strings.Count(got, "\n") != 1 || c.stdout.String() != "" {
		t.Errorf("stdout: %s\nstderr: %s", c.stdout, got)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.tmp*")); err != nil || left != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestCheckpointCannotBeGoneOnWith: nothing is printed, and with room again it is as if
// nobody had tried.
func TestCheckpointCannotBeGoneOnWith(t *testing.T) {
	t.Parallel()
	srv, names := crowd(t, 1)
	state := filepath.Join(t.TempDir(), "state")
	args := []string{"watch", "nodes", "-o", "name", "--output-watch-events", "--once", "--checkpoint", state, "-s", srv.URL}
	if code, stdout, stderr := runProgram(t, nil, args...); code != 0 || stdout != "ADDED node/"+names[0]+"\n" {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	srv.Put(kube.Nodes, `{"metadata":{"name":"z"}}`)
	c := newChild(t, args...).limited(0).start()
	c.end(1)
	if got, want := c.stderr.String(), "listwatch: checkpoint "+state+": write: file too large: allow a larger file by ulimit -f\n"; got != want || c.stdout.String() != "" {
		t.Errorf("stdout: %s\nstderr:\n%swant:\n%s", c.stdout, got, want)
	}
	if code, stdout, stderr := runProgram(t, nil, args...); code != 0 || stdout != "ADDED node/z\n" {
		t.Errorf("with room: exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestCheckpointIsTakenAway while a watch writes it: it ends, instead of writing on into
// what the next run will not find.
func TestCheckpointIsTakenAway(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		do   func(dir, state string) error
	}{
		{"the file is removed", func(_, state string) error { return os.Remove(state) }},
		{"the folder is removed", func(dir, _ string) error { return os.RemoveAll(dir) }},
		{"another file is put there", func(dir, state string) error {
			other := filepath.Join(dir, "other")
			if err := os.WriteFile(other, nil, 0o600); err != nil {
				return err
			}
			return os.Rename(other, state)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv, _ := crowd(t, 1)
			dir := filepath.Join(t.TempDir(), "dir")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			state := filepath.Join(dir, "state")
			c := newChild(t, "watch", "nodes", "-o", "name", "--output-watch-events", "--checkpoint", state, "-s", srv.URL).start()
			c.until(c.stdout, "^ADDED")
			if err := test.do(dir, state); err != nil {
				t.Fatal(err)
			}
			c.end(1)
			want := "listwatch: checkpoint " + state + ": removed or replaced by somebody else, while in use: do not change the file while listwatch runs; the next run continues from the new file, or prints everything if there is none\n"
			if got := c.stderr.String(); got != want {
				t.Errorf("stderr:\n%swant:\n%s", got, want)
			}
		})
	}
}

// TestCheckpointInAFolderThatMayOnlyBeRead: the file itself can still be written.
func TestCheckpointInAFolderThatMayOnlyBeRead(t *testing.T) {
	t.Parallel()
	srv, _ := crowd(t, 1)
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	args := []string{"watch", "nodes", "-o", "name", "--output-watch-events", "--checkpoint", filepath.Join(dir, "state"), "-s", srv.URL}
	c := newChild(t, args...).start()
	c.until(c.stdout, "^ADDED")
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	srv.Put(kube.Nodes, `{"metadata":{"name":"z"}}`)
	c.until(c.stdout, "^ADDED node/z$")
	c.signal(syscall.SIGTERM)
	c.end(143)
	if code, stdout, stderr := runProgram(t, nil, append(args, "--once")...); code != 0 || stdout != "" {
		t.Errorf("the next run: exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestCheckpointThatIsNoFile is refused, and left as it is.
func TestCheckpointThatIsNoFile(t *testing.T) {
	t.Parallel()
	srv, _ := crowd(t, 1)
	dir := t.TempDir()
	pipe, loop := filepath.Join(dir, "pipe"), filepath.Join(dir, "loop")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		pipe:       "checkpoint " + pipe + ": not a regular file",
		dir:        "checkpoint " + dir + ": not a regular file",
		os.DevNull: "checkpoint " + os.DevNull + ": not a regular file",
		loop:       "checkpoint: stat " + loop + ": too many levels of symbolic links",
	} {
		code, stdout, stderr := runProgram(t, nil, "watch", "nodes", "--checkpoint", path, "-s", srv.URL)
		if code != 1 || stdout != "" || stderr != "listwatch: "+want+"\n" {
			t.Errorf("%s: exit code %d\n%s%s", path, code, stdout, stderr)
		}
	}
	// One that others may read becomes ours alone.
	open := filepath.Join(dir, "open")
	if err := os.WriteFile(open, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runProgram(t, nil, "watch", "nodes", "--once", "--checkpoint", open, "-s", srv.URL); code != 0 {
		t.Errorf("an empty file: exit code %d\n%s", code, stderr)
	}
	if fi, err := os.Stat(open); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 0600", fi, err)
	}
}
