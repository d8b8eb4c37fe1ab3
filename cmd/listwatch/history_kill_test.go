//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/internal/archive"
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

// TestHistoryOfAPause: a process that is stopped for a while says in its history that what
// changed meanwhile has a later time.
func TestHistoryOfAPause(t *testing.T) {
	srv := apitest.New(t)
	dir := filepath.Join(t.TempDir(), "history")
	srv.Put(kube.Pods, `{"metadata":{"namespace":"shop","name":"a"},"spec":{"containers":[{"name":"app","image":"web:1"}]}}`)
	page := newChild(t, "ui", "--listen", "127.0.0.1:0", "--history", dir, "-s", srv.URL).start()
	page.until(page.stderr, `^ui: http`)
	for code := -1; code != 0; { // until it has listed
		code, _, _ = runProgram(t, strings.NewReader(""), "list", "pods", "-n", "shop", "--at", "0s", "--history", dir)
	}
	<-time.After(2 * time.Second) // in which it notes that it runs
	stopped := time.Now()
	page.signal(syscall.SIGSTOP)
	<-time.After(7 * time.Second)
	continued := time.Now()
	page.signal(syscall.SIGCONT)
	<-time.After(2 * time.Second)
	page.signal(syscall.SIGTERM)
	page.end(143)
	d, err := archive.Open(dir, srv.URL, archive.Limits{Bytes: 1 << 20, Age: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	pods := 0
	for e, err := range d.Entries() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Gap == nil || e.Resource != kube.Pods {
			continue
		}
		pods++
		if from, to := time.UnixMilli(e.Gap.From), time.UnixMilli(e.Gap.To); from.After(stopped) || stopped.Sub(from) > 2*time.Second || to.Before(continued.Add(-time.Millisecond)) || !strings.Contains(e.Gap.Reason, "stood still") {
			t.Errorf("stopped from %v to %v: %+v", stopped, continued, e.Gap)
		}
	}
	if pods != 1 {
		t.Errorf("%d gaps of pods", pods)
	}
}

// TestTypesThatAHistoryDoesNotHave: list --at does not say that there were no objects of a
// type whose states are not kept, and warns about the types that it lists alone; '*' shows
// what there is, without words about the server that list makes for it.
func TestTypesThatAHistoryDoesNotHave(t *testing.T) {
	dir := t.TempDir()
	d, err := archive.Open(dir, "cluster", archive.Limits{Bytes: 1 << 20, Age: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-time.Minute)
	at := func(after time.Duration) string { return began.Add(after).UTC().Format(time.RFC3339Nano) }
	for i, r := range []kube.Resource{kube.Pods, kube.ConfigMaps} {
		if _, err := d.Begin(r, nil, began.Add(time.Duration(i)*40*time.Second).UnixMilli(), "", slices.Values([]archive.State(nil))); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	clock := began.Add(40 * time.Second).UTC().Format(time.RFC3339)
	for _, tt := range []struct {
		types string
		after time.Duration
		code  int
		want  string
	}{
		{"configmaps,configmaps", time.Hour, 0, "warning: configmaps: this is the state of " + clock + "; what was later is not known: nothing was written since\nlistwatch: no resources found in namespace default"},
		{"pods", 30 * time.Second, 0, "no resources found in namespace default"},
		{"configmaps", 50 * time.Second, 0, "no resources found in namespace default"},
		{"configmaps", 30 * time.Second, 1, "--history: there are no states of configmaps at this time; listwatch ui keeps those of types that it watches always, and never Secrets"},
		{"pods,secrets", 50 * time.Second, 1, "--history: there are no states of secrets at this time; listwatch ui keeps those of types that it watches always, and never Secrets"},
	} {
		code, stdout, stderr := runProgram(t, strings.NewReader(""), "list", tt.types, "-n", "default", "--at", at(tt.after), "--history", dir)
		if diff := cmp.Diff("listwatch: "+tt.want+"\n", stderr); diff != "" || code != tt.code || stdout != "" {
			t.Errorf("%s: %d %q (-want +got):\n%s", tt.types, code, stdout, diff)
		}
	}
	all := newChild(t, "list", "*", "-A", "-o", "name", "--at", at(50*time.Second), "--history", dir).start()
	all.end(0)
	if got := all.stderr.String(); got != "" {
		t.Errorf("stderr is %q", got)
	}
}
