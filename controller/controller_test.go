package controller_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
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

var errBroken = errors.New("broken")

// noting returns a controller that notes the keys it gets and what the cache holds
// of them.
func noting(w *world, o controller.Options[kube.Key]) *controller.Controller[kube.Key] {
	return controller.New("maps", func(_ context.Context, k kube.Key) (controller.Result, error) {
		if o, ok := w.maps.Store().Get(k); ok {
			w.note("%s=%s", k.Name, o.Data["v"])
		} else {
			w.note("%s is gone", k.Name)
		}
		return controller.Result{}, nil
	}, o)
}

func wantNotes(t *testing.T, w *world, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, w.notes()); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

func TestControllerFollowsObjects(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		w.put("y", "1")
		c := noting(w, controller.Options[kube.Key]{})
		controller.For(c, w.maps)
		stop := w.run(t, c)
		wantNotes(t, w, "x=1", "y=1")
		w.put("x", "2")
		wantNotes(t, w, "x=2")
		w.Delete(kube.ConfigMaps, kube.Key{Namespace: "a", Name: "y"})
		wantNotes(t, w, "y is gone")
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "called before") {
			t.Errorf("Run again: %v", err)
		}
	})
}

func TestControllerRetriesWithGrowingDelay(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		begin := time.Now()
		var runs []controller.Run[kube.Key]
		fails := 4
		c := controller.New("maps", func(context.Context, kube.Key) (controller.Result, error) {
			w.note("%s", time.Since(begin))
			if fails--; fails >= 0 {
				return controller.Result{RequeueAfter: time.Hour}, errBroken // the error wins
			}
			return controller.Result{}, nil
		}, controller.Options[kube.Key]{Trace: controller.Trace[kube.Key]{Ran: func(r controller.Run[kube.Key]) { runs = append(runs, r) }}})
		controller.For(c, w.maps)
		stop := w.run(t, c)
		time.Sleep(time.Minute)
		wantNotes(t, w, "0s", "5ms", "15ms", "35ms", "75ms")
		fails = 1
		begin = time.Now()
		w.put("x", "2")
		time.Sleep(time.Minute)
		wantNotes(t, w, "0s", "5ms") // success has reset it
		_ = stop()
		var got []string
		for _, r := range runs {
			got = append(got, fmt.Sprintf("%s %s attempt %d: %v", r.Cause.Input, r.Cause.Type, r.Attempt, r.Err))
		}
		want := []string{
			"configmaps ADDED attempt 0: broken", "error  attempt 1: broken", "error  attempt 2: broken",
			"error  attempt 3: broken", "error  attempt 4: <nil>",
			"configmaps MODIFIED attempt 0: broken", "error  attempt 1: <nil>",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("traced (-want +got):\n%s", diff)
		}
		if r := runs[5]; r.Cause.Object.Name != "x" || r.Cause.Revision != w.Revision() {
			t.Errorf("cause %+v", r.Cause)
		}
		if s := c.Stats(); s.Runs != 7 || s.Failures != 5 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestControllerDoesNotRetryWhatIsPermanent(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		c := controller.New("maps", func(context.Context, kube.Key) (controller.Result, error) {
			w.note("run")
			return controller.Result{}, fmt.Errorf("wrapped: %w", controller.Permanent(errBroken))
		}, controller.Options[kube.Key]{GaveUp: func(k kube.Key, err error) { w.note("gave up %s: %v", k, err) }})
		controller.For(c, w.maps)
		w.run(t, c)
		time.Sleep(time.Hour)
		wantNotes(t, w, "run", "gave up a/x: wrapped: broken")
		w.put("x", "2")
		wantNotes(t, w, "run", "gave up a/x: wrapped: broken")
		if controller.Permanent(nil) != nil || !errors.Is(controller.Permanent(errBroken), errBroken) {
			t.Error("Permanent hides what it marks")
		}
	})
}

