package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
)

// TestRecordSurvivesKill: a recorder that is killed by SIGKILL in the middle leaves
// a file that plays up to there: every event that it had dealt with is in it.
func TestRecordSurvivesKill(t *testing.T) {
	for _, name := range []string{"x.lwrec.ndjson", "x.lwrec.ndjson.gz"} {
		t.Run("events to "+name, func(t *testing.T) {
			srv := apitest.New(t)
			want := "ADDED"
			for i := range 50 {
				srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"c%02d"}}`, i))
				want += fmt.Sprintf(" c%02d", i)
			}
			// The last event is cut: the recorder says so on stderr when it has
			// dealt with those before.
			srv.On(apitest.Match{Verb: "watch", AfterEvent: 2}, faults.CutEvent(10)).Times(1)
			file := filepath.Join(t.TempDir(), name)
			_, stderr, kill := recordProcess(t, "configmaps", "-A", "--initial-list", "paged", "--file", file, "-s", srv.URL)
			for lines := bufio.NewScanner(stderr); ; {
				if !lines.Scan() {
					t.Fatalf("it ended, %v", lines.Err())
				}
				if strings.Contains(lines.Text(), "until it is stopped") {
					if err := srv.WaitForWatches(t.Context(), 1); err != nil {
						t.Fatal(err)
					}
					for _, name := range []string{"late", "later", "latest"} {
						srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"`+name+`"}}`)
					}
				}
				if strings.Contains(lines.Text(), "cannot watch") {
					break
				}
			}
			kill()
			rec := killed(t, file)
			got := "ADDED"
			for _, e := range rec.Entries {
				if e.Kind == replay.KindEvent && e.Type == "ADDED" {
					_, after, _ := strings.Cut(string(e.Object), `"name":"`)
					name, _, _ := strings.Cut(after, `"`)
					got += " " + name
				}
			}
			if diff := cmp.Diff(want+" late later", strings.TrimSuffix(got, " latest")); diff != "" {
				t.Errorf("events (-want +recorded):\n%s", diff)
			}
			if n := len(rec.ObjectsAt(1 << 62)); n < 52 {
				t.Errorf("%d objects at the cut, want 52 at least", n)
			}
			code, stdout, errs := runProgram(t, nil, "replay", file, "--fast", "-o", "name", "--output-watch-events")
			if code != 0 || !strings.Contains(stdout, "ADDED configmap/later\n") || !strings.Contains(errs, "the recording was cut: it plays as far as it goes") {
				t.Errorf("replay: exit code %d\n%s%s", code, stdout, errs)
			}
		})
		t.Run("traffic to "+name, func(t *testing.T) {
			srv := apitest.New(t)
			file := filepath.Join(t.TempDir(), name)
			stdout, _, kill := recordProcess(t, "proxy", "127.0.0.1:0", "--file", file, "-s", srv.URL)
			url, err := bufio.NewReader(stdout).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSpace(url)+kube.ConfigMaps.Path("a")+"?watch=1", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			// What was read before the last piece is in the file, for the
			// recorder writes it before it waits for more.
			events := bufio.NewReader(resp.Body)
			for _, name := range []string{"first", "second", "third"} {
				srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"`+name+`"}}`)
				if line, err := events.ReadString('\n'); err != nil || !strings.Contains(line, name) {
					t.Fatalf("%s: %v", line, err)
				}
			}
			kill()
			text := ""
			for _, e := range killed(t, file).Entries {
				text += e.Text
			}
			for _, name := range []string{"first", "second"} {
				if !strings.Contains(text, `"name":"`+name+`"`) {
					t.Errorf("the piece with %q is lost: %s", name, text)
				}
			}
		})
	}
}

// recordProcess runs record as a process of its own.
func recordProcess(t *testing.T, args ...string) (stdout, stderr io.Reader, kill func()) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, append([]string{"record"}, args...)...)
	cmd.Env = []string{"LISTWATCH_TEST_MAIN=1", "HOME=" + t.TempDir()}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		t.Helper()
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
			t.Errorf("it ended by itself: %v", err)
		}
	}
	return out, errs, kill
}

// killed loads a file that nobody closed.
func killed(t *testing.T, file string) *replay.Recording {
	t.Helper()
	rec, err := replay.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if !rec.Truncated {
		t.Error("it was closed in good order")
	}
	return rec
}
