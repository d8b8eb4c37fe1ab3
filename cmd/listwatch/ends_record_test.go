//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
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
