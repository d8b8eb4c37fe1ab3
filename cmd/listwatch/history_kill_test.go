//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// TestHistorySurvivesKill: ui --history is killed by SIGKILL, and list --at shows what it
// had written; another run goes on, ends by SIGTERM, and a third process may not use the
// folder meanwhile.
func TestHistorySurvivesKill(t *testing.T) {
	srv := apitest.New(t)
	dir := filepath.Join(t.TempDir(), "history")
	pod := func(name, phase string) {
		srv.Put(kube.Pods, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q},"spec":{"containers":[{"name":"app","image":"web:1"}]},"status":{"phase":%q}}`, name, phase))
	}
	pods := func(at string, args ...string) []string {
		t.Helper()
		code, stdout, stderr := runProgram(t, strings.NewReader(""), append([]string{"list", "pods", "-n", "shop", "--no-headers", "-o", "custom-columns=N:.metadata.name,P:.status.phase", "--at", at, "--history", dir}, args...)...)
		if code != 0 {
			t.Logf("%d %s", code, stderr)
			return nil
		}
		var lines []string
		for l := range strings.Lines(stdout) {
			lines = append(lines, strings.Join(strings.Fields(l), " "))
		}
		return lines
	}
	until := func(want ...string) {
		t.Helper()
		for got := pods("0s"); !cmp.Equal(want, got); got = pods("0s") {
			select {
			case <-t.Context().Done():
				t.Fatalf("got %q, want %q", got, want)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	pod("a", "Pending")
	args := []string{"ui", "--listen", "127.0.0.1:0", "--history", dir, "-s", srv.URL}
	first := newChild(t, args...).start()
	first.until(first.stderr, `^ui: http`)
	until("a Pending")
	pod("a", "Running")
	pod("b", "Pending")
	until("a Running", "b Pending")
	killed := time.Now().UTC().Format(time.RFC3339Nano)
	first.signal(syscall.SIGKILL)
	first.end(-1)
	pod("b", "Failed")

	second := newChild(t, args...).start()
	second.until(second.stderr, `^ui: http`)
	until("a Running", "b Failed")
	if diff := cmp.Diff([]string{"a Running", "b Pending"}, pods(killed)); diff != "" {
		t.Errorf("when it was killed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b Pending"}, pods(killed, "--field-selector", "metadata.name=b")); diff != "" {
		t.Errorf("selected (-want +got):\n%s", diff)
	}
	third := newChild(t, args...).start()
	third.end(1)
	if got := third.stderr.String(); !strings.Contains(got, fmt.Sprintf("locked by process %d", second.cmd.Process.Pid)) {
		t.Errorf("a third process says %s", got)
	}
	second.signal(syscall.SIGTERM)
	second.end(143)
	if diff := cmp.Diff([]string{"a Running", "b Failed"}, pods("0s")); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
}
