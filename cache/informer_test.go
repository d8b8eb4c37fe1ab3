package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

func TestInformerDeliversExistingObjectsAndThenChanges(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		i, v := cache.New(w.maps, options{}), newView(t)
		h := i.Handle(v.take)
		w.run(i.Run)
		if err := i.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-h.Synced()
		v.delivered("ADDED a/x initial")
		w.put("a", "x", "2")
		w.put("a", "y", "1")
		w.delete("a", "x")
		synctest.Wait()
		v.delivered("MODIFIED a/x", "ADDED a/y", "DELETED a/x")
		v.is(w.truth())
	})
}

// TestInformerHandlersComeAndGo: a late handler sees the present and then every
// change; a removed one sees nothing more.
func TestInformerHandlersComeAndGo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		i := cache.New(w.maps, options{})
		w.run(i.Run)
		views := map[int]*view{}
		handlers := map[int]*cache.Handler[kube.Partial]{}
		for n := range 30 {
			w.put("a", fmt.Sprint("x", n%7), fmt.Sprint(n))
			if n%3 == 0 {
				views[n] = newView(t)
				handlers[n] = i.Handle(views[n].take) // amid events
			}
			if n%9 == 8 {
				handlers[n-5].Remove()
				delete(views, n-5)
			}
			if n%4 == 3 {
				w.delete("a", fmt.Sprint("x", n%7))
			}
		}
		synctest.Wait()
		for _, v := range views {
			v.is(w.truth())
		}
	})
}

func TestInformerRemovedHandlerIsNotCalled(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		i, v := cache.New(w.maps, options{}), newView(t)
		var h *cache.Handler[kube.Partial]
		h = i.Handle(func(d delta) {
			v.take(d)
			h.Remove() // by itself
		})
		w.put("a", "x", "1")
		w.run(i.Run)
		synctest.Wait()
		w.put("a", "x", "2")
		synctest.Wait()
		h.Remove() // again
		w.put("a", "x", "3")
		synctest.Wait()
		v.delivered("ADDED a/x initial")
	})
}

func TestInformerRelistDeliversOnlyDifferences(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, name := range []string{"same", "changed", "gone", "replaced"} {
			w.put("a", name, "1")
		}
		i, v := cache.New(w.maps, options{}), newView(t)
		i.Handle(v.take)
		w.run(i.Run)
		synctest.Wait()
		v.log = nil
		if err := w.srv.SetDoor(apitest.Refusing); err != nil {
			t.Fatal(err)
		}
		w.srv.Cut()
		w.put("a", "changed", "2")
		w.delete("a", "gone")
		w.delete("a", "replaced")
		w.put("a", "replaced", "1")
		w.put("a", "new", "1")
		w.srv.Expire()
		if n := len(stateOf(i.Store())); n != 4 {
			t.Errorf("the store serves %d objects meanwhile, want the 4 of before", n)
		}
		if err := w.srv.SetDoor(apitest.Open); err != nil {
			t.Fatal(err)
		}
		w.pass(2 * time.Minute)
		v.delivered("MODIFIED a/changed inferred", "ADDED a/new inferred", "DELETED a/replaced inferred", "ADDED a/replaced inferred", "DELETED a/gone inferred")
		v.is(w.truth())
	})
}

// TestInformerSyncedIsTrueOnlyAfterHandlers: a handler that still works on the
// first objects holds WaitSynced up.
func TestInformerSyncedIsTrueOnlyAfterHandlers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		w.put("a", "y", "1")
		i := cache.New(w.maps, options{})
		done := 0
		h := i.Handle(func(delta) {
			<-time.After(time.Minute)
			done++
		})
		w.run(i.Run)
		if err := i.WaitSynced(t.Context()); err != nil || done != 2 {
			t.Errorf("synced after %d of 2 calls, error %v", done, err)
		}
		<-h.Synced()
	})
}

func TestInformerWaitSyncedSaysWhyNot(t *testing.T) {
	tests := []struct {
		name  string
		fault func(*world)
		want  string
	}{
		{"forbidden", func(w *world) {
			w.srv.On(apitest.Match{}, faults.Answer(apitest.StatusForbidden("jane", "watch", kube.ConfigMaps, "")))
		}, "forbidden"},
		{"not found", func(w *world) { w.srv.RemoveResource(kube.ConfigMaps) }, "404"},
		{"no answer", func(w *world) { w.srv.SetDoor(apitest.Refusing) }, "refused"},
		{"no mark", func(w *world) {
			w.srv.On(apitest.Match{Verb: "watch"}, faults.NoInitialEventsEnd())
			w.srv.On(apitest.Match{Verb: "list"}, faults.HTML(503))
		}, "503"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				tt.fault(w)
				i := cache.New(w.maps, options{})
				w.run(i.Run)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := i.WaitSynced(ctx)
				if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want it to mention %q", err, tt.want)
				}
			})
		})
	}
}

