package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/sinktest"
	"github.com/listwatch/listwatch/sink/sqlite"
)

var soakKills = flag.Int("soak.kills", 12, "processes that TestKilledProcesses kills")

// TestMain is the program where a test has started this binary as one.
func TestMain(m *testing.M) {
	if os.Getenv("LISTWATCH_SINK_CHILD") == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// child starts the program as a process of its own, which ends with the test.
func (s *stage) child(args ...string) (*exec.Cmd, *console) {
	s.t.Helper()
	errs := newConsole()
	cmd := exec.Command(os.Args[0], append(args, s.args...)...)
	cmd.Env = append(os.Environ(), "LISTWATCH_SINK_CHILD=1")
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, errs
}

// TestKilledProcesses kills the program by SIGKILL at random moments, while the cluster
// changes and loses its history, and looks at what the file holds at the end.
func TestKilledProcesses(t *testing.T) {
	s := newStage(t)
	w := sinktest.NewWorld(s.server)
	args := []string{"configmaps", "--cluster-id", "c", "--flush", "5ms", "--batch", "20"}
	put := func(dice *rand.Rand) {
		name := fmt.Sprint("n-", dice.IntN(50))
		if dice.IntN(4) == 0 {
			w.Delete(name)
		} else {
			w.Put(name, "web", fmt.Sprint(dice.IntN(1000)))
		}
	}
	dice := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		put(dice)
	}
	cmd, errs := s.child(args...)
	text := errs.wait(t, `phase=LIVE revision=\d+`, 1)
	w.Begin(kube.Revision(regexp.MustCompile(`phase=LIVE revision=(\d+)`).FindStringSubmatch(text)[1]))

	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		dice := rand.New(rand.NewPCG(2, 2))
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				put(dice)
			}
		}
	})
	for kill := range *soakKills {
		select { // how far it comes is left to chance
		case <-time.After(time.Duration(dice.IntN(300)) * time.Millisecond):
		case <-t.Context().Done():
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		if kill%3 == 1 {
			w.Expire()
		}
		cmd, errs = s.child(args...)
	}
	close(stop)
	writer.Wait()
	w.Put("last", "web", "")

	db, err := sqlite.Open(t.Context(), s.db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	want, limit := s.server.Revision(), time.Now().Add(time.Minute)
	for {
		positions, err := db.Positions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if p := positions[0]; p.Phase == sink.Live && !want.Newer(p.Revision) {
			break
		} else if time.Now().After(limit) {
			t.Fatalf("still at %+v, want %s\n%s", p, want, errs)
		}
		<-time.After(20 * time.Millisecond)
	}
	if err := w.Check(t.Context(), db, "c", false); err != nil {
		t.Error(err)
	}
	if code, out, _ := s.run("verify", "--cluster-id", "c"); code != exitOK {
		t.Errorf("verify: exit code %d\n%s", code, out)
	}
}
