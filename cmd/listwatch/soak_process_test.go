//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/signals"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/replay"
)

// TestSoakOfProcesses is the same with processes over TCP: watch, with one
// checkpoint, and record are killed, stopped, interrupted and begun again every few
// seconds, are read slowly or paused, while some hundred objects a second change on
// a server that fails. The output of watch must rebuild the history, and each
// recording that of its time, up to where it was cut.
func TestSoakOfProcesses(t *testing.T) {
	t.Parallel() // most of it is waiting for processes
	length := time.Duration(*soakMinutes * float64(time.Minute))
	dir := t.TempDir()
	srv := apitest.NewWith(t, apitest.Options{TLS: true, Seed: *soakSeed, History: 5000, NoManagedFields: true,
		Resources: []apitest.ResourceInfo{{Resource: soakTypes[2]}}})
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, srv.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newRestless(srv, *soakSeed, 40, soakTypes...)
	watcher := &victim{j: newJudge(t, w), rnd: rand.New(rand.NewPCG(*soakSeed, 5)), args: connected("watch", srv, ca)}
	if *soakSeed%2 == 0 {
		watcher.j.where, watcher.args = true, append(watcher.args, "--where", soakWhere)
	}
	recorder := &victim{j: newJudge(t, w), rnd: rand.New(rand.NewPCG(*soakSeed, 6)), args: connected("record", srv, ca)}
	watcher.pace = min(time.Second, length/15)
	recorder.pace = watcher.pace
	for range 100 {
		w.act()
	}
	strikes, over := weather(t, srv, 0.03, 0.4, 200)

	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	var all sync.WaitGroup
	outages := 0
	all.Go(func() { w.run(ctx, 4*time.Millisecond) })
	all.Go(func() { outages = trouble(ctx, srv, 4*time.Second, 500*time.Millisecond) })
	state, before := filepath.Join(dir, "state"), ""
	all.Go(func() {
		for ctx.Err() == nil {
			watcher.j.begin(before, srv.URL)
			good := watcher.live(t, ctx, "-o", "ndjson", "--initial-list", []string{"auto", "paged"}[watcher.rnd.IntN(2)], "--checkpoint", state)
			if _, err := os.Stat(state); err == nil {
				if before = state; good {
					watcher.j.settled(state, srv.URL)
				}
			}
		}
	})
	all.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			file := filepath.Join(dir, fmt.Sprintf("%d.lwrec.ndjson%s", n, []string{"", ".gz"}[n%2]))
			recorder.live(t, ctx, "--file", file)
			recorder.played(t, file)
		}
	})
	all.Wait()
	over()

	watcher.j.begin(before, srv.URL)
	if code := watcher.program(t, "-o", "ndjson", "--once", "--checkpoint", state); code != 0 {
		t.Fatalf("the last watch: exit code %d: %s", code, watcher.stderr.last)
	}
	watcher.j.end()
	count := 0
	for _, r := range soakTypes {
		objects, _ := srv.List(r)
		count += len(objects)
	}
	file := filepath.Join(dir, "last.lwrec.ndjson")
	if code := recorder.program(t, "--file", file, "--max-events", strconv.Itoa(count)); code != 0 {
		t.Fatalf("the last recording: exit code %d: %s", code, recorder.stderr.last)
	}
	recorder.played(t, file)
	recorder.j.end()

	t.Logf("%v, seed %d: %d acts; %d requests; %d faults, %d outages and losses of history", length, *soakSeed, w.acts, len(srv.Requests()), strikes(), outages)
	for name, v := range map[string]*victim{"watch": watcher, "record": recorder} {
		t.Logf("%s: %d runs: %d killed, %d ended in good order, %d gave up at the start, %d paused, %d with a slow reader; %d events told, %d repeated, %d reconnects, %d lists again (%d of several moments), %d deletions found by comparing (%d of what may have been told); at most %d kB of memory",
			name, v.runs, v.killed, v.ended, v.refused, v.paused, v.slow, v.j.events, v.j.repeats, v.j.reconnects, v.j.relists, v.j.ragged, v.j.away, v.j.unknown, v.memory)
		if v.stuck > 0 || v.empty > 1+v.killed/10 {
			t.Errorf("%s: %d times it did not end, %d recordings are empty", name, v.stuck, v.empty)
		}
		long := length >= time.Minute // else it is left to luck
		if long && (v.killed == 0 || v.ended == 0 || v.j.reconnects == 0 || v.j.events < 3000) || v.memory > 300<<10 {
			t.Errorf("%s: too little happened, or too much memory was needed", name)
		}
		if testing.Verbose() {
			t.Logf("stderr:\n%s", &v.stderr)
		}
	}
}

