package controller_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
)

var sourceSeed = flag.Uint64("source.seed", 0, "seed of TestSourceModel; 0 = those of the suite")

// noteKeys returns a controller that notes its keys.
func noteKeys(w *world) *controller.Controller[kube.Key] {
	return controller.New("keys", func(_ context.Context, k kube.Key) (controller.Result, error) {
		w.note("%s", k)
		return controller.Result{}, nil
	}, controller.Options[kube.Key]{})
}

func forbidden() *kube.Status {
	return &kube.Status{Code: 403, Reason: "Forbidden", Message: "no"}
}

// TestSourceIsAddedAndRemovedWhileTheControllerRuns: an input that may not be read yet
// delays no other one and is not part of Ready, its objects come once it is filled, and
// after Remove none.
func TestSourceIsAddedAndRemovedWhileTheControllerRuns(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		refusal := w.On(apitest.Match{Resource: "secrets"}, faults.Answer(forbidden()))
		w.Put(kube.Secrets, `{"metadata":{"namespace":"b","name":"early"}}`)
		w.put("x", "1")
		c := noteKeys(w)
		controller.For(c, w.maps)
		stop := w.run(t, c)
		wantNotes(t, w, "a/x")
		added := controller.For(c, w.secrets)
		w.put("x", "2")
		<-time.After(30 * time.Second)
		wantNotes(t, w, "a/x")
		if err := c.Ready(); err != nil {
			t.Errorf("Ready: %v", err)
		}
		refusal.Remove()
		<-time.After(2 * time.Minute)
		wantNotes(t, w, "b/early")
		w.Put(kube.Secrets, `{"metadata":{"namespace":"b","name":"later"}}`)
		wantNotes(t, w, "b/later")
		for n := range 2 {
			added.Remove()
			w.Put(kube.Secrets, `{"metadata":{"namespace":"b","name":"early","labels":{"x":"y"}}}`)
			w.put("x", fmt.Sprint("again ", n))
			wantNotes(t, w, "a/x")
		}
		again := controller.For(c, w.secrets)
		if diff := cmp.Diff([]string{"b/early", "b/later"}, slices.Sorted(slices.Values(w.notes()))); diff != "" {
			t.Errorf("keys of the source that was added again (-want +got):\n%s", diff)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		again.Remove()
		controller.For(c, w.secrets).Remove() // after the end
	})
}

// TestSourceThatTheStartWaitsForIsRemoved: the controller then begins without it.
func TestSourceThatTheStartWaitsForIsRemoved(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.On(apitest.Match{Resource: "secrets"}, faults.Answer(forbidden()))
		w.put("x", "1")
		c := noteKeys(w)
		source := controller.For(c, w.secrets)
		controller.For(c, w.maps)
		w.run(t, c)
		<-time.After(time.Minute)
		wantNotes(t, w)
		source.Remove()
		wantNotes(t, w, "a/x")
		if err := c.Ready(); err != nil {
			t.Errorf("Ready: %v", err)
		}
	})
}

