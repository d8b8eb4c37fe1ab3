package cache_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

func TestGroupSharesOneWatch(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		var g cache.Group
		w.run(g.Run)
		first := cache.Shared(&g, w.maps, options{})
		synctest.Wait()
		second := cache.Shared(&g, w.maps, options{})
		if first.Informer != second.Informer {
			t.Error("the same selection has two informers")
		}
		others := []interface{ Release() }{
			cache.Shared(&g, w.maps.In("a"), options{}),
			cache.Shared(&g, w.maps.Where(kube.LabelsSelector(map[string]string{"v": "1"}), kube.FieldSelector{}), options{}),
			cache.Shared(&g, client.Of[codec.Raw](w.client, kube.ConfigMaps), cache.Options[codec.Raw]{}),
			cache.Shared(&g, client.Of[kube.Partial](w.client, kube.Pods), options{}),
		}
		synctest.Wait()
		if n := len(w.srv.Requests()); n != 5 || g.Len() != 5 {
			t.Errorf("%d requests by %d informers, want 5 and 5", n, g.Len())
		}
		v := newView(t)
		h := second.Handle(v.take)
		first.Release()
		first.Release() // counts once
		w.put("a", "y", "1")
		synctest.Wait()
		v.is(w.truth())
		h.Remove()
		second.Release()
		for _, o := range others {
			o.Release()
		}
		synctest.Wait()
		for _, r := range w.srv.Requests() {
			if r.End.IsZero() {
				t.Errorf("a watch of %s goes on though nobody holds it", r.Path)
			}
		}
		third := cache.Shared(&g, w.maps, options{})
		if err := third.WaitSynced(t.Context()); err != nil || third.Informer == first.Informer {
			t.Errorf("after the last release: error %v, the same informer: %v", err, third.Informer == first.Informer)
		}
		third.Release()
	})
}

// TestGroupKindsComeAndGo: an informer of a custom resource whose definition is
// deleted and made again, beside one that is not troubled by it.
func TestGroupKindsComeAndGo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		foos := kube.Resource{Group: "example.com", Version: "v1", Plural: "foos", Kind: "Foo", Namespaced: true}
		var g cache.Group
		w.run(g.Run)
		early := cache.Shared(&g, client.Of[kube.Partial](w.client, foos), options{}) // before its CRD
		maps := cache.Shared(&g, w.maps, options{})
		w.pass(time.Minute)
		if err := early.Status().Err; !errors.Is(err, kube.ErrNotFound) {
			t.Errorf("the status is %v, want not found", err)
		}
		v := newView(t)
		early.Handle(v.take)
		w.srv.AddResource(apitest.ResourceInfo{Resource: foos})
		w.srv.Put(foos, `{"metadata":{"namespace":"a","name":"f"}}`)
		w.pass(time.Minute)
		v.delivered("ADDED a/f initial")
		w.srv.RemoveResource(foos)
		w.put("a", "x", "1")
		w.pass(10 * time.Minute)
		w.srv.AddResource(apitest.ResourceInfo{Resource: foos})
		w.srv.Put(foos, `{"metadata":{"namespace":"a","name":"g"}}`)
		w.pass(time.Minute)
		if _, ok := early.Store().Get(kube.Key{Namespace: "a", Name: "g"}); !ok || early.Store().Len() != 1 {
			t.Errorf("%d objects, g is there: %v; want the one of the new definition", early.Store().Len(), ok)
		}
		if maps.Store().Len() != 1 || maps.Status().Err != nil {
			t.Errorf("the other informer has %d objects and %v", maps.Store().Len(), maps.Status().Err)
		}
		early.Release()
		maps.Release()
	})
}
