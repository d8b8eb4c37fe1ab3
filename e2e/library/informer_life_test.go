package library_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/internal/setup"
)

// entry is a line of the log that cmd/informer writes: a delta, or a mark.
type entry struct {
	Mark string `json:"mark"`

	Type      string `json:"type"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	RV        string `json:"rv"`
	Old       string `json:"old"`
	Initial   bool   `json:"initial"`
	Inferred  bool   `json:"inferred"`

	Op     string `json:"op"`
	Millis int64  `json:"millis"`

	Objects    state               `json:"objects"`
	Namespaces map[string][]string `json:"namespaces"`
	Letters    map[string][]string `json:"letters"`
}

func (e *entry) key() string { return e.Namespace + "/" + e.Name }

// first reports whether e delivers an object of the beginning.
func (e *entry) first() bool { return e.Type == "ADDED" && e.Initial && !e.Inferred && e.Old == "" }

// live reports whether e delivers what a watch has delivered.
func (e entry) live() bool { return e.Mark == "" && !e.Initial && !e.Inferred }

// lists reports whether e is the mark of a request for the collection.
func (e *entry) lists() bool { return e.Mark == "requested" && e.Op != "watch" }

// beginning is what a life of the informer starts from.
type beginning string

const (
	cold    beginning = "cold"    // no snapshot
	served  beginning = "served"  // a snapshot, from which on the server has history
	expired beginning = "expired" // one from which on it has none
)

// life is a process that runs the informer, from its start to its end.
type life struct {
	*lives
	number   int
	from     beginning
	snapshot *snapshot // nil if it is cold
	at       int       // writes before its start
	cmd      *exec.Cmd
	stdin    io.WriteCloser
	stderr   *bytes.Buffer // to be read after the end
	ended    chan struct{}

	entries []entry
	marks   map[string]int
	state   state // what its deltas add up to
	waited  bool  // its end was seen

	cut       bool // it ends before it has delivered its beginning, or a first list
	restarted bool // the apiserver was, during it
	noting    bool // it was killed when it had noted an addition, and not delivered it
	stopped   bool // it ended in good order
	damaged   bool // the snapshot was, after it

	checked bool
	added   []delivery // after the beginning
	moments []moment   // at which it may have saved
}

// snapshot is what the file held before a life began.
type snapshot struct {
	revision string
	state    state
	position int // writes before it
	file     os.FileInfo
}

func (h *lives) command(args ...string) *exec.Cmd {
	args = append([]string{"-snapshot", h.path, "-cluster", h.id}, args...)
	cmd := exec.CommandContext(h.ctx, h.program, args...)
	cmd.Env = append(os.Environ(), "GORACE=halt_on_error=1 atexit_sleep_ms=10") // by default each end takes a second
	return cmd
}

// read returns what the snapshot file holds now.
func (h *lives) read() *snapshot {
	h.Helper()
	out, err := h.command("-read").Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		h.Fatal(err)
	}
	var e entry
	h.must(json.Unmarshal(out, &e))
	return &snapshot{revision: e.RV, state: e.Objects}
}

// launch starts a life that saves as often as every says and, if hold is not
// empty, stops where that says.
func (h *lives) launch(from beginning, snap *snapshot, every time.Duration, hold string) *life {
	h.Helper()
	l := &life{
		lives: h, number: h.number, from: from, snapshot: snap, at: len(h.ledger.written()),
		stderr: new(bytes.Buffer), ended: make(chan struct{}), marks: map[string]int{}, state: state{},
		cmd: h.command("-kubeconfig", h.kubeconfig, "-log", h.log.Name(), "-every", every.String()),
	}
	h.number++
	h.now = l
	l.cmd.Stderr = l.stderr
	var err error
	l.stdin, err = l.cmd.StdinPipe()
	h.must(err)
	h.must(l.cmd.Start())
	go func() {
		_ = l.cmd.Wait() // ProcessState has the reason
		close(l.ended)
	}()
	h.Cleanup(func() {
		_ = l.cmd.Process.Kill() // fails if it has ended, as it should have
		<-l.ended
		if h.Failed() && l == h.now {
			h.Logf("life %d, stderr:\n%s", l.number, l.stderr)
		}
	})
	if hold != "" {
		l.send("hold " + hold)
	}
	l.send("run")
	return l
}

func (l *life) send(line string) {
	l.Helper()
	if _, err := io.WriteString(l.stdin, line+"\n"); err != nil {
		l.Fatalf("life %d: %v", l.number, err)
	}
}

// take reads what was logged since. The end of a line that a kill has cut off is
// no acknowledgement.
func (l *life) take() {
	l.Helper()
	b, err := io.ReadAll(l.log)
	l.must(err)
	l.torn = append(l.torn, b...)
	for {
		line, rest, whole := bytes.Cut(l.torn, []byte("\n"))
		if !whole {
			return
		}
		l.torn = rest
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			l.Fatalf("life %d: line %.200q: %v", l.number, line, err)
		}
		l.entries = append(l.entries, e)
		switch {
		case e.Mark != "":
			l.marks[e.Mark]++
		case e.Type == "DELETED":
			delete(l.state, e.key())
			if l.known[e.UID] < l.number {
				l.inherited[l.from]++
			}
			delete(l.known, e.UID)
		default:
			l.state[e.key()] = e.UID + "@" + e.RV
			if _, known := l.known[e.UID]; !known {
				l.known[e.UID] = l.number
			}
		}
	}
}

// until waits for lines until cond holds.
func (l *life) until(what string, cond func() bool) {
	l.Helper()
	ctx, cancel := context.WithTimeoutCause(l.ctx, setup.Patience, fmt.Errorf("not within %s", setup.Patience))
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		l.take()
		if cond() {
			return
		}
		select {
		case <-tick.C:
		case <-l.ended:
			l.Fatalf("life %d ended: %v, while the test waited for %s\n%s", l.number, l.cmd.ProcessState, what, l.stderr)
		case <-ctx.Done():
			l.Fatalf("life %d: wait for %s: %v; last lines %+v; what it delivered (-written +delivered):\n%s", l.number, what,
				context.Cause(ctx), l.entries[max(0, len(l.entries)-2):], cmp.Diff(l.ledger.now(), l.state))
		}
	}
}

// marked waits for one more mark of a kind than before.
func (l *life) marked(what string, before int) {
	l.Helper()
	l.until(what, func() bool { return l.marks[what] > before })
}

// last returns its last mark of a kind, of which there is one.
func (l *life) last(mark string) entry {
	for _, e := range slices.Backward(l.entries) {
		if e.Mark == mark {
			return e
		}
	}
	return entry{}
}

// hold lets it stop for good, at a delta or an object from now.
func (l *life) hold(when string, n int) {
	l.Helper()
	before := l.marks["will hold"]
	l.send(fmt.Sprintf("hold %s %d", when, n))
	l.marked("will hold", before)
}

func (l *life) held() {
	l.Helper()
	l.marked("held", 0)
}

// kill ends it by SIGKILL, wherever it is.
func (l *life) kill() {
	l.Helper()
	l.must(l.cmd.Process.Kill())
	<-l.ended
	if code := l.cmd.ProcessState.ExitCode(); code != -1 {
		l.Errorf("life %d: exit code %d: it ended before it was killed\n%s", l.number, code, l.stderr)
	}
	l.end()
}

// stop lets it end in good order, and save.
func (l *life) stop() {
	l.Helper()
	l.must(l.stdin.Close())
	select {
	case <-l.ended:
	case <-time.After(setup.Patience):
		l.Fatalf("life %d goes on %s after the end of its stdin", l.number, setup.Patience)
	}
	if code := l.cmd.ProcessState.ExitCode(); code != 0 {
		l.Errorf("life %d: exit code %d\n%s", l.number, code, l.stderr)
	}
	l.stopped = true
	l.end()
}

func (l *life) end() {
	l.Helper()
	l.take()
	if len(l.torn) > 0 {
		size, err := l.log.Seek(0, io.SeekCurrent)
		l.must(err)
		l.must(os.Truncate(l.log.Name(), size-int64(len(l.torn))))
		_, err = l.log.Seek(-int64(len(l.torn)), io.SeekCurrent)
		l.must(err)
		l.torn = nil
	}
	l.waited = true
	if strings.Contains(l.stderr.String(), "DATA RACE") {
		l.Errorf("life %d:\n%s", l.number, l.stderr)
	}
}
