package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cmd/listwatch/checkpoint"
	"github.com/listwatch/listwatch/kube"
)

// TestCheckpointSurvivesKill kills the program by SIGKILL at random moments, again
// and again, while objects come, change and go. What its runs have printed must
// rebuild the server's history: each event where the server keeps the history, else
// the last state of each object and each deletion of what was told; and nothing
// twice but what a process printed last, just as it died.
func TestCheckpointSurvivesKill(t *testing.T) {
	for _, test := range []struct {
		name  string
		loses bool // the server forgets its history from time to time
		flags []string
	}{
		{"the history is kept", false, []string{"--list", "stream"}},
		{"the history is lost", true, []string{"--list", "paged", "--chunk-size", "7"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // most of it is waiting for processes
			srv := apitest.New(t)
			srv.On(apitest.Match{Verb: "watch", AfterEvent: 30}, apitest.EndStream()).Times(5)
			srv.On(apitest.Match{Verb: "watch", AfterEvent: 12}, apitest.CutEvent(10)).Times(1)
			w := &restless{srv: srv, rnd: rand.New(rand.NewPCG(1, 2)), loses: test.loses, alive: map[string]bool{}}
			for range 30 {
				w.act()
			}
			state := filepath.Join(t.TempDir(), "state")
			rnd := rand.New(rand.NewPCG(3, 4))
			var runs []string
			noted := []noted{{}}
			for range 15 {
				runs = append(runs, runAndKill(t, w, rnd, append(test.flags, "--checkpoint", state, "-s", srv.URL)))
				noted = append(noted, notedIn(t, state, srv.URL))
				for range rnd.IntN(4) {
					w.act()
				}
			}
			// The last one is asked for all there is.
			code, stdout, stderr := runProgram(t, nil, append(test.flags, "watch", "configmaps", "-A", "-o", "ndjson", "--once", "--checkpoint", state, "-s", srv.URL)...)
			if code != 0 || strings.Contains(stderr, "cannot be used") {
				t.Fatalf("the last run: exit code %d\n%s", code, stderr)
			}
			w.judge(t, append(runs, stdout), noted)
		})
	}
}

// runAndKill runs the program while w writes, kills it after so many lines and a
// random moment, and returns what it printed.
func runAndKill(t *testing.T, w *restless, rnd *rand.Rand, flags []string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, append([]string{"watch", "configmaps", "-A", "-o", "ndjson"}, flags...)...)
	cmd.Env = []string{"LISTWATCH_TEST_MAIN=1", "HOME=" + t.TempDir()}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() { w.run(ctx) })
	lines, moment := rnd.IntN(50), time.Duration(rnd.IntN(3000))*time.Microsecond
	in := bufio.NewReader(out)
	var text strings.Builder
	for ; ; lines-- {
		if lines == 0 {
			time.AfterFunc(moment, func() { _ = cmd.Process.Kill() })
		}
		line, err := in.ReadString('\n')
		text.WriteString(line)
		if err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			break
		}
	}
	err = cmd.Wait()
	stop()
	writer.Wait()
	if cmd.ProcessState.ExitCode() != -1 || strings.Contains(stderr.String(), "cannot be used") {
		t.Fatalf("it ended by itself, or found no good checkpoint: %v\n%s", err, &stderr)
	}
	return text.String()
}

// restless changes objects, and remembers what it did.
type restless struct {
	srv     *apitest.Server
	rnd     *rand.Rand
	loses   bool
	acts    int
	alive   map[string]bool
	history []string // "REVISION TYPE NAME"
}

func (w *restless) run(ctx context.Context) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.act()
		case <-ctx.Done():
			return
		}
	}
}

func (w *restless) act() {
	w.acts++
	if w.loses && w.rnd.IntN(80) == 0 {
		w.srv.Expire()
		w.srv.CloseWatches()
	}
	name := fmt.Sprintf("c%02d", w.rnd.IntN(20))
	var rev kube.Revision
	what := "ADDED"
	switch {
	case w.alive[name] && w.rnd.IntN(4) == 0:
		what = "DELETED"
		rev = w.srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "a", Name: name})
	default:
		if w.alive[name] {
			what = "MODIFIED"
		}
		rev = w.srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":%q},"data":{"n":"%d"}}`, name, w.acts))
	}
	w.alive[name] = what != "DELETED"
	w.history = append(w.history, fmt.Sprintf("%s %s %s", rev, what, name))
}

// noted is what the checkpoint has for certain before a run.
type noted struct {
	revision int               // all up to it
	objects  map[string]string // UID to revision
	maybe    map[string]bool   // UIDs
}