// victim is a program that is not left in peace.
type victim struct {
	j      *judge
	rnd    *rand.Rand
	args   []string
	pace   time.Duration // a life is one to five of it
	stderr notes

	runs, killed, ended, refused, paused, slow, stuck, cut, empty int
	memory                                                        int // kB at most
}

// program runs it, in this process, to its end.
func (v *victim) program(t *testing.T, args ...string) int {
	return run(t.Context(), append(v.args, args...), func(string) string { return "" }, strings.NewReader(""), &mouth{j: v.j, left: -1}, &v.stderr)
}

// live is one life, as a process. It reports whether it ended in good order.
func (v *victim) live(t *testing.T, ctx context.Context, args ...string) bool {
	exe, err := os.Executable()
	if err != nil {
		t.Error(err)
		return false
	}
	v.runs++
	cmd := exec.CommandContext(t.Context(), exe, append(v.args, args...)...)
	cmd.Env = []string{"LISTWATCH_TEST_MAIN=1", "HOME=" + t.TempDir()}
	cmd.Stderr = &v.stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return false
	}
	slow := v.rnd.IntN(2) == 0
	if slow {
		v.slow++
	}
	read := make(chan error)
	go func() { read <- readOutput(&mouth{j: v.j, left: -1}, out, slow) }()
	ended, asked := make(chan struct{}), make(chan time.Time)
	go func() { asked <- v.torment(ctx, cmd.Process, ended) }()
	err = <-read
	_ = cmd.Wait() // the state tells
	close(ended)
	orderly := time.Since(<-asked) < signals.Graceful // else it may have given up on something
	if err != nil {
		t.Error(err)
	}
	switch code := cmd.ProcessState.ExitCode(); code {
	case -1:
		v.killed++
	case 130, 143:
		v.ended++
		return orderly
	case exit.CodeFailed:
		v.refused++
		_ = wait.For(ctx, 200*time.Millisecond)
	default:
		t.Errorf("exit code %d: %s", code, v.stderr.last)
	}
	return false
}

// torment lets it run for some seconds, and then does to it what people, schedulers
// and kernels do. It returns when it was asked to end, if it was.
func (v *victim) torment(ctx context.Context, p *os.Process, ended <-chan struct{}) (asked time.Time) {
	pass := func(d time.Duration) bool {
		select {
		case <-time.After(d):
			return true
		case <-ctx.Done():
			return true
		case <-ended:
			return false
		}
	}
	if !pass(v.pace + time.Duration(v.rnd.Int64N(int64(4*v.pace)))) {
		return asked
	}
	v.memory = max(v.memory, peak(p.Pid))
	how := v.rnd.IntN(6)
	if how > 3 {
		v.paused++
		_ = p.Signal(syscall.SIGSTOP)
		pass(time.Duration(v.rnd.IntN(2000)) * time.Millisecond)
	}
	switch how {
	case 0, 1, 4:
		_ = p.Kill()
		return asked
	case 2:
		asked = time.Now()
		_ = p.Signal(syscall.SIGINT)
	default:
		_ = p.Signal(syscall.SIGCONT)
		asked = time.Now()
		_ = p.Signal(syscall.SIGTERM)
	}
	select {
	case <-ended:
	case <-time.After(15 * time.Second):
		v.stuck++
		_ = p.Kill()
	}
	return asked
}

// peak is the most memory that a process had, in kB; 0 where the system does not
// tell.
func peak(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(b), "VmHWM:")
	kB, _, _ := strings.Cut(after, "kB")
	n, _ := strconv.Atoi(strings.TrimSpace(kB))
	return n
}

// readOutput reads what is printed, perhaps slowly.
func readOutput(m io.Writer, out io.Reader, slow bool) error {
	b := make([]byte, 32<<10)
	if slow {
		b = b[:1<<10]
	}
	for {
		n, err := out.Read(b)
		if _, err := m.Write(b[:n]); err != nil {
			return err
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if slow {
			<-time.After(10 * time.Millisecond)
		}
	}
}

// played judges a recording.
func (v *victim) played(t *testing.T, file string) {
	v.j.anew()
	rec, err := replay.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return // it never got as far
	}
	if err != nil {
		v.empty++ // it had hardly begun; more than a few are an error
		return
	}
	if rec.Truncated {
		v.cut++
	}
	var stderr notes
	code := run(t.Context(), []string{"replay", file, "--fast", "-o", "ndjson"}, func(string) string { return "" }, strings.NewReader(""), &mouth{j: v.j, left: -1}, &stderr)
	if code != 0 {
		t.Errorf("replay: exit code %d: %s", code, stderr.last)
	}
}