// TestControllerSurvivesAPanicOfGaveUp: it is user code, as the Func is.
func TestControllerSurvivesAPanicOfGaveUp(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		ctl := controller.New("maps", func(context.Context, kube.Key) (controller.Result, error) {
			w.note("run")
			return controller.Result{}, errBroken
		}, controller.Options[kube.Key]{MaxRetries: -1, GaveUp: func(kube.Key, error) { panic("on purpose") }})
		controller.For(ctl, w.maps)
		w.run(t, ctl)
		synctest.Wait()
		w.put("x", "2")
		synctest.Wait()
		wantNotes(t, w, "run", "run")
		if s := ctl.Stats(); s.Panics != 2 || s.GaveUp != 2 {
			t.Errorf("%d panics, gave up %d times, want 2 of each", s.Panics, s.GaveUp)
		}
	})
}

// TestControllerSurvivesAPanicOfATrace: the key is released, and other traces are called.
func TestControllerSurvivesAPanicOfATrace(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		ctl := controller.New("maps", func(context.Context, kube.Key) (controller.Result, error) { return controller.Result{}, nil },
			controller.Options[kube.Key]{Trace: controller.Trace[kube.Key]{Ran: func(controller.Run[kube.Key]) { panic("on purpose") }}})
		ctl.Observe(controller.Trace[kube.Key]{Ran: func(r controller.Run[kube.Key]) { w.note("ran %s", r.Key) }})
		controller.For(ctl, w.maps)
		w.run(t, ctl)
		synctest.Wait()
		w.put("x", "2")
		synctest.Wait()
		wantNotes(t, w, "ran a/x", "ran a/x")
		if s := ctl.Stats(); s.Panics != 2 || s.Failures != 0 {
			t.Errorf("%d panics and %d failures, want 2 and 0", s.Panics, s.Failures)
		}
	})
}

// TestControllerSurvivesAPanicOfWaiting: it is called by Run.
func TestControllerSurvivesAPanicOfWaiting(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		allow := w.Deny("", apitest.Match{Resource: "configmaps"})
		ctl := controller.New("maps", func(_ context.Context, k kube.Key) (controller.Result, error) {
			w.note("run %s", k)
			return controller.Result{}, nil
		}, controller.Options[kube.Key]{Trace: controller.Trace[kube.Key]{Waiting: func(string, error) { panic("on purpose") }}})
		controller.For(ctl, w.maps)
		w.run(t, ctl)
		time.Sleep(time.Minute)
		allow()
		time.Sleep(time.Minute)
		wantNotes(t, w, "run a/x")
	})
}

func TestControllerGivesUp(t *testing.T) {
	for name, c := range map[string]struct{ retries, runs int }{"after two": {2, 3}, "at once": {-1, 1}} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				w.put("x", "1")
				runs := 0
				ctl := controller.New("maps", func(context.Context, kube.Key) (controller.Result, error) {
					runs++
					return controller.Result{}, errBroken
				}, controller.Options[kube.Key]{MaxRetries: c.retries, GaveUp: func(kube.Key, error) { w.note("gave up after %d", runs) }})
				controller.For(ctl, w.maps)
				w.run(t, ctl)
				time.Sleep(time.Hour)
				wantNotes(t, w, fmt.Sprintf("gave up after %d", c.runs))
				if n := ctl.Queue().NumRequeues(kube.Key{Namespace: "a", Name: "x"}); n > 0 {
					t.Errorf("%d delays are counted after the key was given up", n)
				}
				w.put("x", "2") // all retries again
				time.Sleep(time.Hour)
				wantNotes(t, w, fmt.Sprintf("gave up after %d", 2*c.runs))
			})
		})
	}
}

