//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
)

// TestRecordingHasNoMoreRoom: one clear error, and what came before plays. See
// TestStdoutHasNoMoreRoom for the limit.
func TestRecordingHasNoMoreRoom(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x.lwrec.ndjson", "x.lwrec.ndjson.gz"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, _ := crowd(t, 5)
			file := filepath.Join(t.TempDir(), name)
			c := newChild(t, "record", "nodes", "--initial-list", "paged", "-q", "--file", file, "-s", srv.URL).limited(16).start()
			if err := srv.WaitForWatches(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			fill(srv, 5, 400)
			c.end(1)
			if got, want := c.stderr.String(), "listwatch: record to "+file+": write a recording: write "+file+": file too large: allow a larger file by ulimit -f\n"; got != want {
				t.Errorf("stderr:\n%swant:\n%s", got, want)
			}
			if fi, err := os.Stat(file); err != nil || fi.Size() != 16*block {
				t.Errorf("%v, %v", fi, err)
			}
			killed(t, file)
			code, stdout, stderr := runProgram(t, nil, "replay", file, "--fast", "-o", "name", "--output-watch-events")
			if n := strings.Count(stdout, "ADDED node/n0"); code != 0 || n < 10 || !strings.HasPrefix(stdout, "ADDED node/n0000-x") {
				t.Errorf("replay: exit code %d, %d events\n%s", code, n, stderr)
			}
		})
	}
}

// TestRecordingCannotBeBegun: nothing is left, so that the next run may take the name.
func TestRecordingCannotBeBegun(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t, apitest.Fixture{Resource: kube.Nodes, Object: `{"metadata":{"name":"a"}}`})
	for _, name := range []string{"x.lwrec.ndjson", "x.lwrec.ndjson.gz"} {
		file := filepath.Join(t.TempDir(), name)
		args := []string{"record", "nodes", "--max-events", "1", "--file", file, "-s", srv.URL}
		c := newChild(t, args...).limited(0).start()
		c.end(1)
		if got, want := c.stderr.String(), "listwatch: write a recording: write "+file+": file too large: allow a larger file by ulimit -f\n"; got != want {
			t.Errorf("stderr:\n%swant:\n%s", got, want)
		}
		if code, _, stderr := runProgram(t, nil, args...); code != 0 {
			t.Errorf("with room: exit code %d\n%s", code, stderr)
		}
		if rec, err := replay.Open(file); err != nil || rec.Truncated {
			t.Errorf("%v, %v", rec, err)
		}
	}
}

// TestRecordingIsTakenAway while it is written: the program ends and says so, instead of writing
// on into what nobody will find.
func TestRecordingIsTakenAway(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, file string
		args       []string
		do         func(file string) error
	}{
		{"the file is removed", "x.lwrec.ndjson", []string{"nodes"}, os.Remove},
		{"a compressed file is removed", "x.lwrec.ndjson.gz", []string{"nodes"}, os.Remove},
		{"the folder is removed", "x.lwrec.ndjson", []string{"nodes"}, func(file string) error { return os.RemoveAll(filepath.Dir(file)) }},
		{"the file is renamed", "x.lwrec.ndjson", []string{"nodes"}, func(file string) error { return os.Rename(file, file+".old") }},
		{"another file is put there", "x.lwrec.ndjson", []string{"nodes"}, replaced},
		{"a file of traffic is removed", "x.lwrec.ndjson.gz", []string{"proxy", "127.0.0.1:0"}, os.Remove},
		{"another file is put there for one of traffic", "x.lwrec.ndjson", []string{"proxy", "127.0.0.1:0"}, replaced},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv, _ := crowd(t, 1)
			dir := filepath.Join(t.TempDir(), "dir")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, test.file)
			c := newChild(t, append(append([]string{"record"}, test.args...), "--file", file, "-s", srv.URL)...).start()
			c.until(c.stderr, "^listwatch: record: recording ")
			if err := test.do(file); err != nil {
				t.Fatal(err)
			}
			c.end(1)
			want := "listwatch: record to " + file + ": removed or replaced by somebody else, while in use: do not change the file while listwatch runs; what was recorded is lost, unless the file was only renamed\n"
			if _, got, _ := strings.Cut(c.stderr.String(), "\n"); got != want {
				t.Errorf("stderr:\n%swant:\n%s", got, want)
			}
			if b, err := os.ReadFile(file); err == nil && string(b) != "other" {
				t.Errorf("the other file is now %q", b)
			}
		})
	}
}

