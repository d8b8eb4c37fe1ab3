package simulate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// TestRestoredClusterGoesOn, where the server is restored between a write of the simulation and
// its next look, too: what it has written is not there any more, and nothing else has changed.
func TestRestoredClusterGoesOn(t *testing.T) {
	for back := range 3 {
		for at := time.Duration(20+back*23) * time.Millisecond; at < 4*time.Second; at += 69 * time.Millisecond {
			synctest.Test(t, func(t *testing.T) {
				w := &world{T: t, srv: apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true})}
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				go simulate.New(w.srv, simulate.Options{Nodes: 2}).Run(ctx)
				<-time.After(time.Second)
				w.srv.Put(kube.Pods, `{"metadata":{"name":"bare","namespace":"a"},"spec":{"containers":[{"name":"c","image":"bare:1"}]}}`)
				w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":2`))
				w.srv.Put(kube.StatefulSets, workload("db", "db:1", `,"replicas":2,"serviceName":"db"`))
				w.srv.Put(kube.Jobs, strings.Replace(workload("sum", "sum:1", `,"completions":2,"parallelism":2`), `"containers"`, `"restartPolicy":"Never","containers"`, 1))
				first := w.srv.Revision()
				<-time.After(at)
				w.srv.Rewind(back + 1)
				if first.Newer(w.srv.Revision()) {
					return // one of them was not made
				}
				<-time.After(2 * time.Minute)
				when := fmt.Sprintf("%d revisions back after %v", back+1, at)
				equal(t, when+": images of pods that are ready", w.images(), map[string]int{"bare:1": 1, "web:1": 2, "db:1": 2})
				equal(t, when+": the Job has succeeded", w.status(kube.Jobs, "sum")["succeeded"], 2.0)
			})
		}
	}
}

// TestEndpointsOfARestoredClusterHaveAService, also where the restore brings them back alone.
func TestEndpointsOfARestoredClusterHaveAService(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.srv.Put(kube.Services, web)
		<-time.After(5 * time.Second)
		w.delete(kube.Services, "web")
		gone := w.srv.Revision()
		<-time.After(5 * time.Second)
		w.srv.RestoreTo(gone)
		if n := len(w.list(kube.Endpoints)); n != 1 {
			t.Fatalf("%d Endpoints after the restore", n)
		}
		<-time.After(30 * time.Second)
		equal(t, "Endpoints and slices", [2]int{len(w.list(kube.Endpoints)), len(w.list(kube.EndpointSlices))}, [2]int{})
	})
}
