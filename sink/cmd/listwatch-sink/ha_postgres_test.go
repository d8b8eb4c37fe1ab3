package main

import (
	"flag"
	"math/rand/v2"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/sink/internal/pgtest"
	"github.com/listwatch/listwatch/sink/postgres"
	"github.com/listwatch/listwatch/sink/sinktest"
)

var haRounds = flag.Int("ha.rounds", 1, "leaders that TestReplicasShareADatabase kills, and leaders that it freezes")

// TestReplicasShareADatabase has two replicas on a PostgreSQL, whose leader is killed by
// SIGKILL, and whose next leader is frozen by SIGSTOP until the other leads, while the cluster
// changes. What is frozen wakes up, and must not write: nothing is lost or doubled.
func TestReplicasShareADatabase(t *testing.T) {
	t.Parallel()
	pg, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pg.Close)
	s := newStage(t)
	s.args[3] = (&url.URL{Scheme: "postgres", Path: "/postgres", RawQuery: url.Values{"host": {pg.Dir()}, "user": {"postgres"}}.Encode()}).String()
	db, err := postgres.Open(t.Context(), pg.URL(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	w := sinktest.NewWorld(s.server)
	w.Put("first", "web", "")
	begin := func() *replica {
		cmd, errs := s.child("configmaps", "--cluster-id", "c", "--flush", "1ms", "--lease", "default/listwatch-sink")
		return &replica{cmd, errs}
	}
	all := []*replica{begin(), begin()}
	at, revision := leader(t, all)
	w.Begin(revision)
	rest := unrest(t, w, 5*time.Millisecond)
	dice := rand.New(rand.NewPCG(3, 4))
	var begins []time.Time
	var what []string
	strike := func(name string, sig syscall.Signal) {
		<-time.After(time.Duration(dice.IntN(200)) * time.Millisecond) // in which moment is left to chance
		begins, what = append(begins, time.Now()), append(what, name)
		if err := all[at].cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	for range *haRounds {
		strike("killed", syscall.SIGKILL)
		all[at].cmd.Wait()
		all[at] = begin()
		at, _ = leader(t, all)
		s.settled(db)

		strike("frozen", syscall.SIGSTOP)
		frozen, other := all[at], 1-at
		all[other].errs.wait(t, isLive.String(), len(isLive.FindAllString(all[other].errs.String(), -1))+1)
		s.settled(db)
		if err := frozen.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		frozen.errs.wait(t, "the leadership ended", 1)
		s.settled(db)
		frozen.cmd.Process.Kill() // so that the next leader is the only one that has been live
		frozen.cmd.Wait()
		all[at], at = begin(), other
	}
	begins = append(begins, time.Now())
	rest()
	w.Put("last", "web", "")
	s.settled(db)
	if err := w.Check(t.Context(), db, "c", false); err != nil {
		t.Error(err)
	}
	if code, out, errs := s.run("verify", "--cluster-id", "c"); code != exitOK {
		t.Errorf("verify: exit code %d\n%s%s", code, out, errs)
	}
	for i, name := range what {
		pause := longest(t, db, begins[i], begins[i+1])
		t.Logf("%s: the longest time from a write to its record is %s", name, pause)
		if *strictPauses && pause > 20*time.Second {
			t.Errorf("%s, want at most 20 s", pause)
		}
	}
}
