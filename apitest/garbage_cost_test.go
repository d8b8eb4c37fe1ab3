package apitest_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// TestACollectionCollectsGarbageOnce: the garbage collector looks at all objects of the
// server, and not again for each owner of a deleted collection.
func TestACollectionCollectsGarbageOnce(t *testing.T) {
	allocs := func(owners int) uint64 {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true})
		for i := range owners {
			srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"d","name":"c%d","uid":"u%[1]d"}}`, i))
			srv.Put(kube.Pods, fmt.Sprintf(`{"metadata":{"namespace":"d","name":"p%d",
				"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"c%[1]d","uid":"u%[1]d"}]}}`, i))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		resp, err := send(t.Context(), srv, http.MethodDelete, "/api/v1/namespaces/d/configmaps?propagationPolicy=Background", "")
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		runtime.ReadMemStats(&after)
		owned, _ := srv.List(kube.Pods)
		if left, _ := srv.List(kube.ConfigMaps); len(left)+len(owned) > 0 {
			t.Errorf("%d owners and %d owned are left", len(left), len(owned))
		}
		return after.Mallocs - before.Mallocs
	}
	if few, many := allocs(100), allocs(800); many > 16*few {
		t.Errorf("%d allocations for 800 owners, %d for 100", many, few)
	}
}

// TestADeleteOfNothingCollectsNothing: a dry run writes nothing, and what was stored by Put
// and has no owner stays until a client has deleted something.
func TestADeleteOfNothingCollectsNothing(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true})
	srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"d","name":"a"}}`)
	srv.Put(kube.Secrets, `{"metadata":{"namespace":"d","name":"s","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"gone"}]}}`)
	at := srv.Revision()
	const maps = "/api/v1/namespaces/d/configmaps"
	for _, path := range []string{maps + "/a?dryRun=All", maps + "?dryRun=All", maps + "?labelSelector=x=y", "/api/v1/namespaces/e/configmaps", maps + "/none"} {
		resp, err := send(t.Context(), srv, http.MethodDelete, path, "")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if rev := srv.Revision(); rev != at {
			t.Errorf("DELETE %s: revision %s, was %s", path, rev, at)
		}
	}
	resp, err := send(t.Context(), srv, http.MethodDelete, maps+"/a", "")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if left, _ := srv.List(kube.Secrets); len(left) > 0 {
		t.Error("the garbage was not collected after a deletion")
	}
}