func TestControllerSurvivesPanics(t *testing.T) {
	for name, how := range map[string]func(){
		"panic":      func() { panic(errBroken) },
		"panic(nil)": func() { panic(nil) },
		"runtime":    func() { var none []int; _ = none[len(none)] },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				w.put("x", "1")
				var errs []error
				runs := 0
				c := controller.New("maps", func(context.Context, kube.Key) (controller.Result, error) {
					if runs++; runs == 1 {
						how()
					}
					return controller.Result{}, nil
				}, controller.Options[kube.Key]{Trace: controller.Trace[kube.Key]{Ran: func(r controller.Run[kube.Key]) { errs = append(errs, r.Err) }}})
				controller.For(c, w.maps)
				stop := w.run(t, c)
				time.Sleep(time.Minute)
				_ = stop()
				var p *controller.PanicError
				if len(errs) != 2 || !errors.As(errs[0], &p) || errs[1] != nil {
					t.Fatalf("errors %v", errs)
				}
				if name == "panic" && !errors.Is(errs[0], errBroken) || !strings.Contains(string(p.Stack), "controller_test") {
					t.Errorf("error %v, stack %s", errs[0], p.Stack)
				}
				if s := c.Stats(); s.Panics != 1 {
					t.Errorf("%d panics", s.Panics)
				}
			})
		})
	}
}

func TestControllerRequeues(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		begin := time.Now()
		results := []controller.Result{{RequeueAfter: time.Second}, {RequeueAfter: time.Minute}, {Requeue: true}, {Requeue: true}, {RequeueAfter: time.Hour}, {Requeue: true}, {}}
		c := controller.New("maps", func(context.Context, kube.Key) (controller.Result, error) {
			w.note("%s", time.Since(begin))
			begin = time.Now()
			r := results[0]
			results = results[1:]
			return r, nil
		}, controller.Options[kube.Key]{})
		controller.For(c, w.maps)
		w.run(t, c)
		w.put("x", "1")
		time.Sleep(24 * time.Hour)
		// RequeueAfter forgets the failures that Requeue counts.
		wantNotes(t, w, "0s", "1s", "1m0s", "5ms", "10ms", "1h0m0s", "5ms")
	})
}

func TestControllerEndsALongRun(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		c := controller.New("maps", func(ctx context.Context, _ kube.Key) (controller.Result, error) {
			begin := time.Now()
			<-ctx.Done()
			w.note("%s: %v", time.Since(begin), context.Cause(ctx))
			return controller.Result{}, controller.Permanent(ctx.Err())
		}, controller.Options[kube.Key]{Timeout: 3 * time.Second})
		controller.For(c, w.maps)
		w.run(t, c)
		time.Sleep(time.Minute)
		wantNotes(t, w, "3s: the run took longer than 3s")
	})
}

func TestControllerWaitsAsLongAsTheServerWants(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		begin := time.Now()
		c := controller.New("maps", func(ctx context.Context, k kube.Key) (controller.Result, error) {
			w.note("%s", time.Since(begin))
			_, err := client.Of[secret](w.client, kube.Secrets).Create(ctx, secret{kube.Meta{Namespace: "a", Name: k.Name}})
			return controller.Result{}, err
		}, controller.Options[kube.Key]{})
		controller.For(c, w.maps)
		w.On(apitest.Match{Verb: "create"}, faults.Throttle("7")).Times(1)
		w.run(t, c)
		time.Sleep(time.Minute)
		wantNotes(t, w, "0s", "7s")
	})
}

