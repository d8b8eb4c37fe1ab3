package cloudevents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/cloudevents"
	"github.com/listwatch/listwatch/sink/sinktest"
)

// table is a server that keeps a table by the rules of docs/sinks.md.
type table struct {
	t    *testing.T
	mu   sync.Mutex
	down bool
	seen map[string]bool
	gaps []cloudevents.Event
	rows map[string]cloudevents.Event // the last record of each object, by its UID
	lost int                          // requests while it was down
}

func newTable(t *testing.T) (*table, string) {
	k := &table{t: t, seen: map[string]bool{}, rows: map[string]cloudevents.Event{}}
	srv := httptest.NewServer(k)
	t.Cleanup(srv.Close)
	return k, srv.URL
}

// about reports whether a GAP is about an object.
func about(gap cloudevents.Event, uid string) bool {
	return sink.ShardOf(uid, max(1, gap.Shards)) == gap.Shard
}

func (k *table) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.down {
		k.lost++
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var events []cloudevents.Event
	if err := json.NewDecoder(req.Body).Decode(&events); err != nil {
		k.t.Error(err)
	}
	for _, e := range events {
		if !k.seen[e.ID] {
			k.seen[e.ID] = true
			k.take(e)
		}
	}
}

func (k *table) take(e cloudevents.Event) {
	typ := sink.Type(strings.ToUpper(strings.TrimPrefix(e.Type, "io.listwatch.")))
	if typ == sink.Gap {
		k.gaps = append(k.gaps, e)
		maps.DeleteFunc(k.rows, func(uid string, row cloudevents.Event) bool { return about(e, uid) && row.Epoch < e.Epoch })
		return
	}
	for _, gap := range k.gaps {
		if about(gap, e.UID) && e.Epoch < gap.Epoch {
			return
		}
	}
	if k.rows[e.UID] = e; typ == sink.Deleted || typ == sink.Left {
		delete(k.rows, e.UID)
	}
}

// set makes the server fail, or work.
func (k *table) set(down bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.down, k.lost = down, 0
}

// until waits for something.
func (k *table) until(reached func() bool, missing func() string) {
	k.t.Helper()
	soon(k.t, func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return reached()
	}, missing)
}

// equals waits until the table is the world.
func (k *table) equals(w *sinktest.World) {
	k.t.Helper()
	want := map[string]string{}
	objects, _ := w.Server.List(sinktest.Resource)
	for _, b := range objects {
		var o kube.Partial
		if err := json.Unmarshal(b, &o); err != nil {
			k.t.Fatal(err)
		}
		want[o.Name] = o.ResourceVersion
	}
	var diff string
	k.until(func() bool {
		got := map[string]string{}
		for _, row := range k.rows {
			got[row.Name] = string(row.Revision)
		}
		diff = cmp.Diff(want, got)
		return diff == ""
	}, func() string { return "table (-want +got):\n" + diff })
}

// runShards runs Runners for these shards of so many.
func runShards(t *testing.T, w *sinktest.World, s sink.Sink, of int, shards ...int) (stop func()) {
	t.Helper()
	c, err := w.Client()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, shard := range shards {
		r, err := sink.NewRunner(sink.Options{
			Client: c, Sink: s, Scope: sink.Scope{Cluster: "c", Resource: sinktest.Resource, Shard: shard, Shards: of},
			FlushAfter: time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() { r.Run(ctx) })
	}
	stop = func() { cancel(); all.Wait(); c.CloseIdleConnections() }
	t.Cleanup(stop)
	return stop
}

// TestServersTableIsTheCluster where records that were not sent are given up, shards change, and
// another server is the receiver for a while.
func TestServersTableIsTheCluster(t *testing.T) {
	for name, companion := range companions(t) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			put := func(prefix, value string) {
				for i := range 8 {
					w.Put(fmt.Sprint(prefix, i), "web", value)
				}
			}
			a, url := newTable(t)
			b, other := newTable(t)
			put("o", "1")
			stop := runShards(t, w, openWith(t, url, companion(t)), 2, 0, 1)
			a.equals(w)
			stop()

			a.set(true)
			put("p", "1")
			stop = runShards(t, w, openWith(t, url, companion(t)), 2, 0)
			a.until(func() bool { return a.lost > 0 }, func() string { return "no request" })
			stop()
			if _, err := companion(t).(interface {
				Prune(context.Context, time.Time, int) (int64, error)
			}).Prune(t.Context(), time.Now().Add(72*time.Hour), 10_000); err != nil {
				t.Fatal(err)
			}
			a.set(false)
			stop = runShards(t, w, openWith(t, url, companion(t)), 2, 0, 1)
			put("o", "2")
			for i := range 8 {
				w.Delete(fmt.Sprint("p", i))
			}
			a.equals(w)
			stop()

			if err := companion(t).(sink.Resharder).Reshard(t.Context(), "c", sinktest.Resource, 1); err != nil {
				t.Fatal(err)
			}
			stop = runShards(t, w, openWith(t, other, companion(t)), 1, 0)
			b.equals(w)
			for i := range 6 {
				w.Delete(fmt.Sprint("o", i))
			}
			b.equals(w)
			stop()
			runShards(t, w, openWith(t, url, companion(t)), 1, 0)
			a.equals(w)
		})
	}
}
