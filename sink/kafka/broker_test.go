package kafka_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/kafka"
	"github.com/listwatch/listwatch/sink/sinktest"
)

var scope = sink.Scope{Cluster: "c", Resource: kube.ConfigMaps, Shards: 1}

func record(typ sink.Type, name string, rev int) sink.Record {
	r := sink.Record{
		ID: fmt.Sprint(typ, name, rev), Type: typ, Cluster: "c", Resource: "configmaps", APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: name,
		UID: "uid-" + name, Revision: kube.Revision(fmt.Sprint(rev)), Epoch: 1, Phase: sink.Live, Object: []byte(`{"data":{}}`), Time: time.Unix(1, 0).UTC(),
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

func history(t *testing.T, s sink.Reader) (all []string) {
	t.Helper()
	for r, err := range s.Records(t.Context(), "c", kube.ConfigMaps) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.ID)
	}
	return all
}

// TestCompactionAndRetention: what a broker removes in its own time is not what a Sink
// needs.
func TestCompactionAndRetention(t *testing.T) {
	cluster := boot(t)
	s := open(t, kafka.Options{Retention: time.Millisecond}, cluster.ListenAddrs())
	p, _, err := s.Open(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	gap, a := record(sink.Gap, "", 0), record(sink.Modified, "a", 9)
	commit(t, s, &p, record(sink.Added, "a", 1), record(sink.Added, "b", 2), gap)
	for rev := range 5 {
		commit(t, s, &p, record(sink.Modified, "a", 3+rev))
	}
	commit(t, s, &p, record(sink.Deleted, "b", 8), a)
	cluster.Compact()
	time.AfterFunc(10*time.Millisecond, cluster.ApplyRetention)
	for limit := time.Now().Add(time.Minute); len(history(t, s)) > 0; {
		if time.Now().After(limit) {
			t.Fatal("the broker removes nothing")
		}
	}
	again, known, err := s.Open(t.Context(), scope)
	p.Generation++
	if diff := cmp.Diff(p, again); err != nil || diff != "" {
		t.Errorf("position, error %v (-want +got):\n%s", err, diff)
	}
	var held []sink.Held
	for h, err := range known(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, h)
	}
	if diff := cmp.Diff([]sink.Held{{Key: a.Key(), UID: a.UID, Revision: "9", Epoch: 1}}, held); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
	gaps, err := s.Gaps(t.Context(), "c", kube.ConfigMaps)
	if diff := cmp.Diff([]sink.Record{gap}, gaps); err != nil || diff != "" {
		t.Errorf("gaps, error %v (-want +got):\n%s", err, diff)
	}
}