// replaced puts another file in place of file.
func replaced(file string) error {
	if err := os.WriteFile(file+".other", []byte("other"), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".other", file)
}

// TestRecordingIsTakenAwayAtItsEnd: the end that was asked for, or a signal, is no success then.
func TestRecordingIsTakenAwayAtItsEnd(t *testing.T) {
	t.Parallel()
	srv, _ := crowd(t, 1)
	file := filepath.Join(t.TempDir(), "x.lwrec.ndjson")
	c := newChild(t, "record", "nodes", "--file", file, "-s", srv.URL).start()
	c.until(c.stderr, "^listwatch: record: recording ")
	if err := replaced(file); err != nil {
		t.Fatal(err)
	}
	c.signal(syscall.SIGTERM)
	c.end(1)
	if got := c.stderr.String(); !strings.Contains(got, "removed or replaced by somebody else") || strings.Contains(got, " bytes in ") {
		t.Errorf("stderr:\n%s", got)
	}
}

// TestRecordingInUseIsNotReplaced, with --force neither, until its program ends, even by kill -9.
func TestRecordingInUseIsNotReplaced(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x.lwrec.ndjson", "x.lwrec.ndjson.gz"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, _ := crowd(t, 1)
			file := filepath.Join(t.TempDir(), name)
			first := newChild(t, "record", "nodes", "--file", file, "-s", srv.URL).start()
			first.until(first.stderr, "^listwatch: record: recording ")
			for _, what := range [][]string{{"nodes", "--max-events", "1"}, {"proxy", "127.0.0.1:0", "--exit-after", "1ms"}} {
				code, _, stderr := runProgram(t, nil, append([]string{"record", "--file", file, "--force", "-s", srv.URL}, what...)...)
				want := regexp.MustCompile("^listwatch: " + regexp.QuoteMeta(file) + ` is in use by listwatch .* since 2\S+Z: end that program first, or give another name\n$`)
				if code != 2 || !want.MatchString(stderr) {
					t.Errorf("%q: exit code %d\n%s", what, code, stderr)
				}
			}
			first.signal(syscall.SIGKILL)
			<-first.done
			if rec := killed(t, file); len(rec.Entries) == 0 {
				t.Error("the recording has nothing")
			}
			if code, _, stderr := runProgram(t, nil, "record", "nodes", "--file", file, "--force", "--max-events", "1", "-s", srv.URL); code != 0 {
				t.Errorf("once it has ended: exit code %d\n%s", code, stderr)
			}
			onlyFile(t, file)
		})
	}
}

// TestRecordingIsReplacedOnlyByANewOne: where none can be begun, --force leaves what is there.
func TestRecordingIsReplacedOnlyByANewOne(t *testing.T) {
	t.Parallel()
	srv, _ := crowd(t, 1)
	file := filepath.Join(t.TempDir(), "x.lwrec.ndjson")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"record", "nodes", "--file", file, "--force", "--max-events", "1", "-s", srv.URL}
	newChild(t, args...).limited(0).start().end(1)
	if b, err := os.ReadFile(file); string(b) != "old" {
		t.Errorf("%q, %v", b, err)
	}
	onlyFile(t, file)
	newChild(t, args...).start().end(0)
	if rec, err := replay.Open(file); err != nil || rec.Truncated {
		t.Errorf("%v, %v", rec, err)
	}
	onlyFile(t, file)
}

// onlyFile checks that nothing is beside file.
func onlyFile(t *testing.T, file string) {
	t.Helper()
	if all, err := os.ReadDir(filepath.Dir(file)); err != nil || len(all) != 1 {
		t.Errorf("%v, %v; want only %s", all, err, filepath.Base(file))
	}
}
