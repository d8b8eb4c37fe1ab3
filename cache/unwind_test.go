package cache_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// TestInformerHandlerThatDoesNotReturn: it panics or ends its goroutine amid an event,
// the start, or a namesake's deletion. Run ends with all that it started, and the next
// life delivers what was not handled.
func TestInformerHandlerThatDoesNotReturn(t *testing.T) {
	leaves := map[string]func(){
		"panic":  func() { panic("on purpose") },
		"goexit": runtime.Goexit,
	}
	for how, leave := range leaves {
		for _, at := range []string{"ADDED y", "MODIFIED x", "DELETED x", "DELETED renewed", "ADDED renewed", "start"} {
			t.Run(how+" in "+at, func(t *testing.T) {
				dir := t.TempDir()
				inWorld(t, func(t *testing.T, w *world) {
					snapshot := cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1", Every: time.Second}
					l := newLedger(t, "ledger", w.uidOf)
					run := func(cold, bad bool) {
						l.begin(cold)
						i := cache.New(w.maps, options{Snapshot: snapshot, OnError: func(err error) { t.Error(err) }})
						i.Handle(func(d delta) {
							l.enter(d)
							if bad && (at == "start" && d.Key.Name == "x" || !d.Initial && at == fmt.Sprint(d.Type, " ", d.Key.Name)) {
								<-time.After(2 * time.Second) // a snapshot is due, and waits for exclusive
								leave()
							}
							l.leave(d)
						})
						ctx, cancel := context.WithCancel(w.ctx)
						ended := make(chan struct{})
						go func() {
							defer close(ended)
							defer func() { _ = recover() }()
							i.Run(ctx)
						}()
						synctest.Wait()
						if w.srv.Get(kube.ConfigMaps, kube.Key{Namespace: "a", Name: "y"}) == nil && !cold {
							w.put("a", "x", "2")
							w.delete("a", "x")
							w.delete("a", "renewed")
							w.put("a", "renewed", "2")
							w.put("a", "y", "1")
						}
						w.pass(time.Minute)
						if !bad {
							l.settled(i.Store(), w.truth())
						} else if !closed(ended) {
							t.Error("Run goes on")
						}
						cancel()
						<-ended
					}
					w.put("a", "x", "1")
					w.put("a", "renewed", "1")
					run(true, false)
					run(false, true)
					run(false, false)
				})
			})
		}
	}
}

// TestInformerGoexitInAnyGoroutine: of another source than the first, and of a resync.
func TestInformerGoexitInAnyGoroutine(t *testing.T) {
	for name, amid := range map[string]func(d delta) bool{
		"second source": func(d delta) bool { return d.Key.Namespace == "b" },
		"resync":        func(d delta) bool { return d.Resync },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.put("a", "x", "1")
				w.put("b", "x", "1")
				i := cache.New(w.maps, options{Namespaces: []string{"a", "b"}})
				i.Handle(func(d delta) {
					if amid(d) {
						runtime.Goexit()
					}
				}).ResyncEvery(time.Minute)
				ended := make(chan error, 1)
				go func() { ended <- i.Run(w.ctx) }()
				w.pass(2 * time.Minute)
				select {
				case err := <-ended:
					if err == nil || errors.Is(err, context.Canceled) {
						t.Errorf("Run returned %v", err)
					}
				default:
					t.Error("Run goes on without the goroutine")
				}
			})
		})
	}
}

// TestInformerHandlerAddedWhileASnapshotIsLoaded: it sees each object once.
func TestInformerHandlerAddedWhileASnapshotIsLoaded(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		snapshot := cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"}
		w.put("a", "x", "1")
		_, stop := w.lives(snapshot, newView(t), nil)
		stop()
		i := cache.New(w.maps, options{Snapshot: snapshot})
		v, added := newView(t), false
		cache.NewIndex(i.Store(), func(kube.Partial) []string {
			if !added {
				added = true
				w.wg.Go(func() { i.Handle(v.take) })
				for range 10_000 {
					runtime.Gosched()
				}
			}
			return nil
		})
		w.run(i.Run)
		w.pass(time.Minute)
		v.delivered("ADDED a/x initial")
	})
}

// TestInformerReportsWithoutTheTurn: what is called may wait for the informer.
func TestInformerReportsWithoutTheTurn(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		var i *informer
		reports := 0
		i = cache.New(w.maps, options{
			Snapshot: cache.Snapshot{Path: filepath.Join(dir, "missing", "maps"), Cluster: "c1"},
			OnError: func(error) {
				reports++
				i.Handle(func(delta) {}).Remove()
			},
		})
		w.run(i.Run)
		w.put("a", "x", "1")
		w.pass(5 * time.Minute)
		if reports < 2 { // the journal, then the snapshot
			t.Errorf("%d reports", reports)
		}
	})
}

// TestInformerMisconfiguredSnapshot: what can be known at the start fails there.
func TestInformerMisconfiguredSnapshot(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		path := filepath.Join(dir, "maps")
		for name, i := range map[string]interface{ Run(context.Context) error }{
			"no cluster": cache.New(w.maps, options{Snapshot: cache.Snapshot{Path: path}}),
			"secrets":    cache.New(client.Of[kube.Partial](w.client, kube.Secrets), options{Snapshot: cache.Snapshot{Path: path, Cluster: "c1"}}),
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			if err := i.Run(ctx); !errors.Is(err, cache.ErrSnapshotRefused) {
				t.Errorf("%s: Run returned %v", name, err)
			}
			cancel()
		}
		if n := len(w.srv.Requests()); n > 0 {
			t.Errorf("%d requests", n)
		}
	})
}

// TestAwaitHandlerThatDoesNotReturn: a handler that has begun with the event of a write, but never
// returns from it, has not handled it.
func TestAwaitHandlerThatDoesNotReturn(t *testing.T) {
	for how, leave := range map[string]func(){"panic": func() { panic("on purpose") }, "goexit": runtime.Goexit} {
		t.Run(how, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				i := cache.New(w.maps, options{})
				i.Handle(func(delta) {
					time.Sleep(time.Second)
					leave()
				})
				go func() {
					defer func() { _ = recover() }()
					i.Run(w.ctx)
				}()
				if err := i.WaitSynced(w.ctx); err != nil {
					t.Fatal(err)
				}
				w.put("a", "x", "1")
				o, err := w.maps.Get(w.ctx, kube.Key{Namespace: "a", Name: "x"})
				if err != nil {
					t.Fatal(err)
				}
				if err := i.Await(w.ctx, o); err == nil {
					t.Error("Await returned nil, though the handler did not return")
				}
			})
		})
	}
}
