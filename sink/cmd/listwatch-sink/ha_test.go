package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/jetstream"
	"github.com/listwatch/listwatch/sink/sinktest"
)

var strictPauses = flag.Bool("ha.strict", false, "fail when a hand-over takes longer than is promised, which a loaded machine may cause")

// replica is a process of the program.
type replica struct {
	cmd  *exec.Cmd
	errs *console
}

var isLive = regexp.MustCompile(`phase=LIVE revision=(\d+)`)

// leader waits until one of the replicas has moved everything, and returns it.
func leader(t *testing.T, all []*replica) (int, kube.Revision) {
	t.Helper()
	for limit := time.Now().Add(2 * time.Minute); time.Now().Before(limit); <-time.After(20 * time.Millisecond) {
		for i, r := range all {
			if at := isLive.FindStringSubmatch(r.errs.String()); at != nil {
				return i, kube.Revision(at[1])
			}
		}
	}
	for i, r := range all {
		t.Logf("replica %d:\n%s", i, r.errs)
	}
	t.Fatal("no replica leads")
	return 0, ""
}

// TestReplicasTakeOver has three replicas, of which the leader is stopped and then killed by
// SIGKILL, while the cluster changes: nothing is lost or doubled.
func TestReplicasTakeOver(t *testing.T) {
	t.Parallel()
	srv := startNATS(t)
	s := newStage(t)
	s.args[3] = srv.ClientURL()
	w := sinktest.NewWorld(s.server)
	w.Put("first", "web", "")
	begin := func() *replica {
		cmd, errs := s.child("configmaps", "--cluster-id", "c", "--flush", "5ms", "--lease", "default/listwatch-sink")
		return &replica{cmd, errs}
	}
	all := []*replica{begin(), begin(), begin()}
	at, revision := leader(t, all)
	w.Begin(revision)

	rest := unrest(t, w, 50*time.Millisecond)
	begins := []time.Time{time.Now()}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := all[at].cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		all[at].cmd.Wait()
		all[at] = begin()
		at, _ = leader(t, all)
		begins = append(begins, time.Now())
		s.reached(srv.ClientURL()) // so that none of these writes waits for the next leader
	}
	rest()
	w.Put("last", "web", "")
	db := s.reached(srv.ClientURL())
	if err := w.Check(t.Context(), db, "c", false); err != nil {
		t.Error(err)
	}
	if code, out, errs := s.run("verify", "--cluster-id", "c"); code != exitOK {
		t.Errorf("verify: exit code %d\n%s%s", code, out, errs)
	}
	for i, limit := range []time.Duration{3 * time.Second, 20 * time.Second} {
		pause := longest(t, db, begins[i], begins[i+1])
		t.Logf("%s: the longest time from a write to its record is %s", []string{"stopped", "killed"}[i], pause)
		if *strictPauses && pause > limit {
			t.Errorf("%s, want at most %s", pause, limit)
		}
	}
}

// TestEachShardHasALeader, though all of them name one Lease.
func TestEachShardHasALeader(t *testing.T) {
	t.Parallel()
	srv := startNATS(t)
	s := newStage(t)
	s.args[3] = srv.ClientURL()
	s.put(kube.ConfigMaps, "first", "")
	for _, shard := range []string{"0", "1"} {
		_, errs := s.child("configmaps", "--cluster-id", "c", "--shards", "2", "--shard", shard, "--lease", "default/listwatch-sink")
		errs.wait(t, isLive.String(), 1)
		if s.server.Get(kube.Leases, kube.Key{Namespace: "default", Name: "listwatch-sink-" + shard}) == nil {
			t.Errorf("shard %s has no Lease", shard)
		}
	}
}

func startNATS(t *testing.T) *server.Server {
	t.Helper()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { stopNATS(srv) })
	if !srv.ReadyForConnections(time.Minute) {
		t.Fatal("NATS is not ready")
	}
	return srv
}

// unrest writes to a world until rest is called, which waits for the last write. The values
// are the times of the writes.
func unrest(t *testing.T, w *sinktest.World, pause time.Duration) (rest func()) {
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		dice := rand.New(rand.NewPCG(1, 2))
		for {
			select {
			case <-stop:
				return
			case <-time.After(pause):
			}
			name := fmt.Sprint("n-", dice.IntN(20))
			if dice.IntN(5) == 0 {
				w.Delete(name)
			} else {
				w.Put(name, "web", strconv.FormatInt(time.Now().UnixNano(), 10))
			}
		}
	})
	rest = sync.OnceFunc(func() { close(stop); writer.Wait() })
	t.Cleanup(rest) // a failure ends the writer too
	return rest
}

// reached returns the sink once it holds all that the server has.
func (s *stage) reached(url string) *jetstream.Sink {
	s.t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(conn.Close)
	js, err := natsjs.New(conn)
	if err != nil {
		s.t.Fatal(err)
	}
	db, err := jetstream.Open(s.t.Context(), js, jetstream.Options{Stream: "listwatch"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.settled(db)
	return db
}

// settled waits until a sink holds all that the server has.
func (s *stage) settled(db sink.Reader) {
	s.t.Helper()
	want := s.server.Revision()
	for limit := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		positions, err := db.Positions(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		s.server.Bookmark()
		if len(positions) == 1 && positions[0].Phase == sink.Live && !want.Newer(positions[0].Revision) {
			return
		}
		if time.Now().After(limit) {
			s.t.Fatalf("still at %+v, want %s", positions, want)
		}
	}
}

// longest returns the longest time from a write between two times to when a replica has
// learnt of it.
func longest(t *testing.T, db sink.Reader, from, to time.Time) (d time.Duration) {
	t.Helper()
	for rec, err := range db.Records(t.Context(), "c", sinktest.Resource) {
		if err != nil {
			t.Fatal(err)
		}
		var o struct{ Data map[string]string }
		if rec.Type == sink.Deleted || json.Unmarshal(rec.Object, &o) != nil {
			continue
		}
		n, err := strconv.ParseInt(o.Data["value"], 10, 64)
		if at := time.Unix(0, n); err == nil && !at.Before(from) && at.Before(to) {
			d = max(d, rec.Time.Sub(at))
		}
	}
	return d
}
