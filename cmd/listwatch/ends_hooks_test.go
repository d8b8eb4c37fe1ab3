//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/signals"
	"github.com/listwatch/listwatch/kube"
)

// living makes a named pipe for hooks to hold open, and returns what waits until one
// does, and what waits until none does.
func living(t *testing.T) (path string, alive, dead func()) {
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
		t.Helper()
		select {
		case f = <-opened:
		case <-time.After(time.Minute):
			t.Fatal("no hook has begun")
		}
		t.Cleanup(func() { f.Close() })
		if _, err := io.ReadFull(f, make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
	}
	return path, alive, func() {
		t.Helper()
		if err := f.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, f); err != nil {
			t.Errorf("a hook still runs: %v", err)
		}
	}
}

// TestSignalAfterSignalLeavesNoHooks: however soon the second comes, nothing goes on that
// a hook has started. Without it they would have an hour.
func TestSignalAfterSignalLeavesNoHooks(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t, apitest.Fixture{Resource: kube.Nodes, Object: `{"metadata":{"name":"a"}}`})
	for i, first := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(fmt.Sprint(i, first), func(t *testing.T) {
			t.Parallel()
			path, alive, dead := living(t)
			c := newChild(t, "watch", "nodes", "-o", "none", "-q", "-s", srv.URL, "--exec-initial", "--exec-grace", "1h",
				"--", "sh", "-c", "trap '' TERM INT; exec 3>"+path+"; echo up >&3; sleep 1000; sleep 1000").start()
			alive()
			c.signal(first)
			c.signal(syscall.SIGTERM)
			dead()
			// A clean end, which the second only hurries, has the code of the first.
			select {
			case <-c.done:
			case <-time.After(time.Minute):
				t.Fatal("it does not end")
			}
			code, one := c.cmd.ProcessState.ExitCode(), signals.Signal{Sig: first}
			if code != 143 && code != one.Code() {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// TestHooksSurviveAClosedTerminal: SIGHUP comes from the shell and from the kernel, and
// is no wish that hooks end at once; what runs has its time.
func TestHooksSurviveAClosedTerminal(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t, apitest.Fixture{Resource: kube.Nodes, Object: `{"metadata":{"name":"a"}}`})
	path, alive, _ := living(t)
	done := filepath.Join(t.TempDir(), "done")
	c := newChild(t, "watch", "nodes", "-o", "none", "-s", srv.URL, "--exec-initial", "--exec-grace", "1m",
		"--", "sh", "-c", "trap '' TERM; exec 3>"+path+"; echo up >&3; sleep 1; echo ended >"+done).start()
	alive()
	c.signal(syscall.SIGHUP)
	c.until(c.stderr, "hooks: stopping: .*1 run may take up to")
	c.signal(syscall.SIGHUP)
	c.signal(syscall.SIGHUP)
	c.end(129)
	if b, err := os.ReadFile(done); err != nil || string(b) != "ended\n" {
		t.Errorf("the hook did not end by itself: %q, %v\n%s", b, err, c.stderr)
	}
}

// TestSignalSentTwice: timeout(1) sends its signal to the program and then to its process
// group, and a shell or npm hands on the one that the terminal has sent to all. That is
// one wish, and what runs has its time.
func TestSignalSentTwice(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t, apitest.Fixture{Resource: kube.Nodes, Object: `{"metadata":{"name":"a"}}`})
	for i, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGTERM, syscall.SIGINT} {
		t.Run(fmt.Sprint(i, sig), func(t *testing.T) {
			t.Parallel()
			path, alive, _ := living(t)
			done := filepath.Join(t.TempDir(), "done")
			c := newChild(t, "watch", "nodes", "-o", "none", "-s", srv.URL, "--exec-initial", "--exec-grace", "1m",
				"--", "sh", "-c", "trap '' TERM INT; exec 3>"+path+"; echo up >&3; sleep 1; echo ended >"+done).start()
			alive()
			began := time.Now()
			c.signal(sig)
			<-time.After(time.Millisecond) // two that are pending at once are one
			c.signal(sig)
			if between := time.Since(began); between > signals.SentTwice/2 {
				t.Logf("the second was %s behind the first: it may count", between)
				<-c.done
				return
			}
			c.end(signals.Signal{Sig: sig}.Code())
			if b, err := os.ReadFile(done); err != nil || string(b) != "ended\n" {
				t.Errorf("the hook did not end by itself: %q, %v\n%s", b, err, c.stderr)
			}
		})
	}
}

