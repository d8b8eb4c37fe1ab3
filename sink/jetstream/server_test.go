package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/jetstream"
	"github.com/listwatch/listwatch/sink/sinktest"
)

var scope = sink.Scope{Cluster: "c", Resource: kube.ConfigMaps, Shards: 1}

func record(typ sink.Type, name string, rev int) sink.Record {
	r := sink.Record{
		ID: fmt.Sprint(typ, name, rev), Type: typ, Cluster: "c", Resource: "configmaps", APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: name,
		UID: "uid-" + name, Revision: kube.Revision(fmt.Sprint(rev)), Epoch: 1, Phase: sink.Live, Object: json.RawMessage(`{"data":{}}`),
	}
	if typ == sink.Gap {
		r.Namespace, r.Name, r.UID, r.Revision, r.Object = "", "", "", "", nil
	}
	return r
}

// commit commits records as the next position of p.
func commit(t *testing.T, s sink.Sink, p *sink.Position, records ...sink.Record) {
	t.Helper()
	p.Sequence++
	p.Phase = sink.Live
	if err := s.Commit(t.Context(), records, *p); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, known sink.Known) []string {
	t.Helper()
	found := map[string]bool{}
	for h, err := range known(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		found[h.Key.Name] = true
	}
	var all []string
	for _, name := range []string{"a", "b", "c"} {
		if found[name] {
			all = append(all, name)
		}
	}
	return all
}

// until waits for what the server does in its own time.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(60 * time.Second)
	for !done() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not after a minute: %s", what)
		}
	}
}

func TestKnownWaitsForTheBucket(t *testing.T) {
	js := connect(t, start(t, t.TempDir()))
	s, err := jetstream.Open(t.Context(), js, jetstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, known, err := s.Open(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, &p, record(sink.Added, "a", 1), record(sink.Added, "b", 2))
	if diff := cmp.Diff([]string{"a", "b"}, names(t, known)); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
	bucket, err := js.Stream(t.Context(), "KV_listwatch")
	if err != nil {
		t.Fatal(err)
	}
	config := bucket.CachedInfo().Config
	detached := config
	detached.Sources = nil
	if _, err := js.UpdateStream(t.Context(), detached); err != nil {
		t.Fatal(err)
	}
	commit(t, s, &p, record(sink.Deleted, "a", 3), record(sink.Added, "c", 4))
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for h, err := range known(short) {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while the bucket lags: %+v, error %v, want the deadline", h, err)
		}
	}
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "c"}, names(t, known)); diff != "" {
		t.Errorf("known, when the bucket has come after (-want +got):\n%s", diff)
	}
}

