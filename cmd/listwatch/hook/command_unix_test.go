//go:build unix

package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// role says what the test binary is where it is run as a hook.
const role = "HOOK_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "tell": // its arguments, what it finds, and its input
		var env []string
		for _, e := range os.Environ() {
			if strings.HasPrefix(e, "LISTWATCH_") && !strings.HasPrefix(e, "LISTWATCH_FILE=") {
				env = append(env, e)
			}
		}
		slices.Sort(env)
		in, _ := io.ReadAll(os.Stdin)
		fmt.Printf("%q\n%q\n%s\n", os.Args[1:], env, in)
		if name := os.Getenv("LISTWATCH_FILE"); name != "" {
			b, err := os.ReadFile(name)
			st, _ := os.Stat(name)
			fmt.Printf("file %v %v %q\n", st.Mode(), err, b)
		}
	case "exit":
		os.Exit(7)
	}
}

// once runs the command of o for events, and returns what it printed.
func once(t *testing.T, ctx context.Context, o Options, events ...Event) (string, error) {
	t.Helper()
	var mu sync.Mutex
	var out bytes.Buffer
	o.Output = func(label, line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&out, "[%s] %s\n", label, line)
	}
	err := New(o).command(ctx, events)
	mu.Lock()
	defer mu.Unlock()
	return out.String(), err
}

func binary(t *testing.T, as string, args ...string) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(role, as)
	return append([]string{exe}, args...)
}

const about = `["LISTWATCH_API_VERSION=v1" "LISTWATCH_CLUSTER=" "LISTWATCH_EVENT=MODIFIED" "LISTWATCH_INITIAL=false" "LISTWATCH_KIND=Pod" "LISTWATCH_NAME=a" ` +
	`"LISTWATCH_NAMESPACE=shop" "LISTWATCH_RESOURCE=pods" "LISTWATCH_RV=8812" "LISTWATCH_SEQ=3" "LISTWATCH_SYNTHETIC=" "LISTWATCH_UID=u-1"]`