// TestSourceIsRemovedBeforeRun: it is not waited for, with its handler or without.
func TestSourceIsRemovedBeforeRun(t *testing.T) {
	for _, attach := range []bool{false, true} {
		run(t, func(t *testing.T, w *world) {
			w.put("x", "1")
			c := noteKeys(w)
			never := cache.New(client.Of[secret](w.client, kube.Secrets), cache.Options[secret]{})
			source := controller.For(c, never)
			if attach {
				c.Attach()
			}
			source.Remove()
			controller.For(c, w.maps)
			stop := w.run(t, c)
			wantNotes(t, w, "a/x")
			if err := stop(); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
}

// TestSourceThatHasEndedIsLeftOut: the controller continues.
func TestSourceThatHasEndedIsLeftOut(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		ended := cache.New(client.Of[secret](w.client, kube.Secrets), cache.Options[secret]{})
		over, end := context.WithCancel(t.Context())
		end()
		_ = ended.Run(over)
		c := noteKeys(w)
		controller.For(c, w.maps)
		w.run(t, c)
		controller.For(c, ended)
		w.put("x", "1")
		wantNotes(t, w, "a/x")
	})
}

// TestSourceModel adds and removes the informers of five namespaces at random while
// objects change. When all is quiet, the controller has run for the last state of each
// object of the sources that are there; and it never runs for a change that was made
// while the source was removed.
func TestSourceModel(t *testing.T) {
	seeds := []uint64{1, 2, 3, 4, 5, 6}
	if *sourceSeed != 0 {
		seeds = []uint64{*sourceSeed}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			run(t, func(t *testing.T, w *world) { sourceModel(t, w, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func sourceModel(t *testing.T, w *world, random *rand.Rand) {
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	stores := make(map[string]*cache.Informer[configMap])
	for n := range 5 {
		ns := fmt.Sprintf("n%d", n)
		informer := cache.New(client.Of[configMap](w.client, kube.ConfigMaps).In(ns), cache.Options[configMap]{})
		stores[ns] = informer
		running.Go(func() { _ = informer.Run(ctx) })
	}
	var mu sync.Mutex
	seen := make(map[kube.Key]string) // the state that the last run saw
	c := controller.New("model", func(_ context.Context, k kube.Key) (controller.Result, error) {
		o, ok := stores[k.Namespace].Store().Get(k)
		mu.Lock()
		defer mu.Unlock()
		if seen[k] = o.Data["v"]; !ok {
			seen[k] = "gone"
		}
		return controller.Result{}, nil
	}, controller.Options[kube.Key]{Workers: 2})
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	sources := make(map[string]*controller.Source)
	truth := make(map[kube.Key]string)
	gone := make(map[kube.Key]bool)     // deleted while their source was there, after it was known to have them
	frozen := make(map[kube.Key]string) // what the runs had seen of removed sources
	check := func(step int) {
		<-time.After(time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		for k, v := range truth {
			if sources[k.Namespace] != nil && seen[k] != v {
				t.Fatalf("step %d: the last run of %s saw %q, and it is %q", step, k, seen[k], v)
			}
		}
		for k := range gone {
			if seen[k] != "gone" {
				t.Fatalf("step %d: the last run of %s saw %q, and it was deleted", step, k, seen[k])
			}
		}
		for k, v := range seen {
			if sources[k.Namespace] == nil && frozen[k] != v {
				t.Fatalf("step %d: %s ran without a source: it saw %q, and %q before", step, k, v, frozen[k])
			}
		}
	}
	for step := range 400 {
		ns := fmt.Sprintf("n%d", random.IntN(5))
		k := kube.Key{Namespace: ns, Name: fmt.Sprintf("o%d", random.IntN(4))}
		switch source := sources[ns]; random.IntN(7) {
		case 0, 1, 2:
			truth[k] = fmt.Sprint(step)
			delete(gone, k)
			w.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q},"data":{"v":"%d"}}`, ns, k.Name, step))
		case 3:
			if truth[k] == "" {
				continue
			}
			check(step)
			w.Delete(kube.ConfigMaps, k)
			delete(truth, k)
			if source != nil {
				gone[k] = true
			}
		case 4:
			if source == nil {
				sources[ns] = controller.For(c, stores[ns])
			}
		case 5:
			if source == nil {
				continue
			}
			check(step)
			source.Remove()
			delete(sources, ns)
			for k, v := range seen {
				if k.Namespace == ns {
					frozen[k] = v
				}
			}
		default:
			check(step)
		}
	}
	check(400)
	stop()
	running.Wait()
	if len(seen) == 0 {
		t.Error("nothing ran")
	}
}

// filled is an input that does not wait.
type filled struct {
	cache *cache.Informer[configMap]
	calls *int // of handlers
}

func (f filled) Handle(h func(cache.Delta[configMap])) *cache.Handler[configMap] {
	return f.cache.Handle(func(d cache.Delta[configMap]) {
		*f.calls++
		h(d)
	})
}
func (f filled) WaitSynced(context.Context) error { return nil }
func (f filled) Name() string                     { return f.cache.Name() }

// TestSourceIsRemovedWhileItsHandlerIsAdded: that waits for the handler of somebody else.
// When it is added at last, it adds no keys, and is removed.
func TestSourceIsRemovedWhileItsHandlerIsAdded(t *testing.T) {
	for name, early := range map[string]bool{"with Run": true, "later": false} {
		t.Run(name, func(t *testing.T) { removeWhileAdded(t, early) })
	}
}

func removeWhileAdded(t *testing.T, early bool) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		c := noteKeys(w)
		w.run(t, c)
		if early {
			c = noteKeys(w)
		}
		busy := make(chan struct{})
		w.maps.Handle(func(d cache.Delta[configMap]) {
			if d.Key.Name == "slow" {
				<-busy
			}
		})
		w.put("slow", "1")
		synctest.Wait()
		calls := 0
		source := controller.For(c, filled{w.maps, &calls})
		if early {
			go func() { _ = c.Run(t.Context()) }()
		}
		synctest.Wait()
		source.Remove()
		close(busy)
		wantNotes(t, w)
		calls = 0
		w.put("x", "2")
		wantNotes(t, w)
		if calls > 0 {
			t.Errorf("the handler of a removed source was called %d times", calls)
		}
	})
}
