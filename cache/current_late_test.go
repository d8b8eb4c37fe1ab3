package cache_test

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

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/watch"
)

// ofUpToDate matches the lists of UpToDate, and not those of an informer.
func ofUpToDate(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	last := accept[strings.LastIndexByte(accept, ',')+1:]
	return r.URL.Query().Get("watch") == "" && !strings.Contains(last, "as=") // the form of whole objects, as the last resort
}

// answerLate sends the response of each request that pick selects after a pause: it is
// the state from before it.
func answerLate(pause time.Duration, pick func(*http.Request) bool) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if !pick(r) {
			apitest.Continue(rw, r)
			return
		}
		answer := httptest.NewRecorder()
		apitest.Continue(answer, r)
		<-time.After(pause)
		for name, values := range answer.Header() {
			rw.Header()[name] = values
		}
		rw.WriteHeader(answer.Code)
		_, _ = rw.Write(answer.Body.Bytes())
	}
}

// upToDate wants wait to return with the state of the server in the store, and returns
// how long that took.
func (w *world) upToDate(i *informer, wait func(context.Context) error) time.Duration {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Minute)
	defer cancel()
	begin := time.Now()
	if err := wait(ctx); err != nil {
		w.t.Fatal(err)
	}
	took := time.Since(begin)
	if diff := cmp.Diff(w.truth(), stateOf(i.Store())); diff != "" {
		w.t.Errorf("the store (-truth +got):\n%s", diff)
	}
	return took
}

// TestUpToDateAmidAList: a list of the informer that the server answered before the mark
// is no proof, also if it arrives later.
func TestUpToDateAmidAList(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		i := cache.New(w.maps, options{Watch: watch.Options{Initial: watch.Paged}})
		w.start(i)
		w.pass(time.Minute)
		w.srv.On(apitest.Match{Verb: "list", Resource: "configmaps"}, answerLate(5*time.Second, func(r *http.Request) bool { return !ofUpToDate(r) }))
		w.srv.On(apitest.Match{Verb: "watch", Resource: "configmaps"}, faults.EachEvent(func(rw http.ResponseWriter, event []byte) {
			<-time.After(3 * time.Second)
			_, _ = rw.Write(event)
		}))
		w.srv.ForgetRequests()
		w.srv.Expire()
		w.srv.CutWatches()
		for len(w.srv.Requests()) == 0 || w.srv.Requests()[len(w.srv.Requests())-1].Verb != "list" {
			w.pass(100 * time.Millisecond)
		}
		w.put("a", "y", "1") // the list that is under way lacks it
		w.upToDate(i, i.UpToDate())
	})
}

// TestUpToDateAmidThePages: a list of several pages is proof when its last page has
// arrived.
func TestUpToDateAmidThePages(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		o := options{
			Snapshot: cache.Snapshot{Path: filepath.Join(t.TempDir(), "maps"), Cluster: "c1"},
			Watch:    watch.Options{Initial: watch.Paged, Limit: 1},
		}
		for _, name := range []string{"x", "y", "z"} {
			w.put("a", name, "1")
		}
		stop := w.start(cache.New(w.maps, o))
		w.pass(time.Minute)
		stop()
		w.put("a", "z", "2")
		w.delete("a", "y")
		w.srv.Expire()
		w.srv.On(apitest.Match{Verb: "list", Resource: "configmaps"}, answerLate(5*time.Second, func(r *http.Request) bool {
			return r.URL.Query().Get("continue") != ""
		}))
		i := cache.New(w.maps, o)
		wait := i.UpToDate()
		defer w.start(i)()
		if took := w.upToDate(i, wait); took != 5*time.Second {
			t.Errorf("up to date after %s, want 5s", took)
		}
	})
}

// TestUpToDateOfALateList: where the store has passed the revision of the list when that
// arrives, its objects need not be the same.
func TestUpToDateOfALateList(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		i := cache.New(w.maps, options{})
		w.start(i)
		w.pass(time.Minute)
		w.srv.On(apitest.Match{Verb: "list", Resource: "configmaps"}, answerLate(5*time.Second, ofUpToDate))
		time.AfterFunc(time.Second, func() { w.put("a", "x", "2"); w.put("a", "y", "1") })
		if took := w.upToDate(i, i.UpToDate()); took != 5*time.Second {
			t.Errorf("up to date after %s, want 5s", took)
		}
	})
}

// TestUpToDateWhereTheServerIsRestoredMeanwhile: the revision of the list may never come
// again. Two lists of the informer are proof too.
func TestUpToDateWhereTheServerIsRestoredMeanwhile(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		past := w.srv.Revision()
		var lost atomic.Bool
		w.srv.On(apitest.Match{Verb: "watch", Resource: "configmaps"}, faults.EachEvent(func(rw http.ResponseWriter, event []byte) {
			if !lost.Load() {
				_, _ = rw.Write(event)
			}
		}))
		i := cache.New(w.maps, options{})
		w.start(i)
		w.pass(time.Minute)
		lost.Store(true)
		for n := range 20 {
			w.put("a", "y", fmt.Sprint("lost-", n))
		}
		wait := i.UpToDate()
		done := make(chan error, 1)
		go func() { done <- wait(w.ctx) }()
		w.pass(time.Second)
		if len(done) > 0 {
			t.Fatalf("up to date without the object: %v", <-done)
		}
		w.srv.RestoreTo(past)
		lost.Store(false)
		for range 3 {
			w.pass(time.Minute)
			w.srv.Expire()
			w.srv.CutWatches()
		}
		w.pass(time.Minute)
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("not up to date after three lists")
		}
		if diff := cmp.Diff(w.truth(), stateOf(i.Store())); diff != "" {
			t.Errorf("the store (-truth +got):\n%s", diff)
		}
	})
}

// TestUpToDateOfAQuery: what the collection adds to the query of its lists may select
// objects.
func TestUpToDateOfAQuery(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		w.maps.Query = map[string][]string{"part": {"1"}}
		i := cache.New(w.maps, options{})
		w.start(i)
		w.pass(time.Minute)
		w.srv.ForgetRequests()
		w.upToDate(i, i.UpToDate())
		for _, r := range w.srv.Requests() {
			if r.Verb == "list" && r.Query.Get("part") != "1" {
				t.Errorf("the query of the list is %q, want that of the collection in it", r.Query)
			}
		}
	})
}
