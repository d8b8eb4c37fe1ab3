package cloudevents_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/cloudevents"
	"github.com/listwatch/listwatch/sink/sinktest"
	"github.com/listwatch/listwatch/sink/sqlite"
)

// receiver is a server that fails on purpose: before it takes a batch, and after.
type receiver struct {
	t      *testing.T
	limit  int  // bytes of a body; 0 = none
	steady bool // does not fail
	rude   bool // fails in a way that is not tried again, too

	mu       sync.Mutex
	mute     bool // takes what comes and says that it does not
	requests int
	repeated int
	seen     map[string]bool
	records  []sink.Record // each id once
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	fail := r.requests
	if r.steady {
		fail = 0
	}
	switch fail % 7 {
	case 2:
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case 4:
		panic(http.ErrAbortHandler) // the connection is reset
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		r.t.Errorf("read the body: %v", err)
	}
	if r.limit > 0 && len(body) > r.limit {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	var events []cloudevents.Event
	if err := json.Unmarshal(body, &events); err != nil || req.Header.Get("Content-Type") != "application/cloudevents-batch+json; charset=utf-8" {
		r.t.Errorf("a request of type %q, error %v", req.Header.Get("Content-Type"), err)
	}
	for _, e := range events {
		rec, err := e.Record()
		if err != nil || e.SpecVersion != "1.0" || e.ID == "" || e.Source == "" || e.Type == "" {
			r.t.Errorf("event %+v, error %v", e, err)
		}
		if r.seen[e.ID] {
			r.repeated++
			continue
		}
		r.seen[e.ID] = true
		r.records = append(r.records, rec)
	}
	switch {
	case r.mute, r.rude && r.requests%11 == 5:
		w.WriteHeader(http.StatusUnauthorized)
	case fail%7 == 6:
		w.WriteHeader(http.StatusBadGateway) // it has them, and nobody knows
	}
}

// received is a sink whose history is what the server has received.
type received struct {
	*cloudevents.Sink
	r *receiver
}

func (s received) Records(_ context.Context, cluster string, res kube.Resource) iter.Seq2[sink.Record, error] {
	return func(yield func(sink.Record, error) bool) {
		s.r.mu.Lock()
		all := s.r.records
		s.r.mu.Unlock()
		for _, r := range all {
			if r.Cluster == cluster && r.Group == res.Group && r.Resource == res.Plural && !yield(r, nil) {
				return
			}
		}
	}
}

func newReceiver(t *testing.T) (*receiver, *httptest.Server) {
	r := &receiver{t: t, seen: map[string]bool{}}
	srv := httptest.NewServer(r)
	t.Cleanup(srv.Close)
	return r, srv
}

// database returns what opens a new companion, again and again.
func database(t *testing.T) func(*testing.T) cloudevents.Companion {
	path := filepath.Join(t.TempDir(), "positions.db")
	return func(t *testing.T) cloudevents.Companion { return openDatabase(t, path) }
}

func openDatabase(t *testing.T, path string) *sqlite.Sink {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func store(r *receiver, url string, companion func(*testing.T) cloudevents.Companion) sinktest.Store {
	return sinktest.Store{Duplicates: true, Connect: func(t *testing.T) sinktest.Sink { return received{openWith(t, url, companion(t)), r} }}
}

func openWith(t *testing.T, url string, companion cloudevents.Companion) *cloudevents.Sink {
	t.Helper()
	s, err := cloudevents.New(url, companion, cloudevents.Options{BatchBytes: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func open(t *testing.T, url, path string) *cloudevents.Sink {
	t.Helper()
	return openWith(t, url, openDatabase(t, path))
}

func TestSink(t *testing.T) {
	sinktest.Test(t, func(t *testing.T) sinktest.Store {
		r, srv := newReceiver(t)
		return store(r, srv.URL, database(t))
	})
}

var soakRounds = flag.Int("soak.rounds", 20, "rounds of the soak")

func commit(t *testing.T, s *cloudevents.Sink, records ...sink.Record) error {
	t.Helper()
	pos, _, err := s.Open(t.Context(), sink.Scope{Cluster: "c", Resource: sinktest.Resource})
	if err != nil {
		t.Fatal(err)
	}
	pos.Sequence++
	return s.Commit(t.Context(), records, pos)
}

func TestWhatIsTooLargeIsDividedAndTrimmed(t *testing.T) {
	r, srv := newReceiver(t)
	r.steady, r.limit = true, 2000
	s := open(t, srv.URL, filepath.Join(t.TempDir(), "positions.db"))
	rec := func(id string, size int) sink.Record {
		return sink.Record{ID: id, Type: sink.Added, Cluster: "c", Resource: "configmaps", Name: id, UID: id, Revision: "1", Object: json.RawMessage(`"` + strings.Repeat("x", size) + `"`)}
	}
	if err := commit(t, s, rec("a", 900), rec("b", 5000), rec("c", 900)); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, rec := range r.records {
		got[rec.ID] = rec.Trimmed
	}
	if diff := cmp.Diff(map[string]bool{"a": false, "b": true, "c": false}, got); diff != "" {
		t.Errorf("which are trimmed (-want +got):\n%s", diff)
	}
}

// TestWhatIsRefusedIsSentByTheNext: a 401 is no success, and is not tried again at once.
func TestWhatIsRefusedIsSentByTheNext(t *testing.T) {
	r, srv := newReceiver(t)
	r.steady, r.mute = true, true
	path := filepath.Join(t.TempDir(), "positions.db")
	s := open(t, strings.Replace(srv.URL, "://", "://user:hunter2@", 1)+"?token=hunter2", path)
	err := commit(t, s, sink.Record{ID: "a", Type: sink.Added, Cluster: "c", Resource: "configmaps", Name: "a", UID: "a"})
	if err == nil || errors.Is(err, sink.ErrFenced) || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "401") || r.requests != 1 {
		t.Errorf("%d requests, error %v", r.requests, err)
	}
	scope := sink.Scope{Cluster: "c", Resource: sinktest.Resource}
	if _, _, err := s.Open(t.Context(), scope); err == nil || r.requests != 2 {
		t.Errorf("Open: %d requests, error %v, want another request that fails", r.requests, err)
	}
	if err := sink.Pause(t.Context(), s, scope); err != nil || r.requests != 2 {
		t.Errorf("Pause: %d requests, error %v, want none", r.requests, err)
	}
	r.mute = false
	if _, _, err := s.Open(t.Context(), scope); err != nil || r.requests != 2 {
		t.Errorf("Open of what is paused: %d requests, error %v, want none", r.requests, err)
	}
	if err := sink.Resume(t.Context(), s, scope); err != nil {
		t.Error(err)
	}
	for range 2 { // of which the second has nothing to send; another password is no other receiver
		s = open(t, srv.URL, path)
		if _, _, err := s.Open(t.Context(), scope); err != nil || r.requests != 3 {
			t.Errorf("Open: %d requests, error %v, want one more", r.requests, err)
		}
	}
}
