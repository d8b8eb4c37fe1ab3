package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/signals"
	"github.com/listwatch/listwatch/kube"
)

// servedRun is a run of the program that prints a URL.
type servedRun struct {
	url            string
	stdout, stderr *tail
	stop           func() (code int)
}

func serveProgram(t *testing.T, args ...string) *servedRun {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &servedRun{stdout: newTail(), stderr: newTail()}
	done, code := make(chan struct{}), 0
	go func() {
		defer close(done)
		code = run(ctx, args, func(string) string { return "" }, strings.NewReader(""), s.stdout, s.stderr)
	}()
	s.stop = func() int {
		cancel(signals.Signal{Sig: syscall.SIGINT})
		<-done
		return code
	}
	t.Cleanup(func() { s.stop() })
	limit, release := context.WithTimeout(ctx, 20*time.Second)
	defer release()
	line := regexp.MustCompile(`(?m)^(https?://|unix:)\S+$`)
	if !s.stdout.wait(limit, done, line) {
		t.Fatalf("%v printed no URL\nstdout: %s\nstderr: %s", args, s.stdout, s.stderr)
	}
	s.url = line.FindString(s.stdout.String())
	return s
}

func get(t *testing.T, url string, header ...string) (code int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// runProgram runs the program to its end.
func runProgram(t *testing.T, stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	out, errs := newTail(), newTail()
	code = run(t.Context(), args, func(string) string { return "" }, stdin, out, errs)
	return code, out.String(), errs.String()
}

// TestRecordProxyLendsCredentials: a client without any gets what the program
// may, a web page gets nothing; and what was recorded is answered again.
func TestRecordProxyLendsCredentials(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{TLS: true, Token: "hush"}, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"b"}}`})
	dir := t.TempDir()
	kubeconfig, file := filepath.Join(dir, "k"), filepath.Join(dir, "x.lwrec.ndjson")
	if err := os.WriteFile(kubeconfig, srv.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	rec := serveProgram(t, "record", "proxy", "127.0.0.1:0", "--file", file, "--kubeconfig", kubeconfig)
	path := kube.ConfigMaps.Path("a")
	code, body := get(t, rec.url+path)
	if code != 200 || !strings.Contains(body, `"name":"b"`) {
		t.Errorf("through the proxy: %d %s", code, body)
	}
	for _, header := range [][]string{{"Origin", "https://example.com"}, {"Host", "example.com"}, {"Host", "example.com:80"}} {
		if code, _ := get(t, rec.url+path, header...); code != http.StatusForbidden {
			t.Errorf("%v: %d, want 403", header, code)
		}
	}
	if code := rec.stop(); code != 130 {
		t.Errorf("exit code %d, want 130\n%s", code, rec.stderr)
	}
	b, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(b), "hush") || strings.Contains(string(b), "another") {
		t.Errorf("the recording (%v) holds a credential:\n%s", err, b)
	}

	again := serveProgram(t, "replay", file, "--serve", "script", "--fast")
	if code, played := get(t, again.url+path); code != 200 || played != body {
		t.Errorf("replayed: %d %s\nwant %s", code, played, body)
	}
	if code, _ := get(t, again.url+"/version"); code != http.StatusServiceUnavailable {
		// The cluster's version was asked by us, not through the proxy.
		t.Errorf("what was not asked: %d, want 503", code)
	}
	again.stop()
	if want := "had no answer: GET /version"; !strings.Contains(again.stderr.String(), want) {
		t.Errorf("stderr %s\nwant %s", again.stderr, want)
	}
}

// TestReplayServesStates: a client sees what the recorder saw, also of a file
// that was cut.
func TestReplayServesStates(t *testing.T) {
	srv := apitest.New(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"b"}}`},
		apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"c"}}`})
	file := filepath.Join(t.TempDir(), "y.lwrec.ndjson")
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	stderr, done := newTail(), make(chan int)
	go func() {
		done <- run(ctx, []string{"record", "configmaps", "-A", "--file", file, "-s", srv.URL}, func(string) string { return "" }, nil, newTail(), stderr)
	}()
	for synced := false; !synced; {
		b, _ := os.ReadFile(file) // it is there with the first entry
		if synced = strings.Contains(string(b), `"SYNCED"`); !synced && ctx.Err() != nil {
			t.Fatalf("record: %d %s", <-done, stderr)
		}
		<-time.After(10 * time.Millisecond)
	}
	stop()
	<-done
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(b), string(b[:len(b)-150])} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		play := serveProgram(t, "replay", file, "--serve", "state", "--fast")
		limit, release := context.WithTimeout(t.Context(), 20*time.Second)
		if !play.stderr.wait(limit, limit.Done(), regexp.MustCompile("all changes are made")) {
			t.Fatalf("stderr: %s", play.stderr)
		}
		release()
		code, stdout, stderr := runProgram(t, nil, "list", "configmaps", "-A", "-o", "name", "-s", play.url)
		if code != 0 || stdout != "configmap/b\nconfigmap/c\n" {
			t.Errorf("list: %d %s%s", code, stdout, stderr)
		}
		play.stop()
	}
	if code, stdout, _ := runProgram(t, nil, "replay", file, "--info"); code != 0 || !strings.Contains(stdout, "cut: it plays as far as it goes") {
		t.Errorf("info of a file that was cut: %d\n%s", code, stdout)
	}
}

// TestReplaySteps: one entry for each line of stdin, or as many as it says, also none.
func TestReplaySteps(t *testing.T) {
	srv := apitest.New(t)
	for i := range 4 {
		srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"c%d"}}`, i))
	}
	file := filepath.Join(t.TempDir(), "x.lwrec.ndjson.gz")
	if code, _, stderr := runProgram(t, nil, "record", "configmaps", "-A", "--file", file, "--max-events", "4", "-s", srv.URL); code != 0 {
		t.Fatalf("record: %d %s", code, stderr)
	}
	in, typed := io.Pipe()
	defer typed.Close()
	stdout, done := newTail(), make(chan int)
	go func() {
		done <- run(t.Context(), []string{"replay", file, "--step", "-o", "name", "--output-watch-events"}, func(string) string { return "" }, in, stdout, newTail())
	}()
	limit, release := context.WithTimeout(t.Context(), 20*time.Second)
	defer release()
	for _, step := range []struct{ line, want string }{
		{"0\n\n0\n\n0\n", "^ADDED configmap/c0\n$"}, // RESTART and the first object
		{"2\n", "^ADDED configmap/c0\nADDED configmap/c1\nADDED configmap/c2\n$"},
	} {
		if _, err := io.WriteString(typed, step.line); err != nil {
			t.Fatal(err)
		}
		if !stdout.wait(limit, limit.Done(), regexp.MustCompile(step.want)) {
			t.Fatalf("after %q: %s", step.line, stdout)
		}
	}
	typed.Close()
	if code := <-done; code != 0 || !strings.HasSuffix(stdout.String(), "ADDED configmap/c3\n") {
		t.Errorf("at the end: %d %s", code, stdout)
	}
}