func notedIn(t *testing.T, state, server string) noted {
	t.Helper()
	n := noted{objects: map[string]string{}, maybe: map[string]bool{}}
	f, states, err := checkpoint.Open(state, checkpoint.Identity{Server: server, Form: "objects", Streams: []checkpoint.Stream{{Resource: "configmaps.v1"}}})
	if err != nil {
		t.Fatal(err)
	}
	if f.Damage != nil {
		t.Fatal(f.Damage)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, o := range states[0].Objects {
		n.objects[o.UID] = string(o.Revision)
	}
	for _, o := range states[0].Maybe {
		n.maybe[o.UID] = true
	}
	n.revision, _ = strconv.Atoi(string(states[0].Revision))
	return n
}

// judge compares what the runs printed with what was done, and with what was noted
// before each.
func (w *restless) judge(t *testing.T, runs []string, noted []noted) {
	type line struct {
		Type, Name, UID, RV, Synthetic string
		Initial, FinalStateUnknown     bool
		Object                         json.RawMessage
	}
	believed := map[string]line{}
	told := map[string]int{} // to the run that told it last
	var events []string      // as the server sent them
	synced := 0              // the revision
	repeated := 0
	for i, run := range runs {
		whole := run[:strings.LastIndexByte(run, '\n')+1] // a process that dies may leave a torn line
		here := map[string]bool{}
		last := 0
		for text := range strings.Lines(whole) {
			var l line
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				t.Fatalf("run %d: %v in %s", i, err, text)
			}
			if l.Type == "SYNCED" {
				if synced > 0 {
					t.Errorf("run %d: the first list is told again", i)
				}
				synced, _ = strconv.Atoi(l.RV)
			}
			if l.Name == "" {
				continue
			}
			event := l.Type + " " + l.UID + " " + l.RV
			if l.Type == "DELETED" { // found by comparing, it has the revision of the list
				event = l.Type + " " + l.UID
			}
			if here[event] {
				t.Errorf("run %d told %s twice", i, text)
			}
			here[event] = true
			// What is repeated was not noted, and was the last that a run told.
			before := noted[i]
			_, again := told[event]
			if again {
				repeated++
			}
			told[event] = i
			if l.Type != "DELETED" && before.objects[l.UID] == l.RV || l.Type == "DELETED" && again && before.objects[l.UID] == "" && !before.maybe[l.UID] && l.Synthetic != "" {
				t.Errorf("run %d tells what was noted: %s", i, text)
			}
			if rev, _ := strconv.Atoi(l.RV); !l.Initial && l.Synthetic == "" {
				if rev <= max(last, before.revision) {
					t.Errorf("run %d goes back from %d, %d being noted: %s", i, last, before.revision, text)
				}
				if last = rev; !again {
					events = append(events, l.RV+" "+l.Type+" "+l.Name)
				}
			}
			if again {
				continue // who keeps states is further already
			}
			known, ok := believed[l.Name]
			switch {
			case l.Type == "DELETED" && !ok && !l.FinalStateUnknown:
				t.Errorf("run %d: a deletion of what nobody heard of: %s", i, text)
			case ok && known.UID != l.UID:
				t.Errorf("run %d: the end of %s %s was not told before %s", i, l.Name, known.UID, text)
			case l.Initial && synced > 0:
				t.Errorf("run %d: initial again: %s", i, text)
			}
			if believed[l.Name] = l; l.Type == "DELETED" {
				delete(believed, l.Name)
			}
		}
	}
	objects, _ := w.srv.List(kube.ConfigMaps)
	var want, got []string
	for _, o := range objects {
		want = append(want, string(o))
	}
	for _, l := range believed {
		got = append(got, string(l.Object))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("the last states (-server +told):\n%s", diff)
	}
	if !w.loses {
		var since []string
		for _, h := range w.history {
			if revisionOf(h) > synced {
				since = append(since, h)
			}
		}
		// The last run compares: up to there everything is an event.
		slices.SortFunc(events, func(a, b string) int { return cmp.Compare(revisionOf(a), revisionOf(b)) })
		if len(events) > 0 {
			end := revisionOf(events[len(events)-1])
			since = slices.DeleteFunc(since, func(h string) bool { return revisionOf(h) > end })
		}
		if diff := gocmp.Diff(since, events); diff != "" {
			t.Errorf("the events (-server +told):\n%s", diff)
		}
	}
	t.Logf("%d acts, %d events told, %d of them repeated", w.acts, len(told), repeated)
	if len(told) < 200 || synced == 0 {
		t.Errorf("too little happened: %d events", len(told))
	}
}

func revisionOf(h string) int {
	rev, _, _ := strings.Cut(h, " ")
	n, _ := strconv.Atoi(rev)
	return n
}
