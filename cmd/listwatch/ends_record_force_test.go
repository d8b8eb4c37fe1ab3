//go:build unix

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
)

// TestRecordingOfNothingReplacesNothing, whatever the end of record --force is.
func TestRecordingOfNothingReplacesNothing(t *testing.T) {
	t.Parallel()
	busy := func(code int) http.HandlerFunc {
		return faults.Answer(&kube.Status{Code: code, Message: "no"})
	}
	for _, test := range []struct {
		name   string
		fault  http.HandlerFunc // nil = the server is well
		args   string
		signal syscall.Signal // 0 = it ends without one
		code   int
	}{
		{"no answer, Ctrl-C", faults.Hang(), "nodes", syscall.SIGINT, 130},
		{"no answer, SIGTERM", faults.Hang(), "nodes", syscall.SIGTERM, 143},
		{"no answer, --exit-after", faults.Hang(), "nodes --exit-after 500ms", 0, 0},
		{"connections are closed", faults.Hangup(), "nodes", syscall.SIGINT, 130},
		{"500", busy(500), "nodes", syscall.SIGINT, 130},
		{"503", busy(503), "nodes --exit-after 500ms", 0, 0},
		{"429", faults.Throttle("1"), "nodes", syscall.SIGTERM, 143},
		{"no room for a stream", nil, "nodes --max-bytes 10", 0, 1},
		{"no room for an event", nil, "nodes --max-bytes 500", 0, 1},
		{"one type has no objects, one is refused", faults.Delay(300 * time.Millisecond), "pods,nodes --field-selector spec.nodeName=x", 0, 1},
		{"one type has no objects, one is not answered", faults.Hang(), "pods,nodes --exit-after 1s", 0, 0},
		{"no request", nil, "proxy 127.0.0.1:0", syscall.SIGINT, 130},
		{"no request, --max-bytes", nil, "proxy 127.0.0.1:0 --max-bytes 10 --exit-after 500ms", 0, 0},
		{"stdout is closed", nil, "proxy 127.0.0.1:0 >/dev/full", 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv, _ := crowd(t, 1)
			if test.fault != nil {
				srv.On(apitest.Match{Resource: "nodes"}, test.fault)
			}
			file := oldRecording(t)
			args, full := strings.CutSuffix(test.args, " >/dev/full")
			c := newChild(t, append(append([]string{"record"}, strings.Fields(args)...), "--force", "--file", file, "-s", srv.URL)...)
			if full {
				c.cmd.Args = append([]string{"sh", "-c", `exec "$0" "$@" >/dev/full`, c.cmd.Path}, c.cmd.Args[1:]...)
				c.cmd.Path = "/bin/sh"
			}
			if c.start(); test.signal != 0 {
				c.until(c.stderr, "^listwatch: record: recording ")
				c.signal(test.signal)
			}
			c.end(test.code)
			if got, want := c.stderr.String(), "listwatch: record: nothing is recorded: "+file+" is as it was\n"; !strings.Contains(got, want) || strings.Contains(got, "what came before is in it") {
				t.Errorf("stderr:\n%swant:\n%s", got, want)
			}
			isOld(t, file)
			onlyFile(t, file)
		})
	}
}

// TestRecordingOfNothingThatIsTakenAway does not overwrite what somebody else has put there.
func TestRecordingOfNothingThatIsTakenAway(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(file string) error{"removed": os.Remove, "replaced": replaced} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, _ := crowd(t, 1)
			srv.On(apitest.Match{Resource: "nodes"}, faults.Hang())
			file := oldRecording(t)
			c := newChild(t, "record", "nodes", "--force", "--file", file, "-s", srv.URL).start()
			c.until(c.stderr, "^listwatch: record: recording ")
			if err := do(file); err != nil {
				t.Fatal(err)
			}
			c.end(1)
			if name == "removed" {
				isOld(t, file)
				onlyFile(t, file)
				return
			}
			if b, err := os.ReadFile(file); string(b) != "other" {
				t.Errorf("the other file is now %q, %v", b, err)
			}
			_, rest, _ := strings.Cut(c.stderr.String(), "; what was there before is ")
			isOld(t, strings.TrimSuffix(rest, "\n"))
		})
	}
}

// TestRecordingSaysWhereTheOldOneIs, which would be hard to find after a kill -9.
func TestRecordingSaysWhereTheOldOneIs(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"events": {"nodes"}, "traffic": {"proxy", "127.0.0.1:0"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, _ := crowd(t, 1)
			srv.On(apitest.Match{Resource: "nodes"}, faults.Hang())
			file := oldRecording(t)
			c := newChild(t, append(append([]string{"record"}, args...), "--force", "--file", file, "-s", srv.URL)...).start()
			const says = " until something is recorded, the old file is "
			c.until(c.stderr, says+".*\n")
			c.signal(syscall.SIGKILL)
			<-c.done
			_, rest, _ := strings.Cut(c.stderr.String(), says)
			old, _, _ := strings.Cut(rest, "\n")
			isOld(t, old)
		})
	}
}

// TestRecordProxyReplacesOnceItHasAnExchange, before it ends.
func TestRecordProxyReplacesOnceItHasAnExchange(t *testing.T) {
	t.Parallel()
	srv, _ := crowd(t, 1)
	file := oldRecording(t)
	c := newChild(t, "record", "proxy", "127.0.0.1:0", "--force", "--file", file, "-s", srv.URL).start()
	c.until(c.stdout, "^http://.*\n")
	get(t, strings.TrimSuffix(c.stdout.String(), "\n")+"/api/v1/nodes")
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 6000 {
		if all, err := os.ReadDir(filepath.Dir(file)); err != nil || len(all) == 1 {
			break
		}
		<-tick.C
	}
	onlyFile(t, file)
	c.signal(syscall.SIGINT)
	c.end(130)
	if rec, err := replay.Open(file); err != nil || rec.Truncated {
		t.Errorf("%v, %v", rec, err)
	}
}

// oldRecording returns a file that --force may replace.
func oldRecording(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.lwrec.ndjson")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// isOld checks that file is that of oldRecording.
func isOld(t *testing.T, file string) {
	t.Helper()
	if b, err := os.ReadFile(file); string(b) != "old" {
		t.Errorf("%s: %q, %v", file, b, err)
	}
}
