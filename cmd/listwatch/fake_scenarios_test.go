//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/signals"
	"github.com/listwatch/listwatch/internal/exit"
)

// playScenarios runs fake test to its end, with a client.
func playScenarios(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), append([]string{"fake", "test"}, args...), func(string) string { return "" }, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}

// TestScenariosOfACommand: the verdicts come in the order in which the scenarios
// were named, whichever ends first.
func TestScenariosOfACommand(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := playScenarios(t, "tcp/closed", "http/500-once", "gone/as-*", "-q", "--", "env", "LISTWATCH_TEST_MAIN=1",
		exe, "watch", "configmaps", "-n", "default", "-q", "-o", "none", "--initial-list", "paged", "--max-failures", "-1")
	if code != 0 || stderr != "" {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	var lines []string
	for line := range strings.Lines(stdout) {
		if !strings.HasPrefix(line, " ") { // a request
			lines = append(lines, line)
		}
	}
	want := []string{"tcp/closed: pass\n", "http/500-once: pass\n", "gone/as-status: pass\n"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestScenariosOfATable: the default output asks for Tables, in which the objects are
// in rows.
func TestScenariosOfATable(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := playScenarios(t, "http/500-once", "-q", "--", "env", "LISTWATCH_TEST_MAIN=1",
		exe, "watch", "configmaps", "-A", "-q", "--max-failures", "-1")
	if code != 0 || stdout != "http/500-once: pass\n" || stderr != "" {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestScenariosOfAClientThatEnds: it fails at once, and what it said is told.
func TestScenariosOfAClientThatEnds(t *testing.T) {
	code, stdout, stderr := playScenarios(t, "gone/in-stream", "tcp/go-away", "-o", "json", "--parallel", "1", "--",
		"sh", "-c", `test -s "$KUBECONFIG" && echo "$LISTWATCH_SCENARIO ${LISTWATCH_URL%:*} ${LISTWATCH_CA_FILE##*/}"; exit 3`)
	if code != exit.CodeFailed {
		t.Errorf("exit code %d", code)
	}
	const wantOut = `{"scenario":"gone/in-stream","outcome":"fail","reason":"the client ended before the story did: exit status 3","requests":[]}
{"scenario":"tcp/go-away","outcome":"fail","reason":"the client ended before the story did: exit status 3","requests":[]}
`
	const wantErr = `listwatch: gone/in-stream: client: gone/in-stream http://127.0.0.1
listwatch: tcp/go-away: client: tcp/go-away https://127.0.0.1 tcp-go-away.crt
listwatch: fake: 0 passed, 2 failed, 0 not exercised
listwatch: 2 of 2 scenarios failed: gone/in-stream, tcp/go-away
`
	if diff := cmp.Diff([]string{wantOut, wantErr}, []string{stdout, stderr}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestScenariosEndTheirClients: whoever stops the program stops the client too, and
// nothing of it stays.
func TestScenariosEndTheirClients(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, stop := context.WithCancelCause(t.Context())
	stdout, stderr := newTail(), newTail()
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"fake", "test", "gone/in-stream", "--", "sh", "-c", "trap 'echo ended; exit' TERM; echo begun; for i in $(seq 6000); do sleep 0.01; done"},
			func(string) string { return "" }, strings.NewReader(""), stdout, stderr)
	}()
	never := make(chan struct{})
	if !stderr.wait(t.Context(), never, regexp.MustCompile("client: begun")) {
		t.Fatal("no client")
	}
	stop(signals.Signal{Sig: syscall.SIGTERM})
	if code := <-done; code != 143 {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(stderr.String(), "client: ended") {
		t.Errorf("the client was not told to end:\n%s", stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
