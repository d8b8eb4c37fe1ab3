package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// TestUpToDate: events of writes that were taken before the mark arrive late; the
// function returns with the last one that it has to, and not before.
func TestUpToDate(t *testing.T) {
	const late = 5 * time.Second
	fails := func(o kube.Partial) (kube.Partial, error) {
		if o.Labels["v"] == "bad" {
			return o, errors.New("a bug")
		}
		return o, nil
	}
	notTwo, err := kube.ParseSelector("v!=2")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		labels  kube.Selector
		options options
		writes  func(*world)
		want    time.Duration
	}{
		"nothing was written":                      {writes: func(*world) {}},
		"only other resources":                     {writes: func(w *world) { w.srv.Put(kube.Nodes, `{"metadata":{"name":"n"}}`) }},
		"a creation":                               {writes: func(w *world) { w.put("a", "y", "1") }, want: late},
		"a change":                                 {writes: func(w *world) { w.put("a", "x", "2") }, want: late},
		"a deletion":                               {writes: func(w *world) { w.delete("a", "x") }, want: late},
		"a namesake":                               {writes: func(w *world) { w.delete("a", "x"); w.put("a", "x", "1") }, want: 2 * late},
		"a creation and its deletion":              {writes: func(w *world) { w.put("a", "y", "1"); w.delete("a", "y") }},
		"in one namespace of several":              {options: options{Namespaces: []string{"a", "b"}}, writes: func(w *world) { w.put("b", "y", "1") }, want: late},
		"in a namespace of no source":              {options: options{Namespaces: []string{"a", "b"}}, writes: func(w *world) { w.put("c", "y", "1") }},
		"a readable object that became unreadable": {options: options{Transform: fails}, writes: func(w *world) { w.put("a", "x", "bad") }, want: late},
		"an object that is not selected":           {labels: notTwo, writes: func(w *world) { w.put("a", "y", "2") }},
		"an unreadable object":                     {options: options{Transform: fails}, writes: func(w *world) { w.put("a", "y", "bad") }, want: late},
		"an unreadable object of another source":   {options: options{Transform: fails, Namespaces: []string{"a", "b"}}, writes: func(*world) {}},
		"an unreadable object that was mended":     {options: options{Transform: fails}, writes: func(w *world) { w.put("b", "old", "2") }, want: late},
		"a namesake of an unreadable object":       {options: options{Transform: fails}, writes: func(w *world) { w.delete("b", "old"); w.put("b", "old", "1") }, want: 2 * late},
		"an unreadable object, written again":      {options: options{Transform: fails}, writes: func(w *world) { w.delete("b", "old"); w.put("b", "old", "bad") }, want: 2 * late},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.put("a", "x", "1")
				w.put("b", "old", "bad")
				var slow atomic.Bool
				w.srv.On(apitest.Match{Verb: "watch", Resource: "configmaps"}, faults.EachEvent(func(rw http.ResponseWriter, event []byte) {
					if slow.Load() && !strings.Contains(string(event), "BOOKMARK") {
						time.Sleep(late)
					}
					_, _ = rw.Write(event)
				}))
				i := cache.New(w.maps.Where(tt.labels, kube.FieldSelector{}), tt.options)
				w.start(i)
				w.pass(time.Minute)
				slow.Store(true)
				tt.writes(w)
				w.srv.Tick()
				begin := time.Now()
				if err := i.UpToDate()(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(begin); got != tt.want {
					t.Errorf("up to date after %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// TestUpToDateBeforeRun: a list that the informer requests after the mark needs no
// second one; a snapshot does.
func TestUpToDateBeforeRun(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		o := options{Snapshot: cache.Snapshot{Path: filepath.Join(t.TempDir(), "maps"), Cluster: "c1"}}
		var got []int
		for range 2 {
			i := cache.New(w.maps, o)
			wait := i.UpToDate()
			w.srv.ForgetRequests()
			stop := w.start(i)
			if err := wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			lists := 0
			for _, r := range w.srv.Requests() {
				if r.Verb == "list" {
					lists++
				}
			}
			got = append(got, lists)
			stop()
		}
		if diff := cmp.Diff([]int{0, 1}, got); diff != "" {
			t.Errorf("lists of a cold and a warm start (-want +got):\n%s", diff)
		}
	})
}

// TestUpToDateListsAgain: a list that fails is repeated, and the error names it.
func TestUpToDateListsAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		i := cache.New(w.maps, options{})
		w.start(i)
		w.pass(time.Second)
		w.srv.On(apitest.Match{Verb: "list"}, faults.HTML(http.StatusInternalServerError)).Times(3)
		wait := i.UpToDate()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := wait(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "configmaps: not known to be up to date: ") {
			t.Errorf("after a second: %v", err)
		}
		if err := wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestUpToDateOfAnUndecodableItem: an object whose metadata cannot be decoded counts as
// held if the store has left it out at that revision.
func TestUpToDateOfAnUndecodableItem(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		w.put("a", "odd", "odd")
		w.srv.On(apitest.Match{Verb: "list", Resource: "configmaps"}, func(rw http.ResponseWriter, r *http.Request) {
			r.Header.Set("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
			answer := httptest.NewRecorder()
			apitest.Continue(answer, r)
			rw.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
			_, _ = rw.Write(bytes.ReplaceAll(answer.Body.Bytes(), []byte(`"v":"odd"`), []byte(`"v":7`)))
		})
		i := cache.New(w.maps, options{Watch: watch.Options{Initial: watch.Paged}})
		w.start(i)
		w.pass(time.Second)
		if _, ok := i.Store().Get(kube.Key{Namespace: "a", Name: "odd"}); ok {
			t.Fatal("the object was decoded")
		}
		w.srv.Tick()
		begin := time.Now()
		if err := i.UpToDate()(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("up to date after %s, want at once", took)
		}
	})
}

// TestUpToDateOfAShard: objects of other shards are not missing.
func TestUpToDateOfAShard(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for n := range 20 {
			w.put("a", fmt.Sprintf("x%d", n), "1")
		}
		i := cache.New(w.maps, options{Watch: watch.Options{Shard: kube.EqualShard(0, 2)}})
		w.start(i)
		w.pass(time.Minute)
		if n := i.Store().Len(); n == 0 || n == 20 {
			t.Fatalf("the shard has %d of 20 objects", n)
		}
		w.srv.Put(kube.Nodes, `{"metadata":{"name":"n"}}`)
		begin := time.Now()
		if err := i.UpToDate()(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(begin); got != 0 {
			t.Errorf("up to date after %s, want at once", got)
		}
	})
}

// TestUpToDateOfARestoredServer: that the store has passed the revision of the list says
// nothing where it did so in a history that the server lost.
func TestUpToDateOfARestoredServer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		past := w.srv.Revision()
		i := cache.New(w.maps, options{Watch: watch.Options{Initial: watch.Paged, Limit: 1}})
		w.start(i)
		for n := range 20 {
			w.put("a", "x", fmt.Sprint("lost-", n))
		}
		w.pass(time.Second)
		w.srv.RestoreTo(past)
		w.put("a", "y", "1")
		w.srv.On(apitest.Match{Verb: "list", Resource: "configmaps"}, answerLate(time.Minute, func(r *http.Request) bool {
			return !ofUpToDate(r) && r.URL.Query().Get("continue") != "" // longer than the pause between the lists of UpToDate
		}))
		if err := i.UpToDate()(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w.truth(), stateOf(i.Store())); diff != "" {
			t.Errorf("the store (-truth +got):\n%s", diff)
		}
	})
}
