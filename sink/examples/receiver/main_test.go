package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/cloudevents"
	"github.com/listwatch/listwatch/sink/sqlite"
)

// TestDuplicatesAreDropped: every other batch is stored, and the answer says that it was not.
func TestDuplicatesAreDropped(t *testing.T) {
	r, err := open(t.Context(), filepath.Join(t.TempDir(), "received.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.db.Close() })
	var requests atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if requests.Add(1)%2 == 0 {
			r.ServeHTTP(w, req)
			return
		}
		r.ServeHTTP(httptest.NewRecorder(), req)
		http.Error(w, "the answer was lost", http.StatusBadGateway)
	}))
	t.Cleanup(srv.Close)
	companion, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "cluster.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { companion.Close() })
	s, err := cloudevents.New(srv.URL, companion, cloudevents.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := s.Open(t.Context(), sink.Scope{Cluster: "c", Resource: kube.Pods})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		a := sink.Record{ID: fmt.Sprint("a", i), Type: sink.Added, Cluster: "c", Resource: "pods", Name: "a", UID: fmt.Sprint(i), Epoch: 1, Time: time.Now()}
		b := a
		b.ID, b.Type = fmt.Sprint("b", i), sink.Deleted
		p.Sequence++
		p.Phase = sink.Live
		if err := s.Commit(t.Context(), []sink.Record{a, b}, p); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"pods io.listwatch.added 4", "pods io.listwatch.deleted 4"}, r.counts(t)); diff != "" || requests.Load() != 8 {
		t.Errorf("%d requests, want 8 (-want +got):\n%s", requests.Load(), diff)
	}
}

func (r *receiver) counts(t *testing.T) (all []string) {
	t.Helper()
	rows, err := r.db.QueryContext(context.Background(), `SELECT concat_ws(' ', resource, type, n) FROM counts ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	return all
}

func TestWhatIsNoBatchIsRefusedForGood(t *testing.T) {
	r, err := open(t.Context(), filepath.Join(t.TempDir(), "received.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.db.Close() })
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{")))
	if w.Code != http.StatusBadRequest {
		t.Errorf("status %d", w.Code)
	}
}
