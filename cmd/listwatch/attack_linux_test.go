package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// An attack is as large as this; make hostile sends 4 GB.
var attackBytes = flag.Int64("hostile.bytes", 12<<20, "bytes of an attack of TestHostile")

// kubectlAttacked is attacked too, where it is given, and only reported.
var kubectlAttacked = flag.String("hostile.kubectl", "", "a kubectl to attack in the same ways")

const (
	memoryLimit = 300 << 20 // resident, at its peak
	memoryFall  = 700 << 20 // the process is killed
	maxStderr   = 64 << 10
	attackTime  = 3 * time.Second // at most, and 7 s more for each GB
	fileTime    = time.Minute     // more, to read a file, whose size may not be that of the attack
	mostRefused = 5               // of a client that tries again: it is as large then as it will be
)

// attack is what a server does to a client, or a file to a command.
type attack struct {
	name    string
	args    []string // SERVER, DIR and FILE are replaced
	kubectl []string // nil = kubectl has nothing like it
	table   bool     // rows are asked for
	list    func(a *sender)
	watch   func(a *sender)
	other   map[string]func(a *sender) // by path
	file    func(a *sender)            // writes FILE
	says    string                     // of an attack that meets a limit: what stderr contains when the program ends by itself
	least   int64                      // bytes below which it does not meet the limit; it is as large then
	ends    bool                       // the program must end by itself
}

// size is how large the attack is, in bytes.
func (a *attack) size() int64 { return max(*attackBytes, a.least) }

// sender writes an attack until it is as large as was asked for, or nobody reads on.
type sender struct {
	w     io.Writer
	left  int64
	req   *http.Request
	total *total // nil = of a file
}

// total counts what a server has sent in all its responses, and how many of them the
// client did not read to the end.
type total struct{ sent, refused atomic.Int64 }

func (s *sender) put(text string) bool {
	if s.left <= 0 {
		return false
	}
	n, err := io.WriteString(s.w, text)
	if s.total != nil {
		s.total.sent.Add(int64(n))
	}
	if s.left -= int64(n); err != nil {
		s.left = 0
		if s.total != nil {
			s.total.refused.Add(1)
		}
	}
	return s.left > 0
}

// repeat writes text, in large pieces, until the attack is over.
func (s *sender) repeat(text string) {
	text = strings.Repeat(text, max(1, 64<<10/len(text)))
	for s.put(text) {
	}
}

// inside writes text again and again between a head and a tail.
func inside(head, text, tail string) func(*sender) {
	return func(s *sender) {
		s.put(head)
		s.repeat(text)
		s.left = int64(len(tail) + 1)
		s.put(tail)
	}
}