// TestReplayStepsByALargeNumber: one that no int can have is all that there are.
func TestReplayStepsByALargeNumber(t *testing.T) {
	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer typed.Close() // not before the replay has ended
	if _, err := io.WriteString(typed, "99999999999999999999\n"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if code := run(ctx, []string{"replay", recordings + "/drain.lwrec.ndjson.gz", "--step"}, func(string) string { return "" }, in, io.Discard, newTail()); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestReplayLeavesStdinAlone: what it did not need is there for who comes next.
func TestReplayLeavesStdinAlone(t *testing.T) {
	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer typed.Close()
	if _, err := io.WriteString(typed, "2\n"); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runProgram(t, in, "replay", recordings+"/drain.lwrec.ndjson.gz", "--step", "--max-events", "1"); code != 0 {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	if _, err := io.WriteString(typed, "x"); err != nil {
		t.Fatal(err)
	}
	if err := in.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	if _, err := in.Read(b); err != nil || string(b) != "x" {
		t.Errorf("read %q, %v, want the x that was typed after the program", b, err)
	}
}

const recordings = "../../testdata/recordings"

// TestReplayTellsTheWholeStory: the streams in the order of what happened, with the
// marks, and with what watch would have said: cuts, 410, listings.
func TestReplayTellsTheWholeStory(t *testing.T) {
	for _, test := range []struct {
		file  string
		story []string // lines that come in this order, among others
	}{
		{"gone-storm.lwrec.ndjson", []string{
			"ADDED event/a", "listwatch: mark: round 1: cut, changed, compacted",
			"listwatch: events: watch broken after DUR (connection reset by the server), resuming at rv=NUM in DUR",
			"listwatch: events: cannot watch: ", "listwatch: events: watching again after DUR",
			"DELETED event/a", "listwatch: events: history expired (410); relisted 7 objects: 1 modified, 1 deleted while away",
			"listwatch: mark: round 2: cut, changed, compacted", "DELETED event/b",
			"listwatch: mark: the apiserver loses its watch caches", "DELETED configmap/b",
			"listwatch: configmaps: history expired (410); relisted 2 objects: 1 added, 1 deleted while away",
			"listwatch: mark: the storm is over",
		}},
		{"crd-added.lwrec.ndjson", []string{
			"listwatch: customresourcedefinitions.apiextensions.k8s.io: no objects",
			"listwatch: widgets.example.com: cannot watch: ", "listwatch: mark: the CRD is made",
			"ADDED customresourcedefinition.apiextensions.k8s.io/widgets.example.com",
			"listwatch: widgets.example.com: no objects in namespace default",
			"ADDED widget.example.com/a", "DELETED widget.example.com/b", "listwatch: mark: the CRD is deleted",
			"DELETED widget.example.com/a", "DELETED customresourcedefinition.apiextensions.k8s.io/widgets.example.com",
			"listwatch: widgets.example.com: watch closed by server after DUR, resuming at rv=NUM",
			"listwatch: mark: the CRD is made again",
			"listwatch: widgets.example.com: history expired (410); relisted 0 objects: nothing changed while away",
			"ADDED widget.example.com/a",
		}},
	} {
		t.Run(test.file, func(t *testing.T) {
			both := newTail() // stdout and stderr: their order matters
			code := run(t.Context(), []string{"replay", recordings + "/" + test.file, "--fast", "-o", "name", "--output-watch-events"}, func(string) string { return "" }, nil, both, both)
			before := ""
			for line := range strings.Lines(both.String()) {
				if line == before && strings.HasPrefix(line, "listwatch: ") { // pauses are random
					t.Errorf("it is told twice: %s", line)
				}
				before = line
			}
			text := regexp.MustCompile(`\b[0-9.]+m?s\b`).ReplaceAllString(both.String(), "DUR")
			text = regexp.MustCompile(`rv=[0-9]+`).ReplaceAllString(text, "rv=NUM")
			if code != 0 {
				t.Errorf("exit code %d", code)
			}
			rest := "\n" + text
			for _, line := range test.story {
				_, after, found := strings.Cut(rest, "\n"+line)
				if !found {
					t.Fatalf("%q does not follow in:\n%s\nwhole:\n%s", line, rest, text)
				}
				rest = after
			}
		})
	}
}

// TestReplayServesTheCorpus: the last state of each recording can be listed, and a
// script says what it answers.
func TestReplayServesTheCorpus(t *testing.T) {
	for file, last := range map[string]struct{ types, names string }{
		"crd-added.lwrec.ndjson":  {"widgets", "widget.example.com/a\n"},
		"drain.lwrec.ndjson.gz":   {"nodes", "node/node-a\nnode/node-b\n"},
		"gone-storm.lwrec.ndjson": {"configmaps", "configmap/a\nconfigmap/c\n"},
		"restart.lwrec.ndjson":    {"configmaps,services", "configmap/a\nconfigmap/c\nconfigmap/d\nservice/front\n"},
	} {
		t.Run(file, func(t *testing.T) {
			play := serveProgram(t, "replay", recordings+"/"+file, "--serve", "state", "--fast")
			limit, release := context.WithTimeout(t.Context(), 20*time.Second)
			defer release()
			if !play.stderr.wait(limit, limit.Done(), regexp.MustCompile("all changes are made")) {
				t.Fatalf("stderr: %s", play.stderr)
			}
			code, stdout, stderr := runProgram(t, nil, "list", last.types, "-A", "-o", "name", "-s", play.url)
			if code != 0 || stdout != last.names {
				t.Errorf("list: %d %s%s", code, stdout, stderr)
			}
		})
	}
	script := serveProgram(t, "replay", recordings+"/crd-added.lwrec.ndjson", "--serve", "script", "--fast")
	script.stop()
	for _, want := range []string{"listwatch: replay: GET /apis/example.com/v1: ", "discovery is not in it"} {
		if !strings.Contains(script.stderr.String(), want) {
			t.Errorf("stderr %s\nwant %s", script.stderr, want)
		}
	}
}
