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

// TestSameSeedMakesTheSameCluster, also by writes at the start and at round times.
func TestSameSeedMakesTheSameCluster(t *testing.T) {
	for _, pauses := range [][]time.Duration{
		{},
		{2 * time.Second},
		{50 * time.Millisecond, 1700 * time.Millisecond, 250 * time.Millisecond, 3 * time.Second},
	} {
		t.Run(fmt.Sprint(pauses), func(t *testing.T) {
			differ := 0
			for seed := range uint64(15) {
				if first := played(t, seed, pauses); first != played(t, seed, pauses) {
					differ++
				}
			}
			if differ > 0 {
				t.Errorf("%d of 15 seeds make two clusters", differ)
			}
		})
	}
}

// played returns the objects of a cluster with one more Deployment after each pause.
func played(t *testing.T, seed uint64, pauses []time.Duration) string {
	t.Helper()
	var all strings.Builder
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true, Seed: seed})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = simulate.New(srv, simulate.Options{Seed: seed}).Run(ctx) // it ends with ctx only
		}()
		deploy := func(name string) { srv.Put(kube.Deployments, workload(name, "i", `,"replicas":3`)) }
		deploy("web")
		srv.Put(kube.Services, web)
		srv.Put(kube.StatefulSets, workload("db", "i", `,"replicas":2,"serviceName":"db"`))
		srv.Put(kube.DaemonSets, workload("agent", "i", ""))
		for n, pause := range pauses {
			<-time.After(pause)
			deploy(fmt.Sprint("web", n))
		}
		<-time.After(30 * time.Second)
		for _, r := range []kube.Resource{kube.Nodes, kube.Deployments, kube.ReplicaSets, kube.StatefulSets, kube.DaemonSets,
			controllerRevisions, kube.Pods, kube.Services, kube.EndpointSlices, kube.Endpoints, kube.Events} {
			bodies, _ := srv.List(r)
			for _, b := range bodies {
				all.Write(b)
			}
		}
		stop()
		<-done
	})
	return all.String()
}