// TestOpenWarnsOfOtherLimits: the topics belong to whoever administers the broker.
func TestOpenWarnsOfOtherLimits(t *testing.T) {
	b, prefix := brokers(t), prefix()
	warned := func(retention time.Duration) string {
		t.Helper()
		var log strings.Builder
		open(t, kafka.Options{Prefix: prefix, Retention: retention, Logger: slog.New(slog.NewTextHandler(&log, nil))}, b)
		_, text, _ := strings.Cut(log.String(), " ") // after the time
		return strings.ReplaceAll(text, prefix, "PREFIX")
	}
	got := []string{warned(720 * time.Hour), warned(720 * time.Hour), warned(time.Hour)}
	client, err := kgo.NewClient(kgo.SeedBrokers(b...))
	if err != nil {
		t.Fatal(err)
	}
	admin := kadm.NewClient(client)
	defer admin.Close()
	forever, size := "-1", "1000000"
	if _, err := admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "retention.ms", Value: &forever}, {Name: "retention.bytes", Value: &size}}, prefix+".history"); err != nil {
		t.Fatal(err)
	}
	got = append(got, warned(-1))
	const (
		text    = `level=WARN msg="sink: the topic keeps its own limits, and not the retention that is asked for" topic=PREFIX.history `
		command = `change="kafka-configs.sh --bootstrap-server HOST:PORT --alter --entity-type topics --entity-name PREFIX.history --add-config `
	)
	want := []string{
		"", "",
		text + `has="retention.ms=2592000000" asked="retention.ms=3600000" ` + command + `retention.ms=3600000"` + "\n",
		text + `has="retention.bytes=1000000" asked="retention.bytes=-1" ` + command + `retention.bytes=-1"` + "\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestSeveralPartitionsKeepTheOrderOfCommits(t *testing.T) {
	s := open(t, kafka.Options{Prefix: prefix(), Partitions: 5}, brokers(t))
	p, _, err := s.Open(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for rev := range 12 {
		first, second := record(sink.Added, fmt.Sprint("a", rev), 10*rev+1), record(sink.Added, fmt.Sprint("b", rev), 10*rev+2)
		commit(t, s, &p, first, second)
		want = append(want, first.ID, second.ID)
	}
	if diff := cmp.Diff(want, history(t, s)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestATopicThatIsNotCompactedIsRefused(t *testing.T) {
	b, name := brokers(t), prefix()
	client, err := kgo.NewClient(kgo.SeedBrokers(b...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 1, -1, nil, name+".table"); err != nil {
		t.Fatal(err)
	}
	if _, err := kafka.Open(t.Context(), kafka.Options{Prefix: name}, kgo.SeedBrokers(b...)); !errors.Is(err, sink.ErrRefused) {
		t.Errorf("error %v, want ErrRefused", err)
	}
}

// TestAFailedTransactionLeavesNothing: the broker takes the records and refuses to end the
// transaction.
func TestAFailedTransactionLeavesNothing(t *testing.T) {
	cluster := boot(t)
	s := open(t, kafka.Options{}, cluster.ListenAddrs())
	p, _, err := s.Open(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	a := record(sink.Added, "a", 1)
	commit(t, s, &p, a)
	cluster.ControlKey(int16(kmsg.EndTxn), func(req kmsg.Request) (kmsg.Response, error, bool) {
		resp := req.ResponseKind().(*kmsg.EndTxnResponse)
		resp.ErrorCode = kerr.InvalidTxnState.Code
		return resp, nil, true
	})
	next := p
	next.Sequence++
	if err := s.Commit(t.Context(), []sink.Record{record(sink.Added, "b", 2)}, next); err == nil || errors.Is(err, sink.ErrFenced) {
		t.Fatalf("error %v, want one that is not ErrFenced", err)
	}
	if err := s.Commit(t.Context(), nil, next); err == nil {
		t.Error("a commit after one of unknown outcome succeeds without Open")
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Second) // well before the transaction ends by itself
	defer cancel()
	again, known, err := s.Open(short, scope)
	p.Generation++
	if diff := cmp.Diff(p, again); err != nil || diff != "" {
		t.Fatalf("position, error %v (-want +got):\n%s", err, diff)
	}
	for h, err := range known(t.Context()) {
		if err != nil || h.UID != a.UID {
			t.Errorf("known: %+v, error %v", h, err)
		}
	}
	if diff := cmp.Diff([]string{a.ID}, history(t, s)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// TestReshardEndsTheTransactionOfADeadProcess, and does not wait until the broker does.
func TestReshardEndsTheTransactionOfADeadProcess(t *testing.T) {
	cluster := boot(t)
	s := open(t, kafka.Options{}, cluster.ListenAddrs())
	p, _, err := s.Open(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, &p, record(sink.Added, "a", 1))
	cluster.ControlKey(int16(kmsg.EndTxn), func(req kmsg.Request) (kmsg.Response, error, bool) {
		resp := req.ResponseKind().(*kmsg.EndTxnResponse)
		resp.ErrorCode = kerr.InvalidTxnState.Code
		return resp, nil, true
	})
	next := p
	next.Sequence++
	if err := s.Commit(t.Context(), []sink.Record{record(sink.Added, "b", 2)}, next); err == nil {
		t.Fatal("the transaction succeeds")
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Second) // well before the transaction ends by itself
	defer cancel()
	if err := s.Reshard(short, scope.Cluster, scope.Resource, 2); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{record(sink.Added, "a", 1).ID}, history(t, s)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// TestReshardFencesWhoOpensMeanwhile: a process that starts again while Reshard takes possession of
// the shards cannot commit to one of them.
func TestReshardFencesWhoOpensMeanwhile(t *testing.T) {
	cluster := boot(t)
	s, other := open(t, kafka.Options{}, cluster.ListenAddrs()), open(t, kafka.Options{}, cluster.ListenAddrs())
	first, second := scope, scope
	first.Shards, second.Shards, second.Shard = 2, 2, 1
	for _, of := range []sink.Scope{first, second} {
		p, _, err := s.Open(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, &p)
	}
	var late sink.Position
	var lateErr error
	var once sync.Once
	cluster.ControlKey(int16(kmsg.InitProducerID), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if id := req.(*kmsg.InitProducerIDRequest).TransactionalID; id != nil && strings.HasSuffix(*id, "/0") { // the last one
			once.Do(func() { cluster.SleepControl(func() { late, _, lateErr = other.Open(t.Context(), second) }) })
		}
		return nil, nil, false
	})
	if err := s.Reshard(t.Context(), scope.Cluster, scope.Resource, 3); err != nil || lateErr != nil {
		t.Fatalf("reshard: %v, open: %v", err, lateErr)
	}
	late.Sequence++
	if err := other.Commit(t.Context(), []sink.Record{record(sink.Added, "a", 1)}, late); !errors.Is(err, sink.ErrFenced) {
		t.Errorf("a commit to a shard that there is no more: error %v, want ErrFenced", err)
	}
	for i := range 3 {
		of := scope
		of.Shard, of.Shards = i, 3
		if _, _, err := s.Open(t.Context(), of); err != nil {
			t.Error(err)
		}
	}
}

// TestCloseSendsNoMetrics: a takeover, which closes the former producer, would wait until a broker
// that is gone has taken its metrics.
func TestCloseSendsNoMetrics(t *testing.T) {
	cluster := boot(t)
	var sent atomic.Int64
	cluster.ControlKey(int16(kmsg.GetTelemetrySubscriptions), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		sent.Add(1)
		return nil, nil, false
	})
	s := open(t, kafka.Options{}, cluster.ListenAddrs())
	for range 3 {
		p, _, err := s.Open(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, &p, record(sink.Added, "a", int(p.Generation)))
	}
	s.Close()
	if n := sent.Load(); n > 0 {
		t.Errorf("%d requests for metrics", n)
	}
}

var soakRounds = flag.Int("soak.rounds", 40, "rounds of the soak")

// TestSoak stops the broker, without its storage, as one of the calamities. It starts again
// at another port, as the old one may have been given to somebody else meanwhile.
func TestSoak(t *testing.T) {
	dir := t.TempDir()
	var address atomic.Value // of type string
	boot := func() *kfake.Cluster {
		c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DataDir(dir), kfake.SyncWrites())
		if err != nil {
			t.Fatal(err)
		}
		address.Store(c.ListenAddrs()[0])
		return c
	}
	cluster := boot()
	t.Cleanup(func() { cluster.Close() })
	seed := cluster.ListenAddrs()
	dial := kgo.Dialer(func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address.Load().(string))
	})
	store := sinktest.Store{Connect: func(t *testing.T) sinktest.Sink { return open(t, kafka.Options{}, seed, dial) }}
	sinktest.Soak(t, store, sinktest.SoakOptions{Rounds: *soakRounds, Calamity: func() {
		cluster.Close()
		cluster = boot()
	}})
}
