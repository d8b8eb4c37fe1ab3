package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/postgres"
	"github.com/listwatch/listwatch/sink/sinktest"
)

var (
	soakRounds = flag.Int("soak.rounds", 40, "rounds of the soak")
	soakSeed   = flag.Uint64("soak.seed", 1, "seed of the soak")
)

// server is a PostgreSQL of the tests' own, on a socket in a folder of its own.
type server struct {
	bin, dir string
	as       *syscall.Credential // whom it runs as; nil = as we do
	process  *os.Process
	ended    chan struct{}
}

var db server

func TestMain(m *testing.M) {
	flag.Parse()
	if err := db.init(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	db.stop(syscall.SIGQUIT)
	os.RemoveAll(db.dir)
	os.Exit(code)
}

// init makes a cluster of databases and starts the server. PostgreSQL refuses to run as
// root, so that it then runs as the user postgres, or nobody.
func (s *server) init() error {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if path, err := exec.LookPath("postgres"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		return errors.New("there is no PostgreSQL: apt-get install postgresql")
	}
	bin, err := filepath.EvalSymlinks(found[len(found)-1])
	if err != nil {
		return err
	}
	s.bin = filepath.Dir(bin)
	if s.dir, err = os.MkdirTemp("", "pg"); err != nil { // a socket's path must be short
		return err
	}
	if os.Getuid() == 0 {
		if s.as, err = unprivileged(); err != nil {
			return err
		}
		if err := os.Chown(s.dir, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return err
		}
	}
	initdb := s.command("initdb", "-D", s.dir+"/data", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s.start()
}

func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return cmd
}

// start starts the server and waits until it takes connections. After a SIGKILL it refuses
// to start until the last of its former processes has noticed.
func (s *server) start() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		cmd := s.command("postgres", "-D", s.dir+"/data", "-k", s.dir, "-c", "listen_addresses=", "-c", "max_connections=200", "-c", "fsync=off")
		if err := cmd.Start(); err != nil {
			return err
		}
		ended := make(chan struct{})
		go func() { defer close(ended); cmd.Wait() }()
		s.process, s.ended = cmd.Process, ended
		for running := true; running; {
			c, err := postgres.Open(ctx, s.url(), postgres.Options{Schema: "started"})
			if err == nil {
				return c.Close()
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ended:
				running = false
			}
			if ctx.Err() != nil {
				return fmt.Errorf("PostgreSQL does not start: %w", err)
			}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return errors.New("PostgreSQL ends as soon as it is started")
		}
	}
}

func (s *server) stop(sig syscall.Signal) {
	s.process.Signal(sig)
	<-s.ended
}

func (s *server) url() string { return "host=" + s.dir + " user=postgres dbname=postgres" }

var schemas atomic.Int64

// store is a schema of its own.
func store(*testing.T) sinktest.Store {
	schema := fmt.Sprint("store ", schemas.Add(1))
	return sinktest.Store{Connect: func(t *testing.T) sinktest.Sink { return open(t, schema) }}
}

func open(t *testing.T, schema string) *postgres.Sink {
	t.Helper()
	s, err := postgres.Open(t.Context(), db.url(), postgres.Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestSink(t *testing.T) { sinktest.Test(t, store) }

// TestSoak kills the database, too.
func TestSoak(t *testing.T) {
	sinktest.Soak(t, store(t), sinktest.SoakOptions{Seed: *soakSeed, Rounds: *soakRounds, Calamity: func() {
		db.stop(syscall.SIGKILL)
		if err := db.start(); err != nil {
			t.Fatal(err)
		}
	}})
}

func TestPruneKeepsGaps(t *testing.T) {
	s := open(t, fmt.Sprint("prune ", schemas.Add(1)))
	scope := sink.Scope{Cluster: "c", Resource: sinktest.Resource}
	pos, _, err := s.Open(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	rec := func(id string, typ sink.Type, at time.Time) sink.Record {
		return sink.Record{ID: id, Type: typ, Cluster: "c", Resource: "configmaps", Name: id, UID: id, Revision: "1", Time: at}
	}
	pos.Sequence++
	err = s.Commit(t.Context(), []sink.Record{rec("a", sink.Added, old), rec("gap", sink.Gap, old), rec("b", sink.Added, old.AddDate(0, 0, 2))}, pos)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.Prune(t.Context(), old.AddDate(0, 0, 1), 10); n != 1 || err != nil {
		t.Errorf("%d partitions dropped, error %v, want 1", n, err)
	}
	var names []string
	for r, err := range s.Records(t.Context(), "c", sinktest.Resource) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, r.ID)
	}
	gaps, err := s.Gaps(t.Context(), "c", sinktest.Resource)
	if strings.Join(names, " ") != "b" || len(gaps) != 1 || err != nil {
		t.Errorf("history %v, %d gaps, error %v; want b and the gap", names, len(gaps), err)
	}
}

// TestLargeBatch is written by one statement, in the order of its records;
// an object in it that jsonb refuses is stored beside the others.
func TestLargeBatch(t *testing.T) {
	for _, mode := range []sink.Mode{sink.ModeBoth, sink.ModeTable, sink.ModeHistory} {
		s := open(t, fmt.Sprint("large ", schemas.Add(1)))
		pos, _, err := s.Open(t.Context(), sink.Scope{Cluster: "c", Resource: sinktest.Resource, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		var batch []sink.Record
		for i := range 100 {
			id := fmt.Sprint("n-", (i*37)%100)
			batch = append(batch, sink.Record{ID: id, Type: sink.Added, Cluster: "c", Resource: "configmaps", Namespace: "d", Name: id, UID: id, Revision: kube.Revision(fmt.Sprint(i + 1)),
				APIVersion: "v1", Kind: "ConfigMap", Phase: sink.Loading, Epoch: 1, Time: time.Now(), Object: json.RawMessage(fmt.Sprintf(`{"a":%d}`, i))})
		}
		for round, text := range []string{`{"a":1}`, `{"a":"\u0000"}`} {
			batch[7].Object = json.RawMessage(text)
			for i := range batch {
				batch[i].ID = fmt.Sprint(round, " ", batch[i].UID)
			}
			pos.Sequence++
			if err := s.Commit(t.Context(), batch, pos); err != nil {
				t.Fatal(err)
			}
			rows, quarantined := 0, 0
			for row, err := range s.Rows(t.Context(), "c", sinktest.Resource) {
				if err != nil {
					t.Fatal(err)
				}
				rows++
				if row.Quarantined != "" {
					quarantined++
				} else if (len(row.Object) == 0) != (mode == sink.ModeHistory) {
					t.Errorf("mode %q: %s has the object %q", mode, row.Name, row.Object)
				}
			}
			if rows != len(batch) || quarantined != round {
				t.Errorf("mode %q, round %d: %d rows, %d quarantined", mode, round, rows, quarantined)
			}
		}
		var got, want []string
		for _, r := range batch {
			want = append(want, "0 "+r.UID)
		}
		for r, err := range s.Records(t.Context(), "c", sinktest.Resource) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, r.ID); len(got) == len(want) {
				break
			}
		}
		if mode == sink.ModeTable {
			want = []string{"1 " + batch[7].UID}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("mode %q: history (-want +got):\n%s", mode, diff)
		}
	}
}

func TestErrorsDoNotShowThePassword(t *testing.T) {
	for _, url := range []string{"postgres://user:hunter2@127.0.0.1:1/db", "postgres://user:hunter2@[/db", "host=/nowhere password=hunter2 user=u"} {
		_, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("error %v", err)
		}
	}
}
