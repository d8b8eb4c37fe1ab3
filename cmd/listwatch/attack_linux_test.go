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
	"testing"
	"text/tabwriter"
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
	attackTime  = 3 * time.Second // and as long again for 300 MB
)

// attack is what a server does to a client, or a file to a command.
type attack struct {
	name    string
	args    []string // SERVER, DIR, FILE and WHILE are replaced
	kubectl []string // nil = kubectl has nothing like it
	table   bool     // rows are asked for
	list    func(a *sender)
	watch   func(a *sender)
	other   map[string]func(a *sender) // by path
	file    func(a *sender)            // writes FILE
}

// sender writes an attack until it is as large as was asked for, or nobody reads on.
type sender struct {
	w    io.Writer
	left int64
	req  *http.Request
}

func (s *sender) put(text string) bool {
	if s.left <= 0 {
		return false
	}
	n, err := io.WriteString(s.w, text)
	if s.left -= int64(n); err != nil {
		s.left = 0
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
func (a *attack) serve(t *testing.T) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		s := &sender{w: w, left: *attackBytes, req: r}
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
	stderr int
	took   time.Duration
	ended  string
}

// suffer runs exe under a and watches its memory.
func (a *attack) suffer(t *testing.T, exe string, args []string) outcome {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if a.file != nil {
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		a.file(&sender{w: f, left: min(*attackBytes, 4<<30)})
		f.Close()
	}
	url := ""
	if a.file == nil || strings.Contains(strings.Join(args, " "), "SERVER") {
		url = a.serve(t)
	}
	while := time.Second + time.Duration(*attackBytes>>20)*time.Millisecond
	replace := strings.NewReplacer("SERVER", url, "FILE", file, "DIR", dir, "WHILE", while.String())
	args = append([]string(nil), args...)
	for i := range args {
		args[i] = replace.Replace(args[i])
	}
	if filepath.Base(exe) != "listwatch" && url != "" {
		args = append(args, "-s", url)
	}
	ctx, cancel := context.WithTimeout(t.Context(), attackTime+time.Duration(*attackBytes>>20)*10*time.Millisecond)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr // its lines are short
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var o outcome
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			if peak := residentPeak(cmd.Process.Pid); peak > o.peak {
				o.peak = peak
			}
			if o.peak > memoryFall {
				_ = cmd.Process.Kill()
			}
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	err := cmd.Wait()
	close(done)
	watcher.Wait()
	o.took, o.ended = time.Since(began), "exit 0"
	switch {
	case o.peak > memoryFall:
		o.ended = "fell"
	case ctx.Err() != nil:
		o.ended = "went on until it was stopped"
	case err != nil:
		o.ended = err.Error()
	}
	o.stderr = stderr.Len()
	return o
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

// TestHostile: no server and no file makes the program hold more than 300 MB.
func TestHostile(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "listwatch")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	rows := make([]string, len(attacks))
	t.Run("attacks", func(t *testing.T) { // beside one another, but with -parallel=1
		for i, a := range attacks {
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				o := a.suffer(t, exe, a.args)
				rows[i] = fmt.Sprintf("%s\t%d MB\t%s", a.name, o.peak>>20, o.ended)
				if *kubectlAttacked != "" && a.kubectl != nil {
					k := a.suffer(t, *kubectlAttacked, a.kubectl)
					rows[i] += fmt.Sprintf("\t%d MB\t%s", k.peak>>20, k.ended)
				}
				if o.stderr > maxStderr {
					t.Errorf("%d bytes on stderr, want at most %d", o.stderr, maxStderr)
				}
				if o.peak > memoryLimit {
					t.Errorf("%d MB resident, want at most %d; %s after %v", o.peak>>20, memoryLimit>>20, o.ended, o.took)
				}
			})
		}
	})
	var table strings.Builder
	tab := tabwriter.NewWriter(&table, 0, 0, 3, ' ', 0)
	fmt.Fprintln(tab, "ATTACK\tLISTWATCH\tENDS\tKUBECTL\tENDS")
	for _, row := range rows {
		fmt.Fprintln(tab, row)
	}
	tab.Flush()
	t.Logf("%d attacks of %d MB:\n%s", len(attacks), *attackBytes>>20, table.String())
}
