package controller_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
)

// TestAwaitedCoversEachVerb: though the watch lags by two seconds, the run after a write
// sees what was written, and a write that stored nothing holds nothing back.
func TestAwaitedCoversEachVerb(t *testing.T) {
	type maps = client.Collection[configMap]
	value := func(o *configMap) error { o.Data = map[string]string{"v": "new"}; return nil }
	made := configMap{Meta: kube.Meta{Namespace: "a", Name: "made"}, Data: map[string]string{"v": "new"}}
	x, other := kube.Key{Namespace: "a", Name: "x"}, kube.KeyOf(made)
	for name, tt := range map[string]struct {
		write func(ctx context.Context, c maps, o configMap) error
		of    kube.Key
		want  string
		after time.Duration // of the second run, after the first one
	}{
		"Create": {func(ctx context.Context, c maps, _ configMap) error { _, err := c.Create(ctx, made); return err }, other, "new", 2 * time.Second},
		"Update": {func(ctx context.Context, c maps, o configMap) error {
			_ = value(&o)
			_, err := c.Update(ctx, o)
			return err
		}, x, "new", 2 * time.Second},
		"Edit": {func(ctx context.Context, c maps, _ configMap) error { _, err := c.Edit(ctx, x, value); return err }, x, "new", 2 * time.Second},
		"CreateOrUpdate": {func(ctx context.Context, c maps, _ configMap) error {
			_, _, err := c.CreateOrUpdate(ctx, other, value)
			return err
		}, other, "new", 2 * time.Second},
		"CreateOrPatch": {func(ctx context.Context, c maps, _ configMap) error {
			_, _, err := c.CreateOrPatch(ctx, x, value)
			return err
		}, x, "new", 2 * time.Second},
		"Patch": {func(ctx context.Context, c maps, _ configMap) error {
			_, err := c.Patch(ctx, x, client.MergePatch, `{"data":{"v":"new"}}`)
			return err
		}, x, "new", 2 * time.Second},
		"PatchFrom": {func(ctx context.Context, c maps, o configMap) error {
			after := kube.Clone(o)
			_ = value(&after)
			_, err := c.PatchFrom(ctx, o, after, client.PatchOptions{})
			return err
		}, x, "new", 2 * time.Second},
		"Apply": {func(ctx context.Context, c maps, _ configMap) error {
			_, err := c.Apply(ctx, x, `{"data":{"v":"new"}}`, client.ApplyOptions{Force: true})
			return err
		}, x, "new", 2 * time.Second},
		"Delete": {func(ctx context.Context, c maps, _ configMap) error { return c.Delete(ctx, x, client.DeleteOptions{}) }, x, "gone", 2 * time.Second},
		"Delete and Create": {func(ctx context.Context, c maps, _ configMap) error {
			if err := c.Delete(ctx, x, client.DeleteOptions{}); err != nil {
				return err
			}
			_, err := c.Create(ctx, configMap{Meta: kube.Meta{Namespace: x.Namespace, Name: x.Name}, Data: map[string]string{"v": "new"}})
			return err
		}, x, "new", 4 * time.Second},
		"Delete of what has an owner": {func(ctx context.Context, c maps, _ configMap) error {
			return c.Delete(ctx, kube.Key{Namespace: "a", Name: "held"}, client.DeleteOptions{})
		}, kube.Key{Namespace: "a", Name: "held"}, "marked", 2 * time.Second},
		"a dry run": {func(ctx context.Context, c maps, _ configMap) error {
			w := c.Write
			w.DryRun = true
			_, err := c.With(w).Edit(ctx, x, value)
			return err
		}, x, "old", 0},
		"a dry run of Delete": {func(ctx context.Context, c maps, _ configMap) error {
			w := c.Write
			w.DryRun = true
			return c.With(w).Delete(ctx, x, client.DeleteOptions{})
		}, x, "old", 0},
		"a write that is refused": {func(ctx context.Context, c maps, o configMap) error {
			o.ResourceVersion = "1"
			if _, err := c.Update(ctx, o); !errors.Is(err, kube.ErrConflict) {
				return fmt.Errorf("not a conflict: %w", err)
			}
			return nil
		}, x, "old", 0},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				w.put("x", "old")
				w.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"held","finalizers":["example.com/f"]}}`)
				all := client.Of[configMap](w.client, kube.ConfigMaps).With(client.WriteOptions{FieldManager: "test"})
				var first time.Time
				var ctl *controller.Controller[kube.Key]
				ctl = controller.New("maps", func(ctx context.Context, k kube.Key) (controller.Result, error) {
					switch {
					case k != x || !first.IsZero() && w.seen:
						return controller.Result{}, nil
					case first.IsZero():
						first = time.Now()
						o, _ := w.maps.Store().Get(x)
						return controller.Result{Requeue: true}, tt.write(ctx, controller.Awaited(ctl, k, all, w.maps), o)
					}
					w.seen = true
					got := "gone"
					if o, ok := w.maps.Store().Get(tt.of); ok && o.DeletionTimestamp != nil {
						got = "marked"
					} else if ok {
						got = o.Data["v"]
					}
					if got != tt.want {
						t.Errorf("the next run sees %q, want %q", got, tt.want)
					}
					if waited := time.Since(first).Truncate(time.Second); waited != tt.after {
						t.Errorf("the next run came after %v, want %v", waited, tt.after)
					}
					return controller.Result{}, nil
				}, controller.Options[kube.Key]{})
				controller.For(ctl, w.maps)
				w.On(apitest.Match{Verb: "watch", Resource: "configmaps"}, faults.EachEvent(func(rw http.ResponseWriter, event []byte) {
					time.Sleep(2 * time.Second)
					_, _ = rw.Write(event)
				}))
				w.run(t, ctl)
				time.Sleep(time.Minute)
				synctest.Wait()
				if !w.seen {
					t.Error("the key did not run again")
				}
			})
		})
	}
}