func TestCommandGetsTheRecord(t *testing.T) {
	for _, test := range []struct {
		name   string
		opts   Options
		events []Event
		want   string
	}{
		{"stdin", Options{}, []Event{object("a")}, "[pod/a] [\"x\" \"y\"]\n[pod/a] " + about + "\n[pod/a] {\"name\":\"a\"}\n[pod/a] \n"},
		{"args", Options{Input: Args}, []Event{object("a")}, "[pod/a] [\"x\" \"y\" \"{\\\"name\\\":\\\"a\\\"}\"]\n[pod/a] " + about + "\n[pod/a] \n"},
		{"none", Options{Input: None}, []Event{object("a")}, "[pod/a] [\"x\" \"y\"]\n[pod/a] " + about + "\n[pod/a] \n"},
		{"file", Options{Input: File}, []Event{object("a")}, "[pod/a] [\"x\" \"y\"]\n[pod/a] " + about + "\n[pod/a] \n[pod/a] file -rw------- <nil> \"{\\\"name\\\":\\\"a\\\"}\\n\"\n"},
		{"batch", Options{Batch: 9}, []Event{object("a"), object("b")}, "[2 records] [\"x\" \"y\"]\n" +
			"[2 records] [\"LISTWATCH_COUNT=2\" \"LISTWATCH_EVENT=BATCH\" \"LISTWATCH_SEQ=3\"]\n[2 records] {\"name\":\"a\"}\n[2 records] {\"name\":\"b\"}\n[2 records] \n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			test.opts.Command = binary(t, "tell", "x", "y")
			got, err := once(t, t.Context(), test.opts, test.events...)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestCommandOfADeletion(t *testing.T) {
	o := Options{Command: []string{"echo", "there"}, Delete: []string{"echo", "gone"}}
	e := object("a")
	for typ, want := range map[string]string{"ADDED": "[pod/a] there\n", "DELETED": "[pod/a] gone\n"} {
		e.Type = typ
		if got, err := once(t, t.Context(), o, e); got != want || err != nil {
			t.Errorf("%s: %q, %v", typ, got, err)
		}
	}
}

func TestCommandFails(t *testing.T) {
	huge := object("a")
	huge.Record = func(Event) ([]byte, error) { return bytes.Repeat([]byte("x"), 8<<20), nil }
	broken := object("a")
	broken.Record = func(Event) ([]byte, error) { return nil, errors.New("no JSON") }
	var never permanent
	for _, test := range []struct {
		name      string
		opts      Options
		event     Event
		want      string
		permanent bool
	}{
		{"exit code", Options{Command: binary(t, "exit")}, object("a"), "exit code 7", false},
		{"signal", Options{Command: []string{"sh", "-c", "kill -9 $$"}}, object("a"), "it was ended by a signal: killed", false},
		{"gone meanwhile", Options{Command: []string{"/no/such/file"}}, object("a"), "there is no such file: install it, or correct its path", false},
		{"not in PATH any more", Options{Command: []string{"no-such-command"}}, object("a"), "there is no such command in PATH: install it, or correct its name", false},
		{"too large for an argument", Options{Command: []string{"true"}, Input: Args}, huge, "the record is too long for an argument: give --exec-input stdin or file", true},
		{"no record", Options{Command: []string{"true"}}, broken, "make its record: no JSON", true},
		{"no temporary file", Options{Command: []string{"true"}, Input: File}, object("a"), "open DIR: no such file or directory", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.opts.Input == File {
				t.Setenv("TMPDIR", "/no/such/dir")
				test.want = "no such file or directory"
			}
			_, err := once(t, t.Context(), test.opts, test.event)
			if err == nil || !strings.HasSuffix(err.Error(), test.want) || errors.As(err, &never) != test.permanent {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestCommandNeedNotReadItsInput: more than a pipe holds, and nobody reads it.
func TestCommandNeedNotReadItsInput(t *testing.T) {
	e := object("a")
	e.Record = func(Event) ([]byte, error) { return bytes.Repeat([]byte("x"), 1<<20), nil }
	if got, err := once(t, t.Context(), Options{Command: []string{"echo", "hi"}}, e); got != "[pod/a] hi\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// life makes a named pipe, and returns it for reading: it ends when nobody who was
// started by the test has it open any more.
func life(t *testing.T) (path string, alive func(), dead func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "life")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	opened := make(chan *os.File, 1)
	go func() {
		f, _ := os.Open(path)
		opened <- f
	}()
	var f *os.File
	alive = func() {
		f = <-opened
		t.Cleanup(func() { f.Close() })
		if _, err := io.ReadFull(f, make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
	}
	return path, alive, func() {
		if err := f.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, f); err != nil {
			t.Errorf("something that the command started still runs: %v", err)
		}
	}
}

func TestCommandIsKilledWithItsGroup(t *testing.T) {
	for name, script := range map[string]string{
		"waits":       "exec 3>LIFE; echo up >&3; sleep 1000; true",
		"background":  "exec 3>LIFE; (sleep 1000; true) & echo up >&3; wait",
		"deaf":        "trap '' TERM; exec 3>LIFE; echo up >&3; sleep 1000; sleep 1000",
		"deaf inside": "exec 3>LIFE; (trap '' TERM; sleep 1000) & echo up >&3; wait",
	} {
		for _, cause := range []error{errStopped, errNow} {
			t.Run(fmt.Sprint(name, " ", cause), func(t *testing.T) {
				path, alive, dead := life(t)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				ended := make(chan error, 1)
				go func() {
					_, err := once(t, ctx, Options{Command: []string{"sh", "-c", strings.ReplaceAll(script, "LIFE", path)}}, object("a"))
					ended <- err
				}()
				alive()
				cancel(cause)
				if err := <-ended; err != cause {
					t.Errorf("got %v, want %v", err, cause)
				}
				dead()
				childless(t)
			})
		}
	}
}

// childless checks that we have neither a child nor a zombie.
func childless(t *testing.T) {
	t.Helper()
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("a child is left: %d, %v", pid, err)
	}
}

// TestCommandIsToldToEndFirst: it can give its locks back, unless it is killed at once.
func TestCommandIsToldToEndFirst(t *testing.T) {
	for cause, told := range map[error]bool{errStopped: true, errNow: false} {
		t.Run(cause.Error(), func(t *testing.T) {
			path, alive, dead := life(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var out string
			ended := make(chan error, 1)
			go func() {
				var err error
				out, err = once(t, ctx, Options{Command: []string{"sh", "-c", "trap 'echo given back; exit 0' TERM; exec 3>" + path + "; echo up >&3; for i in $(seq 6000); do sleep 0.01; done"}}, object("a"))
				ended <- err
			}()
			alive()
			cancel(cause)
			if err := <-ended; strings.HasSuffix(out, "[pod/a] given back\n") != told || err != cause {
				t.Errorf("%q, %v", out, err)
			}
			dead()
		})
	}
}

func TestCommandTimeout(t *testing.T) {
	_, err := once(t, t.Context(), Options{Command: []string{"sleep", "1000"}, Timeout: 20 * time.Millisecond}, object("a"))
	if err == nil || err.Error() != "it was killed because it took more than 20ms" {
		t.Error(err)
	}
	childless(t)
}

// TestCommandDoesNotWaitForItsBackground: what holds the output open is left alone,
// and cannot hang us.
func TestCommandDoesNotWaitForItsBackground(t *testing.T) {
	path, alive, dead := life(t)
	ended := make(chan string, 1)
	go func() {
		out, err := once(t, t.Context(), Options{Command: []string{"sh", "-c", "exec 3>" + path + "; echo up >&3; sleep 1000 & echo $!"}}, object("a"))
		if err != nil {
			t.Error(err)
		}
		ended <- out
	}()
	alive()
	var pid int
	if _, err := fmt.Sscanf(<-ended, "[pod/a] %d", &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("it does not go on: %v", err)
	}
	dead()
}

// TestCommandLinesAreBounded: one that never ends goes on in pieces.
func TestCommandLinesAreBounded(t *testing.T) {
	for _, size := range []int{1, 1000, 1 << 20} {
		var got []int
		l := &lines{give: func(s string) { got = append(got, len(s)) }}
		text := []byte("a\n\n" + strings.Repeat("x", longest) + "\n" + strings.Repeat("y", longest+5) + "\nend")
		for piece := range slices.Chunk(text, size) {
			if n, err := l.Write(piece); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
		}
		l.end()
		if diff := cmp.Diff([]int{1, 0, longest, longest, 5, 3}, got); diff != "" {
			t.Errorf("written by %d (-want +got):\n%s", size, diff)
		}
	}
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/plain", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"sh":              "",
		"no-such-command": "there is no such command in PATH: install it, or correct its name",
		dir + "/none":     "there is no such file: install it, or correct its path",
		dir + "/plain":    "it is not executable: chmod +x makes it so",
		dir:               "it cannot be started: is a directory",
	} {
		got := ""
		if err := Check([]string{command}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
	t.Chdir(dir)
	t.Setenv("PATH", ".")
	if err := os.Chmod("plain", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Check([]string{"plain"}); err == nil || !strings.Contains(err.Error(), "./") {
		t.Error(err)
	}
}