// serve answers as an API server, but for what a attacks by.
func (a *attack) serve(t *testing.T, sum *total) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		s := &sender{w: w, left: a.size() - sum.sent.Load(), req: r, total: sum}
		q := r.URL.Query()
		switch other := a.other[r.URL.Path]; {
		case other != nil:
			other(s)
		case r.URL.Path == "/api":
			s.put(`{"kind":"APIVersions","versions":["v1"]}`)
		case r.URL.Path == "/apis":
			s.put(`{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
		case r.URL.Path == "/api/v1":
			s.put(`{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","kind":"Pod","namespaced":true,"verbs":["list","watch","get"]}]}`)
		case r.URL.Path == "/api/v1/namespaces/kube-system":
			s.put(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"c"}}`)
		case q.Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusUnprocessableEntity)
			s.put(`{"kind":"Status","code":422,"reason":"Invalid","message":"no"}`)
		case q.Get("watch") != "" && a.watch != nil:
			w.WriteHeader(http.StatusOK)
			a.watch(s)
		case q.Get("watch") != "":
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case a.list != nil && !strings.HasPrefix(r.URL.Path, "/apis"):
			a.list(s)
		default:
			s.put(listHead + okPod + "]}")
		}
	}))
	t.Cleanup(srv.CloseClientConnections)
	t.Cleanup(srv.Close)
	return srv.URL
}

// outcome is how a process bore an attack.
type outcome struct {
	peak   int64
	sent   int64
	stderr string
	took   time.Duration
	ended  string
	exited bool // by itself
}

// suffer runs exe under a, until it exits or the attack is over, and watches its memory.
func (a *attack) suffer(t *testing.T, exe string, args []string) outcome {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if a.file != nil {
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		a.file(&sender{w: f, left: min(a.size(), 4<<30)})
		f.Close()
	}
	var sum total
	url := ""
	if a.file == nil || strings.Contains(strings.Join(args, " "), "SERVER") {
		url = a.serve(t, &sum)
	}
	replace := strings.NewReplacer("SERVER", url, "FILE", file, "DIR", dir)
	args = append([]string(nil), args...)
	for i := range args {
		args[i] = replace.Replace(args[i])
	}
	if filepath.Base(exe) != "listwatch" && url != "" {
		args = append(args, "-s", url)
	}
	most := attackTime + time.Duration(*attackBytes/1e6)*7*time.Millisecond
	switch {
	case a.ends:
		most = 5 * time.Minute // it ends before, or the test fails
	case a.least > 0:
		most += fileTime
	}
	if a.file != nil {
		most += fileTime
	}
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr // its lines are short
	cmd.WaitDelay = 5 * time.Second
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var o outcome
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		o.peak, o.ended = a.look(cmd.Process.Pid, &sum, done)
		cancel()
	})
	err := cmd.Wait()
	over := ctx.Err() != nil
	close(done)
	watcher.Wait()
	o.took, o.sent, o.stderr = time.Since(began), sum.sent.Load(), stderr.String()
	switch {
	case o.ended != "":
	case over:
		o.ended = "goes on"
	case err != nil:
		o.ended, o.exited = err.Error(), true
	default:
		o.ended, o.exited = "exit 0", true
	}
	return o
}

// look returns the peak of a process, and why its attack is over, if it is before the
// process ends: all is sent, or refused often enough, or neither side does anything.
func (a *attack) look(pid int, sum *total, done <-chan struct{}) (peak int64, why string) {
	var cpu, sent int64
	changed, tick := time.Now(), time.NewTicker(5*time.Millisecond)
	patience := 2*time.Second + time.Duration(*attackBytes>>30)*time.Second
	if a.file != nil {
		patience = 10 * time.Second // to read it
	}
	defer tick.Stop()
	for {
		peak = max(peak, residentPeak(pid))
		if c, s := cpuTicks(pid), sum.sent.Load(); c != cpu || s != sent {
			cpu, sent, changed = c, s, time.Now()
		}
		quiet, all := time.Since(changed), sent >= a.size()
		switch {
		case peak > memoryFall:
			return peak, "fell"
		case all && !a.ends && quiet > 500*time.Millisecond: // one that ends may wait for a processor
			return peak, "takes all"
		case sum.refused.Load() >= mostRefused:
			return peak, "refuses, and tries again"
		case quiet > patience:
			return peak, "waits"
		}
		select {
		case <-tick.C:
		case <-done:
			return peak, ""
		}
	}
}

// cpuTicks is how much time of a CPU a process has used, in 10 ms.
func cpuTicks(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, ok := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if err != nil || !ok || len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return user + system
}

// residentPeak is the largest resident set of a process so far, in bytes.
func residentPeak(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	kb, _ := strconv.ParseInt(strings.TrimSpace(strings.SplitN(rest, "kB", 2)[0]), 10, 64)
	return kb << 10
}

// built returns the program itself: that of the tests, which children run, has the texts
// of all attacks in memory.
func built(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "listwatch")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return exe
}

// TestHostile: no server and no file makes the program hold more than 300 MB.
func TestHostile(t *testing.T) {
	exe := built(t)
	rows := make([]string, len(attacks))
	t.Run("attacks", func(t *testing.T) { // in parallel: memory is that of each process
		for i, a := range attacks {
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				o := a.suffer(t, exe, a.args)
				rows[i] = fmt.Sprintf("| %s | %s |", a.name, o)
				if *kubectlAttacked != "" && a.kubectl != nil {
					rows[i] += fmt.Sprintf(" %s |", a.suffer(t, *kubectlAttacked, a.kubectl))
				} else {
					rows[i] += " |"
				}
				t.Log(rows[i])
				if len(o.stderr) > maxStderr {
					t.Errorf("%d bytes on stderr, want at most %d", len(o.stderr), maxStderr)
				}
				if o.exited && !strings.Contains(o.stderr, a.says) {
					t.Errorf("the attack does not meet the limit: stderr is %.1000q, want %q in it", o.stderr, a.says)
				}
				if a.ends && !o.exited {
					t.Errorf("it does not end by itself; stderr is %.1000q", o.stderr)
				}
				if o.peak > memoryLimit {
					t.Errorf("%d MB resident, want at most %d; %s after %v", o.peak>>20, memoryLimit>>20, o.ended, o.took)
				}
			})
		}
	})
	t.Logf("%d attacks of %d MB:\n| attack | listwatch | kubectl |\n|---|---|---|\n%s", len(attacks), *attackBytes/1e6, strings.Join(rows, "\n"))
}

func (o outcome) String() string {
	s := fmt.Sprintf("%d MB; %s", o.peak>>20, o.ended)
	if o.sent > 1<<20 {
		s += fmt.Sprintf("; %d MB sent", o.sent/1e6)
	}
	return s
}
