package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
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
		loses int // see restless
		flags []string
	}{
		{"the history is kept", 0, []string{"--initial-list", "stream"}},
		{"the history is lost", 80, []string{"--initial-list", "paged", "--chunk-size", "7"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // most of it is waiting for processes
			srv := apitest.New(t)
			srv.On(apitest.Match{Verb: "watch", AfterEvent: 30}, faults.EndStream()).Times(5)
			srv.On(apitest.Match{Verb: "watch", AfterEvent: 12}, faults.CutEvent(10)).Times(1)
			w := newRestless(srv, 1, 20, kube.ConfigMaps)
			w.loses = test.loses
			j, before := newJudge(t, w), ""
			for range 30 {
				w.act()
			}
			state := filepath.Join(t.TempDir(), "state")
			rnd := rand.New(rand.NewPCG(3, 4))
			for range 15 {
				j.begin(before, srv.URL)
				runAndKill(t, j, rnd, append(test.flags, "--checkpoint", state, "-s", srv.URL))
				before = state
				for range rnd.IntN(4) {
					w.act()
				}
			}
			relists := j.relists
			if test.loses == 0 && relists > 0 {
				t.Errorf("%d lists, with all of the history there", relists)
			}
			// The last one is asked for all there is.
			j.begin(state, srv.URL)
			code, stdout, stderr := runProgram(t, nil, append(test.flags, "watch", "configmaps", "-A", "-o", "ndjson", "--once", "--checkpoint", state, "-s", srv.URL)...)
			if code != 0 || strings.Contains(stderr, "cannot be used") {
				t.Fatalf("the last run: exit code %d\n%s", code, stderr)
			}
			for text := range strings.Lines(stdout) {
				j.read(text)
			}
			j.end()
			t.Logf("%d acts, %d events told, %d of them repeated, %d lists again", w.acts, j.events, j.repeats, relists)
			if j.events < 200 || test.loses > 0 && relists == 0 {
				t.Error("too little happened")
			}
		})
	}
}

// runAndKill runs the program while objects change, kills it after so many lines
// and a random moment, and has what it printed judged. A line that death tore is
// left out.
func runAndKill(t *testing.T, j *judge, rnd *rand.Rand, flags []string) {
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
	writer.Go(func() { j.w.run(ctx, time.Millisecond) })
	lines, moment := rnd.IntN(50), time.Duration(rnd.IntN(3000))*time.Microsecond
	in := bufio.NewReader(out)
	for ; ; lines-- {
		if lines == 0 {
			time.AfterFunc(moment, func() { _ = cmd.Process.Kill() })
		}
		line, err := in.ReadString('\n')
		if err == nil {
			j.read(line)
		} else {
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
}