func TestRetentionSparesPositionsAndGaps(t *testing.T) {
	srv := start(t, t.TempDir())
	s, err := jetstream.Open(t.Context(), connect(t, srv), jetstream.Options{Retention: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	p, known, err := s.Open(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, &p, record(sink.Added, "a", 1), record(sink.Added, "b", 2), record(sink.Gap, "", 0))
	commit(t, s, &p, record(sink.Deleted, "b", 3))
	commit(t, s, &p, record(sink.Modified, "a", 4))
	names(t, known) // the bucket has them
	history := func() (all []string) {
		for r, err := range s.Records(t.Context(), "c", kube.ConfigMaps) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(r.Type))
		}
		return all
	}
	until(t, "old records are removed", func() bool { return len(history()) <= 1 })
	if diff := cmp.Diff([]string{"GAP"}, history()); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	js := connect(t, srv)
	until(t, "the deletion is removed from the bucket", func() bool {
		bucket, err := js.Stream(t.Context(), "KV_listwatch")
		if err != nil {
			t.Fatal(err)
		}
		return bucket.CachedInfo().State.Msgs == 2 // a, and the position
	})
	again, known, err := open(t, srv).Open(t.Context(), scope)
	p.Generation++
	if diff := cmp.Diff(p, again); err != nil || diff != "" {
		t.Errorf("position, error %v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"a"}, names(t, known)); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
}

func TestAStreamThatIsNotFitIsRefused(t *testing.T) {
	js := connect(t, start(t, t.TempDir()))
	if _, err := js.CreateStream(t.Context(), natsjs.StreamConfig{Name: "mine", Subjects: []string{"mine.>"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateKeyValue(t.Context(), natsjs.KeyValueConfig{Bucket: "other"}); err != nil {
		t.Fatal(err)
	}
	for _, o := range []jetstream.Options{{Stream: "mine"}, {Bucket: "other"}} {
		if _, err := jetstream.Open(t.Context(), js, o); !errors.Is(err, sink.ErrRefused) {
			t.Errorf("%+v: error %v, want ErrRefused", o, err)
		}
	}
}

// TestOpenWarnsOfOtherLimits: the stream belongs to whoever administers it. The server takes the
// command in the warning.
func TestOpenWarnsOfOtherLimits(t *testing.T) {
	js := connect(t, start(t, t.TempDir()))
	warned := func(retention time.Duration) string {
		t.Helper()
		var log strings.Builder
		_, err := jetstream.Open(t.Context(), js, jetstream.Options{Retention: retention, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(log.String(), " ") // after the time
		return text
	}
	edit := func(change func(*natsjs.StreamConfig)) {
		t.Helper()
		stream, err := js.Stream(t.Context(), "listwatch")
		if err != nil {
			t.Fatal(err)
		}
		c := stream.CachedInfo().Config
		change(&c)
		if _, err := js.UpdateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	const text = `level=WARN msg="sink: the stream keeps its own limits, and not what is asked for" stream=listwatch `
	got := []string{warned(720 * time.Hour), warned(720 * time.Hour), warned(2 * time.Second)}
	edit(func(c *natsjs.StreamConfig) { c.MaxAge, c.Duplicates = 2*time.Second, 2*time.Second })
	got = append(got, warned(2*time.Second), warned(-1))
	edit(func(c *natsjs.StreamConfig) { c.MaxAge, c.MaxMsgs, c.MaxBytes, c.MaxMsgsPerSubject = 0, 1000, 1<<20, 5 })
	got = append(got, warned(-1))
	edit(func(c *natsjs.StreamConfig) { c.Discard, c.MaxMsgsPerSubject = natsjs.DiscardNew, -1 })
	got = append(got, warned(-1))
	want := []string{
		"", "",
		text + `has="max-age=720h0m0s" asked="max-age=2s" change="nats stream edit listwatch --max-age=2s --dupe-window=2s"` + "\n",
		"",
		text + `has="max-age=2s" asked="max-age=0s" change="nats stream edit listwatch --max-age=0s"` + "\n",
		text + `has="max-msgs=1000 max-bytes=1048576 max-msgs-per-subject=5" asked="max-msgs=-1 max-bytes=-1 max-msgs-per-subject=-1" change="nats stream edit listwatch --max-msgs=-1 --max-bytes=-1 --max-msgs-per-subject=-1"` + "\n",
		"",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestOpenWarnsOfOtherReplicas: only where a number is given.
func TestOpenWarnsOfOtherReplicas(t *testing.T) {
	js := connect(t, start(t, t.TempDir()))
	for _, tt := range []struct {
		replicas int
		want     string
	}{{1, ""}, {0, ""}, {3, `has="replicas=1" asked="replicas=3" change="nats stream edit listwatch --replicas=3"`}} {
		var log strings.Builder
		_, err := jetstream.Open(t.Context(), js, jetstream.Options{Replicas: tt.replicas, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil || !strings.Contains(log.String(), tt.want) || (log.Len() > 0) != (tt.want != "") {
			t.Errorf("%d replicas: %v, %s", tt.replicas, err, log.String())
		}
	}
}

func TestAnObjectAboveThePayloadLimitIsTrimmed(t *testing.T) {
	world := sinktest.NewWorld(apitest.NewWith(t, apitest.Options{InMemory: true}))
	s := open(t, start(t, t.TempDir()))
	world.Put("big", "web", strings.Repeat("x", 1<<20))
	world.Put("small", "web", "x")
	stop := run(t, world, s)
	defer stop()
	trimmed := map[string]bool{}
	until(t, "both objects are in the table", func() bool {
		for row, err := range s.Rows(t.Context(), "c", kube.ConfigMaps) {
			if err != nil {
				t.Fatal(err)
			}
			trimmed[row.Name] = row.Trimmed && row.Quarantined == ""
		}
		return len(trimmed) == 2
	})
	if diff := cmp.Diff(map[string]bool{"big": true, "small": false}, trimmed); diff != "" {
		t.Errorf("trimmed (-want +got):\n%s", diff)
	}
}

// run starts a Runner that moves the world into s, and returns what stops it.
func run(t *testing.T, world *sinktest.World, s sink.Sink) (stop func()) {
	t.Helper()
	c, err := world.Client()
	if err != nil {
		t.Fatal(err)
	}
	r, err := sink.NewRunner(sink.Options{
		Client: c, Sink: s, Scope: scope, FlushAfter: time.Millisecond, BookmarkEvery: time.Nanosecond, CommitTimeout: 3 * time.Second,
		Logger: slog.New(slog.DiscardHandler),
		Trace: sink.Trace{Committed: func(c sink.Committed) {
			if c.Position.Phase == sink.Live {
				world.Begin(c.Position.Revision)
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the Runner ended with %v", err)
		}
		c.CloseIdleConnections()
	}
}

var soakRounds = flag.Int("soak.rounds", 40, "rounds of the soak")

// current dials the server that was started last.
type current struct{ address atomic.Value }

func (c *current) Dial(network, _ string) (net.Conn, error) {
	return net.Dial(network, c.address.Load().(string))
}

// TestSoak stops the server, without its storage, as one of the calamities. It starts again
// at another port, as the old one may have been given to somebody else meanwhile.
func TestSoak(t *testing.T) {
	dir := t.TempDir()
	dialer := new(current)
	boot := func() *server.Server {
		srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true})
		if err != nil {
			t.Fatal(err)
		}
		srv.Start()
		if !srv.ReadyForConnections(2 * time.Minute) {
			t.Fatal("the server does not start")
		}
		dialer.address.Store(srv.Addr().String())
		return srv
	}
	srv := boot()
	address := srv.ClientURL()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	connect := func(t *testing.T) sinktest.Sink {
		nc, err := nats.Connect(address, nats.SetCustomDialer(dialer), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		js, err := natsjs.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		s, err := jetstream.Open(t.Context(), js, jetstream.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	sinktest.Soak(t, sinktest.Store{Connect: connect}, sinktest.SoakOptions{Rounds: *soakRounds, Calamity: func() {
		srv.Shutdown()
		srv.WaitForShutdown()
		srv = boot()
	}})
}
