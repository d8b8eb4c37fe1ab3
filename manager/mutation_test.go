package manager_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/manager"
)

// TestManagerDetectsMutations: a controller changes objects of an informer and of a group
// while it runs, and one when it is stopped; another one changes copies.
func TestManagerDetectsMutations(t *testing.T) {
	for _, on := range []bool{true, false} {
		run(t, func(t *testing.T, w *world) {
			w.put("x", "1")
			w.put("y", "1")
			w.put("z", "1")
			var group cache.Group
			shared := cache.Shared(&group, client.Of[ConfigMap](w.client, kube.ConfigMaps), cache.Options[ConfigMap]{})
			ctl := controller.New("careless", func(ctx context.Context, k kube.Key) (controller.Result, error) {
				switch own, _ := w.maps.Store().Get(k); k.Name {
				case "x":
					own.Data["v"] = "changed"
				case "y":
					own = kube.Clone(own)
					own.Data["v"] = "changed"
					own.Labels = map[string]string{"of": "a copy"}
					other, _ := shared.Store().Get(k)
					other.Data["added"] = "changed"
				default:
					<-ctx.Done()
					delete(own.Data, "v")
				}
				w.maps.Store().Len() // orders the change before the next check, for the race detector
				shared.Store().Len()
				return controller.Result{}, nil
			}, controller.Options[kube.Key]{Workers: 2})
			controller.For(ctl, w.maps)
			controller.Map(ctl, shared, func(ConfigMap) []kube.Key { return nil })
			log := newJournal()
			m := manager.New(manager.Options{DetectMutations: on, Logger: log.Logger})
			m.Add(w.maps, &group)
			m.AddLed(ctl)
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- m.Run(ctx) }()
			<-time.After(5 * time.Second)
			synctest.Wait()
			if n, want := log.counts("changed an object")["changed an object"], map[bool]int{true: 2}[on]; n != want {
				t.Errorf("%d mutations are logged while it runs, want %d", n, want)
			}
			stop()
			err := <-done
			var mutated *manager.MutationError
			if errors.As(err, &mutated) != on || !on && err != nil {
				t.Fatalf("detection is %v, and Run returns %v", on, err)
			}
			if !on {
				return
			}
			a := func(name string) kube.Key { return kube.Key{Namespace: "a", Name: name} }
			want := map[cache.Mutation]bool{
				{Informer: "configmaps", Key: a("x"), Path: ".data.v"}: true, {Informer: "configmaps", Key: a("y"), Path: ".data.added"}: true,
				{Informer: "configmaps", Key: a("z"), Path: ".data"}: true,
			}
			got := map[cache.Mutation]bool{}
			for _, m := range mutated.Mutations {
				got[m] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("mutations (-want +got):\n%s", diff)
			}
			if n := log.counts("changed an object")["changed an object"]; n != 3 {
				t.Errorf("%d mutations are logged, want 3", n)
			}
		})
	}
}