func TestOwns(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		c := controller.New("owners", func(_ context.Context, k kube.Key) (controller.Result, error) {
			w.note("%s", k)
			return controller.Result{}, nil
		}, controller.Options[kube.Key]{})
		controller.Owns(c, kube.ConfigMaps, w.secrets)
		w.run(t, c)
		child := func(refs string) {
			w.Put(kube.Secrets, `{"metadata":{"namespace":"a","name":"child","ownerReferences":[`+refs+`]}}`)
		}
		owner := func(apiVersion, kind, name string, controller bool) string {
			return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"name":%q,"uid":"1","controller":%v}`, apiVersion, kind, name, controller)
		}
		child(owner("v1", "ConfigMap", "x", true))
		wantNotes(t, w, "a/x")
		child(owner("v1", "ConfigMap", "y", true))
		wantNotes(t, w, "a/y", "a/x") // both
		child(owner("v1", "ConfigMap", "y", false))
		wantNotes(t, w, "a/y") // had it
		child(owner("v1", "Service", "x", true))
		child(owner("apps/v1", "ConfigMap", "x", true))
		wantNotes(t, w)
		child(owner("v1", "ConfigMap", "z", true))
		w.notes()
		w.Delete(kube.Secrets, kube.Key{Namespace: "a", Name: "child"})
		wantNotes(t, w, "a/z")
	})
}

func TestMapGetsTheOldAndTheNewObject(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		c := controller.New("values", func(_ context.Context, v string) (controller.Result, error) {
			w.note("%s", v)
			return controller.Result{}, nil
		}, controller.Options[string]{})
		// "all" is added twice by a change, and comes once or twice.
		expect := func(want ...string) {
			t.Helper()
			got := w.notes()
			slices.Sort(got)
			if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		}
		controller.Map(c, w.maps, func(o configMap) []string { return []string{o.Data["v"], "all"} })
		w.run(t, c)
		w.put("x", "1")
		expect("1", "all")
		w.put("x", "2")
		expect("1", "2", "all")
		w.Delete(kube.ConfigMaps, kube.Key{Namespace: "a", Name: "x"})
		expect("2", "all")
	})
}

func TestPredicates(t *testing.T) {
	base := configMap{Meta: kube.Meta{Generation: 1, Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "1"}}}
	changed := map[string]configMap{"nothing": base, "generation": base, "labels": base, "annotations": base}
	for name, change := range map[string]func(*configMap){
		"generation":  func(o *configMap) { o.Generation = 2 },
		"labels":      func(o *configMap) { o.Labels = map[string]string{"l": "2"} },
		"annotations": func(o *configMap) { o.Annotations = nil },
	} {
		o := changed[name]
		change(&o)
		changed[name] = o
	}
	preds := map[string]func(cache.Delta[configMap]) bool{
		"generation": controller.GenerationChanged[configMap], "labels": controller.LabelsChanged[configMap],
		"annotations": controller.AnnotationsChanged[configMap],
	}
	for what, now := range changed {
		for name, pass := range preds {
			d := cache.Delta[configMap]{Type: "MODIFIED", Old: base, New: now}
			if pass(d) != (what == name) {
				t.Errorf("%s changed, and the predicate for %s says %v", what, name, pass(d))
			}
			for _, d := range []cache.Delta[configMap]{{Type: "ADDED", New: base}, {Type: "DELETED", New: base}, {Type: "MODIFIED", Old: base, New: base, Resync: true}} {
				if !pass(d) {
					t.Errorf("the predicate for %s stops %+v", name, d)
				}
			}
		}
		either := controller.Any(preds["labels"], preds["generation"])
		if got := either(cache.Delta[configMap]{Type: "MODIFIED", Old: base, New: now}); got != (what == "labels" || what == "generation") {
			t.Errorf("%s changed, and Any says %v", what, got)
		}
	}
}

// Most core resources count no generations: neither a change nor a deletion sets one.
func TestGenerationChangedWithoutGenerations(t *testing.T) {
	now := time.Now()
	old := configMap{Meta: kube.Meta{ResourceVersion: "1"}}
	for what, o := range map[string]configMap{
		"data": {Meta: kube.Meta{ResourceVersion: "2"}}, "deletion": {Meta: kube.Meta{ResourceVersion: "2", DeletionTimestamp: &now}},
	} {
		if !controller.GenerationChanged(cache.Delta[configMap]{Type: "MODIFIED", Old: old, New: o}) {
			t.Errorf("the predicate stops a change of an object without a generation: %s", what)
		}
	}
}

// A restored server counts the generations again: the same one may be of another state.
func TestGenerationChangedAfterALaterList(t *testing.T) {
	o := configMap{Meta: kube.Meta{Generation: 3}}
	if !controller.GenerationChanged(cache.Delta[configMap]{Type: "MODIFIED", Old: o, New: o, Inferred: true}) {
		t.Error("the predicate stops a change that a later list shows")
	}
}

func TestPredicatesAreAllNeeded(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		c := noting(w, controller.Options[kube.Key]{})
		controller.For(c, w.maps,
			func(d cache.Delta[configMap]) bool { return d.Key.Name != "y" },
			func(d cache.Delta[configMap]) bool { return d.New.Data["v"] != "2" })
		w.run(t, c)
		w.put("x", "1")
		w.put("y", "1")
		w.put("x", "2")
		w.put("x", "3")
		if got := w.notes(); slices.Contains(got, "y=1") || got[len(got)-1] != "x=3" {
			t.Errorf("runs %q", got)
		}
	})
}

// No run begins before every cache is filled, and whoever asks learns why.
func TestControllerWaitsForItsCaches(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		forbid := w.On(apitest.Match{Resource: "secrets"}, faults.Answer(&kube.Status{Code: 403, Reason: "Forbidden", Message: "secrets is forbidden"}))
		c := noting(w, controller.Options[kube.Key]{Trace: controller.Trace[kube.Key]{Waiting: func(input string, why error) { w.note("%s: %v", input, errors.Is(why, kube.ErrForbidden)) }}})
		controller.For(c, w.maps)
		controller.Owns(c, kube.ConfigMaps, w.secrets)
		if err := c.Ready(); err == nil || !strings.Contains(err.Error(), "has not begun") {
			t.Errorf("before Run: %v", err)
		}
		stop := w.run(t, c)
		time.Sleep(15 * time.Second)
		wantNotes(t, w, "secrets: true")
		if err := c.Ready(); !errors.Is(err, kube.ErrForbidden) {
			t.Errorf("while it waits: %v", err)
		}
		forbid.Remove()
		time.Sleep(10 * time.Minute)
		if got := w.notes(); !slices.Contains(got, "x=1") {
			t.Errorf("runs %q", got)
		}
		if err := c.Ready(); err != nil {
			t.Errorf("while it works: %v", err)
		}
		_ = stop()
		if err := c.Ready(); err == nil || !strings.Contains(err.Error(), "has ended") {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestControllerEndsIfACacheDoes(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_ = w.maps.Run(ended)
		c := noting(w, controller.Options[kube.Key]{})
		controller.For(c, w.maps)
		if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "configmaps: not synced: the informer ended") {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestControllerDoesFreshThingsFirst(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		for _, name := range []string{"o1", "o2", "o3"} {
			w.put(name, "1")
		}
		c := controller.New("maps", func(_ context.Context, k kube.Key) (controller.Result, error) {
			time.Sleep(time.Second)
			w.note("%s", k.Name)
			return controller.Result{}, nil
		}, controller.Options[kube.Key]{})
		controller.For(c, w.maps)
		w.run(t, c)
		time.Sleep(500 * time.Millisecond)
		w.put("fresh", "1")
		w.put("o3", "2")
		time.Sleep(time.Minute)
		wantNotes(t, w, "o1", "fresh", "o3", "o2")
	})
}

func TestControllerStops(t *testing.T) {
	for name, c := range map[string]struct {
		grace time.Duration
		want  string
	}{"at once": {0, "ended by its context after 10s"}, "with grace": {time.Minute, "ended by itself after 20s"}, "with too little grace": {5 * time.Second, "ended by its context after 15s"}} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				w.put("x", "1")
				w.put("y", "1")
				ctl := controller.New("maps", func(ctx context.Context, _ kube.Key) (controller.Result, error) {
					begin := time.Now()
					select {
					case <-ctx.Done():
						w.note("ended by its context after %s", time.Since(begin))
						return controller.Result{}, ctx.Err()
					case <-time.After(20 * time.Second):
						w.note("ended by itself after %s", time.Since(begin))
						return controller.Result{}, nil
					}
				}, controller.Options[kube.Key]{Grace: c.grace})
				controller.For(ctl, w.maps)
				stop := w.run(t, ctl)
				time.Sleep(10 * time.Second)
				if err := stop(); err != nil {
					t.Errorf("Run: %v", err)
				}
				wantNotes(t, w, c.want) // and y never begins
				if s := ctl.Stats(); s.Failures != 0 {
					t.Errorf("%d failures", s.Failures)
				}
			})
		})
	}
}

// A watch that lags must not let a reconciler create what it created already.
func TestAwaitPreventsDuplicates(t *testing.T) {
	for name, c := range map[string]struct{ await, duplicates bool }{"with Await": {true, false}, "without": {false, true}} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				secrets := client.Of[secret](w.client, kube.Secrets).In("a")
				var ctl *controller.Controller[kube.Key]
				ctl = controller.New("maps", func(ctx context.Context, k kube.Key) (controller.Result, error) {
					if w.secrets.Store().Len() > 0 {
						return controller.Result{}, nil
					}
					o, err := secrets.Create(ctx, secret{kube.Meta{GenerateName: k.Name + "-"}})
					if err == nil && c.await {
						ctl.Await(k, w.secrets, o)
					}
					return controller.Result{}, errors.Join(err, errBroken) // and it runs again soon
				}, controller.Options[kube.Key]{})
				controller.For(ctl, w.maps)
				w.On(apitest.Match{Verb: "watch", Resource: "secrets"}, faults.EachEvent(func(rw http.ResponseWriter, event []byte) {
					time.Sleep(2 * time.Second)
					_, _ = rw.Write(event)
				}))
				w.run(t, ctl)
				time.Sleep(10 * time.Second)
				w.put("x", "1")
				time.Sleep(time.Second)
				w.put("x", "2")
				time.Sleep(time.Minute)
				objects, _ := w.List(kube.Secrets)
				if duplicates := len(objects) > 1; len(objects) == 0 || duplicates != c.duplicates {
					t.Errorf("%d secrets", len(objects))
				}
			})
		})
	}
}

// A key that waits for a cache does not hold a worker, and other keys go on.
func TestAwaitHoldsTheKeyAndNotTheWorker(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		var ctl *controller.Controller[kube.Key]
		ctl = controller.New("maps", func(_ context.Context, k kube.Key) (controller.Result, error) {
			w.note("%s", k.Name)
			if k.Name == "x" {
				ctl.Await(k, w.secrets, secret{kube.Meta{Namespace: "a", Name: "x", ResourceVersion: "1000000"}}) // never
			}
			return controller.Result{}, nil
		}, controller.Options[kube.Key]{AwaitTimeout: 20 * time.Second})
		controller.For(ctl, w.maps)
		stop := w.run(t, ctl)
		w.put("x", "1")
		wantNotes(t, w, "x")
		w.put("x", "2")
		w.put("y", "1")
		wantNotes(t, w, "y")
		time.Sleep(19 * time.Second)
		wantNotes(t, w)
		time.Sleep(2 * time.Second)
		wantNotes(t, w, "x") // for all that, it goes on
		if err := stop(); err != nil {
			t.Errorf("Run, while a key waits: %v", err)
		}
	})
}

// panics returns what f panicked with.
func panics(f func()) (v string) {
	defer func() { v = fmt.Sprint(recover()) }()
	f()
	return ""
}

func TestNilIsRefusedWhereItIsGiven(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		c := noting(w, controller.Options[kube.Key]{})
		for want, f := range map[string]func(){
			"controller x: the function is nil":           func() { controller.New[string]("x", nil, controller.Options[string]{}) },
			"controller maps: the input is nil":           func() { controller.For[configMap](c, nil) },
			"controller maps: the function of Map is nil": func() { controller.Map(c, w.maps, nil) },
		} {
			if got := panics(f); !strings.Contains(got, want) {
				t.Errorf("panic %q, want %q", got, want)
			}
		}
	})
}
