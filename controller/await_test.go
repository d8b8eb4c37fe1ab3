package controller_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
)

// TestAwaitCoversDeletions: after the removal of the last finalizer, and after a
// Delete, the next run sees that the object is gone, though the watch lags.
func TestAwaitCoversDeletions(t *testing.T) {
	for _, verb := range []string{"removes the finalizer", "deletes"} {
		t.Run(verb, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				maps := client.Of[configMap](w.client, kube.ConfigMaps)
				var ctl *controller.Controller[kube.Key]
				ctl = controller.New("maps", func(ctx context.Context, k kube.Key) (controller.Result, error) {
					o, ok := w.maps.Store().Get(k)
					if !ok {
						w.note("gone")
						return controller.Result{}, nil
					}
					if o.DeletionTimestamp != nil {
						w.note("marked")
					} else {
						w.note("there")
					}
					if verb == "deletes" && o.DeletionTimestamp == nil {
						ctl.AwaitDeleted(k, w.maps, o)
						return controller.Result{Requeue: true}, maps.Delete(ctx, k, client.DeleteOptions{UID: o.UID})
					}
					if verb == "deletes" || o.DeletionTimestamp == nil {
						return controller.Result{}, nil
					}
					now, err := maps.Edit(ctx, k, func(o *configMap) error { o.Finalizers = nil; return nil })
					if err == nil {
						ctl.Await(k, w.maps, now)
					}
					return controller.Result{Requeue: true}, err
				}, controller.Options[kube.Key]{})
				controller.For(ctl, w.maps)
				w.On(apitest.Match{Verb: "watch", Resource: "configmaps"}, faults.EachEvent(func(rw http.ResponseWriter, event []byte) {
					time.Sleep(2 * time.Second)
					_, _ = rw.Write(event)
				}))
				w.run(t, ctl)
				time.Sleep(10 * time.Second)
				w.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"x","finalizers":["example.com/f"]}}`)
				time.Sleep(10 * time.Second)
				if verb == "deletes" {
					wantNotes(t, w, "there", "marked")
					return
				}
				if err := maps.Delete(t.Context(), kube.Key{Namespace: "a", Name: "x"}, client.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Second)
				wantNotes(t, w, "there", "marked", "gone")
			})
		})
	}
}

// TestAwaitOfAnObjectThatVanished: what a run created was deleted while the cache had to
// list again. No handler is called, and the key comes again all the same.
func TestAwaitOfAnObjectThatVanished(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		secrets := client.Of[secret](w.client, kube.Secrets).In("a")
		var ctl *controller.Controller[kube.Key]
		ctl = controller.New("maps", func(ctx context.Context, k kube.Key) (controller.Result, error) {
			if _, ok := w.secrets.Store().Get(k); ok {
				return controller.Result{}, nil
			}
			o, err := secrets.Create(ctx, secret{kube.Meta{Name: k.Name}})
			if err == nil {
				ctl.Await(k, w.secrets, o)
			}
			return controller.Result{}, err
		}, controller.Options[kube.Key]{})
		controller.For(ctl, w.maps)
		w.run(t, ctl)
		time.Sleep(10 * time.Second)
		w.On(apitest.Match{Verb: "watch", Resource: "secrets"}, faults.Answer(apitest.StatusInternal("away"))).Times(4)
		w.Cut()
		w.put("x", "1")
		time.Sleep(5 * time.Second)
		k := kube.Key{Namespace: "a", Name: "x"}
		if w.Get(kube.Secrets, k) == nil {
			t.Fatal("it was not created")
		}
		w.Delete(kube.Secrets, k)
		w.Expire()
		time.Sleep(time.Minute)
		if w.Get(kube.Secrets, k) == nil {
			t.Error("what was deleted is not created again")
		}
	})
}

// TestAwaitThatPanics: a nil object is a bug of the run. It is counted and logged, the key
// runs again, and the program goes on.
func TestAwaitThatPanics(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		var ctl *controller.Controller[kube.Key]
		ctl = controller.New("maps", func(_ context.Context, k kube.Key) (controller.Result, error) {
			w.note("%s", k.Name)
			ctl.Await(k, w.secrets, (*secret)(nil))
			return controller.Result{}, nil
		}, controller.Options[kube.Key]{})
		controller.For(ctl, w.maps)
		w.run(t, ctl)
		w.put("x", "1")
		time.Sleep(time.Second)
		w.put("x", "2")
		wantNotes(t, w, "x", "x")
		if n := ctl.Stats().Panics; n != 2 {
			t.Errorf("%d panics, want 2", n)
		}
	})
}

// TestAwaitHoldsOneRun: a write that is awaited in vain holds back the next run, not those
// after it.
func TestAwaitHoldsOneRun(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		began, runs := time.Now(), 0
		var ctl *controller.Controller[kube.Key]
		ctl = controller.New("maps", func(_ context.Context, k kube.Key) (controller.Result, error) {
			w.note("%s", time.Since(began))
			if runs++; runs == 1 {
				ctl.Await(k, w.maps, configMap{Meta: kube.Meta{Namespace: "a", Name: "x", ResourceVersion: "1000000000"}})
			}
			return controller.Result{RequeueAfter: time.Hour}, nil
		}, controller.Options[kube.Key]{AwaitTimeout: 90 * time.Minute})
		controller.For(ctl, w.maps)
		w.put("x", "1")
		w.run(t, ctl)
		<-time.After(4 * time.Hour)
		wantNotes(t, w, "0s", "1h30m0s", "2h30m0s", "3h30m0s")
	})
}