// TestSignalWhileStdoutBlocksLeavesNoHooks: who does not read does not keep us, and what
// is told to end at once by that does not go on either.
func TestSignalWhileStdoutBlocksLeavesNoHooks(t *testing.T) {
	t.Parallel()
	srv, names := crowd(t, 1)
	srv.Put(kube.Nodes, `{"metadata":{"name":"z"}}`)
	path, alive, dead := living(t)
	state := filepath.Join(t.TempDir(), "state")
	args := []string{"watch", "nodes", "-o", "name", "--output-watch-events", "--initial-list", "paged", "--checkpoint", state, "-s", srv.URL}
	c := newChild(t, append(args, "-q", "--exec-grace", "0s", "--exec-on", "DELETED",
		"--", "sh", "-c", "trap '' TERM INT; exec 3>"+path+"; echo up >&3; sleep 1000; sleep 1000")...)
	p := newClog(c)
	c.start()
	if err := srv.WaitForWatches(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	srv.Delete(kube.Nodes, kube.Key{Name: "z"})
	alive() // so all up to here is printed
	p.fill()
	names = append(names, fill(srv, 1, 1)...)
	hasNoted(c, state, names[1])
	c.signal(syscall.SIGTERM)
	c.end(143)
	dead()
	code, rest, stderr := runProgram(t, nil, append(args, "--once")...)
	if code != 0 {
		t.Fatalf("the next run: exit code %d\n%s", code, stderr)
	}
	first, next := crowdName.FindAllString(p.rest(), -1), crowdName.FindAllString(rest, -1)
	if diff := cmp.Diff([][]string{names[:1], names[1:]}, [][]string{first, next}); diff != "" {
		t.Errorf("told by the two runs (-want +got):\n%s", diff)
	}
}

// TestSecondSignalWhileStdoutBlocks ends it at once, with the code of the second.
func TestSecondSignalWhileStdoutBlocks(t *testing.T) {
	t.Parallel()
	srv, names := crowd(t, 2)
	state := filepath.Join(t.TempDir(), "state")
	args := []string{"watch", "nodes", "-o", "name", "--output-watch-events", "--initial-list", "paged", "--checkpoint", state, "-s", srv.URL}
	c := newChild(t, args...)
	p := newClog(c)
	p.fill()
	c.start()
	hasNoted(c, state, names[0])
	watches := func(n int) {
		t.Helper()
		if err := srv.WaitForWatches(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	watches(1)
	c.signal(syscall.SIGINT)
	watches(0) // two signals that are pending at once may come in either order
	c.signal(syscall.SIGTERM)
	c.end(143)
	if first := crowdName.FindString(p.rest()); first != "" || c.stderr.String() != "" {
		t.Errorf("stdout: %s\nstderr: %s", first, c.stderr)
	}
	code, rest, stderr := runProgram(t, nil, append(args, "--once")...)
	if diff := cmp.Diff(names, crowdName.FindAllString(rest, -1)); code != 0 || diff != "" {
		t.Errorf("the next run: exit code %d; told (-want +got):\n%s\n%s", code, diff, stderr)
	}
}

// TestHooksUnderConstantLoadAreNoted: there is always one that runs, and still the
// checkpoint goes on; after kill -9 only what was not finished comes again.
func TestHooksUnderConstantLoadAreNoted(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	put := func(i int) { srv.Put(kube.Nodes, fmt.Sprintf(`{"metadata":{"name":"n%d"}}`, i)) }
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	args := []string{"watch", "nodes", "-o", "none", "--checkpoint", state, "--checkpoint-policy", "after-hook", "--exec-concurrency", "2", "-s", srv.URL}
	put(1)
	// Each runs until the next one has begun, and for a minute at most: a run that is
	// aborted leaves them behind.
	c := newChild(t, append(args, "--exec-initial", "--exec", `n=${LISTWATCH_NAME#n}; echo begun $n; touch `+dir+`/$n; for i in $(seq 6000); do test -e `+dir+`/$((n+1)) && break; sleep 0.01; done`)...).start()
	const all = 12
	for i := 1; i <= all; i++ {
		c.until(c.stderr, fmt.Sprintf(`begun %d$`, i))
		if i < all {
			put(i + 1)
		}
	}
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.end(-1)
	if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(all+1)), nil, 0o600); err != nil { // the last one may end
		t.Error(err)
	}
	code, _, stderr := runProgram(t, nil, append(args, "--once", "--exec-initial", "--exec", `echo "again $LISTWATCH_EVENT $LISTWATCH_NAME"`)...)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	// As hook 11 began, 9 had ended, and that is noted with the event of 12: 10 and 11
	// may come again, for 11 may end before the kill. 12 cannot end.
	for i := 1; i <= all; i++ {
		again := strings.Contains(stderr, fmt.Sprintf("again ADDED n%d\n", i))
		if again && i < all-3 || !again && i == all {
			t.Errorf("%d comes again: %t", i, again)
		}
	}
}

// TestHooksSurviveKill kills the program again and again while objects come, change and
// go. With after-hook each event is given to a hook that ends well, and the runs repeat
// only what was not noted.
func TestHooksSurviveKill(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	dir := t.TempDir()
	state, done := filepath.Join(dir, "state"), filepath.Join(dir, "done")
	args := []string{"watch", "configmaps", "-A", "-o", "none", "-q", "--checkpoint", state, "--checkpoint-policy", "after-hook",
		"--exec-initial", "--exec-coalesce", "none", "-s", srv.URL, "--exec", `echo "$LISTWATCH_RV $LISTWATCH_EVENT $LISTWATCH_NAME" >>` + done + `; echo ran`}
	var events []string
	alive := map[string]bool{}
	act := func(i int) {
		name := fmt.Sprintf("c%d", i%7)
		if alive[name] && i%3 == 0 {
			events = append(events, fmt.Sprintf("%s DELETED %s", srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "a", Name: name}), name))
			alive[name] = false
			return
		}
		what := "ADDED"
		if alive[name] {
			what = "MODIFIED"
		}
		alive[name] = true
		rev := srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":%q},"data":{"n":"%d"}}`, name, i))
		events = append(events, fmt.Sprintf("%s %s %s", rev, what, name))
	}
	// The first list is empty, so that all there is are events.
	if code, _, stderr := runProgram(t, nil, append(slices.Clone(args), "--once")...); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	next := 0
	for run := range 6 {
		c := newChild(t, args...).start()
		for range 12 {
			act(next)
			next++
		}
		c.until(c.stderr, fmt.Sprintf(`(?s)(ran.*){%d}`, 2+run)) // at least: so all make some way
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		c.end(-1)
	}
	c := newChild(t, args...).start()
	srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"last"}}`)
	for { // hooks of one object are serial, not those of all
		b, err := os.ReadFile(done)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		missing := slices.DeleteFunc(slices.Clone(events), func(e string) bool { return slices.Contains(lines, e) })
		if len(missing) == 0 && strings.Contains(string(b), " last\n") {
			t.Logf("%d events, %d hooks", len(events)+1, len(lines))
			if more := len(lines) - len(events) - 1; more > 7*12*2 {
				t.Errorf("%d events came again", more)
			}
			for _, l := range lines {
				if !slices.Contains(events, l) && !strings.HasSuffix(l, " last") {
					t.Errorf("this never happened: %s", l)
				}
			}
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatalf("no hook had %q", missing)
		}
	}
	c.signal(syscall.SIGTERM)
	c.end(143)
}