func TestInformerWaitSyncedFailsWhenTheInformerEnded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fields, err := kube.ParseFieldSelector("no.such=field")
		if err != nil {
			t.Fatal(err)
		}
		i := cache.New(w.maps.Where(kube.Selector{}, fields), options{})
		w.run(i.Run)
		if err := i.WaitSynced(t.Context()); !errors.Is(err, kube.ErrInvalid) {
			t.Errorf("got %v, want invalid", err)
		}
	})
}

// TestInformerReadYourOwnWrites: with the revision of a write the store shows it,
// however late the watch is.
func TestInformerReadYourOwnWrites(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.srv.On(apitest.Match{Verb: "watch", AfterEvent: 1}, faults.Delay(2*time.Second))
		i := cache.New(w.maps, options{})
		w.run(i.Run)
		if err := i.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		rv := w.srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"x"}}`)
		if err := i.WaitRevision(t.Context(), rv); err != nil {
			t.Fatal(err)
		}
		if o, ok := i.Store().Get(kube.Key{Namespace: "a", Name: "x"}); !ok || o.ResourceVersion != string(rv) {
			t.Errorf("the store has %v %s, want %s", ok, o.ResourceVersion, rv)
		}
		if err := i.WaitRevision(t.Context(), "x7"); err == nil {
			t.Error("waited for a revision that cannot be ordered")
		}
	})
}

func TestInformerOfSeveralNamespaces(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, ns := range []string{"a", "b", "c"} {
			w.put(ns, "x", "1")
		}
		i, v := cache.New(w.maps, options{Namespaces: []string{"a", "b"}}), newView(t)
		i.Handle(v.take)
		w.run(i.Run)
		if err := i.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		v.is(w.truth("a", "b"))
		// One of them is listed again; the objects of the other stay.
		w.srv.On(apitest.Match{Verb: "watch", Namespace: "a"}, faults.ErrorEvent(apitest.StatusExpired(1, 2))).Times(1)
		w.srv.CloseWatches()
		w.put("a", "y", "1")
		w.delete("b", "x")
		w.pass(time.Minute)
		v.is(w.truth("a", "b"))
	})
}

func TestInformerTransform(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "secret")
		w.put("a", "bad", "1")
		var errs []string
		i := cache.New(w.maps, options{
			Transform: func(o kube.Partial) (kube.Partial, error) {
				if o.Name == "bad" {
					return o, errors.New("not this one")
				}
				o.Labels = nil
				return o, nil
			},
			OnError: func(err error) { errs = append(errs, err.Error()) },
		})
		w.run(i.Run)
		if err := i.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		if o, _ := i.Store().Get(kube.Key{Namespace: "a", Name: "x"}); o.Labels != nil || i.Store().Len() != 1 {
			t.Errorf("stored %d objects, labels %v; want 1 and none", i.Store().Len(), o.Labels)
		}
		if len(errs) != 1 || !strings.Contains(errs[0], "not this one") {
			t.Errorf("got %q, want what failed", errs)
		}
		if i.Status().Err == nil {
			t.Error("the status says that all is well")
		}
	})
}

// TestInformerResyncNeverDelaysNews: 2,000 objects in resync and a handler of
// 5 ms; a fresh event waits for one call at most.
func TestInformerResyncNeverDelaysNews(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for n := range 10_000 {
			w.put("a", fmt.Sprint("x", n), "1")
		}
		i := cache.New(w.maps, options{})
		resyncs := 0
		var seen time.Time
		i.Handle(func(d delta) {
			switch {
			case d.Resync:
				resyncs++
				<-time.After(time.Millisecond)
			case d.Key.Name == "fresh":
				seen = time.Now()
			}
		}).ResyncEvery(30 * time.Second)
		w.run(i.Run)
		if err := i.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.pass(35 * time.Second) // amid the resync
		if resyncs == 0 || resyncs == 10_000 {
			t.Fatalf("%d resync calls: not amid a resync", resyncs)
		}
		at := time.Now()
		w.put("a", "fresh", "1")
		w.pass(20 * time.Millisecond)
		if seen.IsZero() || seen.Sub(at) > 5*time.Millisecond {
			t.Errorf("the news came after %v, want at most one call of 1 ms", seen.Sub(at))
		}
	})
}

func TestInformerResyncIsPerHandlerAndFromTheStore(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		i, often, never := cache.New(w.maps, options{}), newView(t), newView(t)
		h := i.Handle(often.take).ResyncEvery(time.Minute)
		i.Handle(never.take)
		w.run(i.Run)
		w.pass(10*time.Minute + 30*time.Second)
		if often.count() < 9 || often.count() > 12 || never.count() != 1 {
			t.Errorf("%d and %d calls, want about 11 and 1", often.count(), never.count())
		}
		if n := len(w.srv.Requests()); n > 4 {
			t.Errorf("%d requests: a resync asked the server", n)
		}
		h.ResyncEvery(0)
		calls := often.count()
		w.pass(10 * time.Minute)
		if often.count() != calls {
			t.Errorf("%d more calls after resync was switched off", often.count()-calls)
		}
	})
}

func TestInformerRunsOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		i := cache.New(w.maps, options{})
		w.run(i.Run)
		synctest.Wait()
		if err := i.Run(t.Context()); !errors.Is(err, cache.ErrRunning) {
			t.Errorf("the second Run returned %v", err)
		}
	})
}

func TestHandleSelectedFollowsTheSelection(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "on")
		w.put("a", "y", "off")
		i := cache.New(w.maps, options{})
		var got []string
		i.HandleSelected(func(o kube.Partial) bool { return o.Labels["v"] == "on" }, cache.Funcs[kube.Partial]{
			Added:    func(o kube.Partial, initial bool) { got = append(got, fmt.Sprint("added ", o.Name, initial)) },
			Modified: func(_, o kube.Partial) { got = append(got, "modified "+o.Name) },
			Deleted:  func(o kube.Partial) { got = append(got, "deleted "+o.Name) },
		}.Handle)
		w.run(i.Run)
		synctest.Wait()
		w.put("a", "y", "on")
		w.put("a", "x", "off")
		w.put("a", "x", "elsewhere")
		w.delete("a", "x")
		w.delete("a", "y")
		synctest.Wait()
		want := []string{"added xtrue", "added yfalse", "deleted x", "deleted y"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestInformerDeliversADeletionThatCannotBeDecoded: the last state of the object does
// not decode, but it is gone.
func TestInformerDeliversADeletionThatCannotBeDecoded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		var reported []error
		i, v := cache.New(w.maps, options{OnError: func(err error) {
			if codec.IsItem(err) { // the watch that is closed at once is reported too
				reported = append(reported, err)
			}
		}}), newView(t)
		i.Handle(v.take)
		w.run(i.Run)
		w.pass(10 * time.Second) // so that the end of the watch is routine
		w.srv.On(apitest.Match{Verb: "watch", AfterEvent: 1}, faults.EachEvent(func(rw http.ResponseWriter, event []byte) {
			rw.Write(bytes.Replace(event, []byte(`"labels":{"v":"1"}`), []byte(`"labels":["v"]`), 1))
		}))
		w.srv.CloseWatches()
		w.pass(time.Second)
		w.put("a", "y", "2")
		w.delete("a", "x")
		w.pass(time.Minute)
		v.delivered("ADDED a/x initial", "ADDED a/y", "DELETED a/x")
		v.is(w.truth())
		if len(reported) != 1 {
			t.Errorf("OnError got %v, want the object that could not be decoded", reported)
		}
		if err := i.Status().Err; err != nil {
			t.Errorf("the status is %v, though the object is gone", err)
		}
	})
}

// raws is a source of n objects of 10 KB.
type raws int

func (n raws) Events(ctx context.Context) iter.Seq2[watch.Event[codec.Raw], error] {
	return func(yield func(watch.Event[codec.Raw], error) bool) {
		if !yield(watch.Event[codec.Raw]{Type: watch.Restart}, nil) {
			return
		}
		for i := range n {
			o, err := codec.ParseRaw(fmt.Appendf(nil, `{"metadata":{"namespace":"a","name":"n%d","uid":"u%d","resourceVersion":"%d"},"data":%q}`, i, i, i+1, strings.Repeat("x", 10_000)))
			ev := watch.Event[codec.Raw]{Type: watch.Added, Key: kube.KeyOf(o), UID: o.GetUID(), Revision: kube.Revision(o.GetResourceVersion()), Object: o}
			if !yield(ev, err) {
				return
			}
		}
		if !yield(watch.Event[codec.Raw]{Type: watch.Synced, Revision: "100000"}, nil) {
			return
		}
		<-ctx.Done()
		yield(watch.Event[codec.Raw]{}, context.Cause(ctx))
	}
}

// TestInformerKeepsNothingOfWhatWasTransformed: the names in an event are parts of
// the object as it came.
func TestInformerKeepsNothingOfWhatWasTransformed(t *testing.T) {
	const objects = 2000
	i := cache.From(cache.Options[codec.Raw]{Transform: func(o codec.Raw) (codec.Raw, error) {
		id := o.Identity()
		return codec.ParseRaw(fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":%q,"uid":%q,"resourceVersion":%q}}`, id.Namespace, id.Name, id.UID, id.ResourceVersion))
	}}, raws(objects))
	cache.ByNamespace(i.Store())
	before := heap()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- i.Run(ctx) }()
	if err := i.WaitSynced(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := heap()
	cancel()
	<-ended
	if i.Store().Len() != objects {
		t.Fatalf("%d objects", i.Store().Len())
	}
	if each := (after - before) / objects; each > 2000 {
		t.Errorf("%d bytes an object, which have some 400", each)
	}
}

// heap returns how many bytes are live.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
