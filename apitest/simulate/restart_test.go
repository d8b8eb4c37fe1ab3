package simulate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// TestNamesOfPodsAreUniqueAfterARestart with the same seed, which draws the same names again.
func TestNamesOfPodsAreUniqueAfterARestart(t *testing.T) {
	lives(t, func(w *world) {
		w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":1`))
		for n := range 8 {
			w.patch(kube.Deployments, "web", fmt.Sprintf(`{"spec":{"replicas":%d}}`, n+1))
			w.live(simulate.Options{}, 20*time.Second)
			equal(t, "images", w.images(), map[string]int{"web:1": n + 1})
		}
	})
}

// TestDaemonSetGrowsAfterARestart with the same seed.
func TestDaemonSetGrowsAfterARestart(t *testing.T) {
	lives(t, func(w *world) {
		w.srv.Put(kube.DaemonSets, workload("agent", "agent:1", ""))
		for n := range 8 {
			w.live(simulate.Options{Nodes: n + 1}, 20*time.Second)
			equal(t, "images", w.images(), map[string]int{"agent:1": n + 1})
		}
	})
}

// TestJobGoesOnAfterARestart with the same seed: its completed pods still have their names.
func TestJobGoesOnAfterARestart(t *testing.T) {
	lives(t, func(w *world) {
		for n := range 4 {
			w.srv.Put(kube.Jobs, strings.Replace(workload("sum", "sum:1", fmt.Sprintf(`,"completions":%d,"parallelism":1`, n+1)), `"containers"`, `"restartPolicy":"Never","containers"`, 1))
			w.live(simulate.Options{}, 20*time.Second)
			equal(t, "pods that have succeeded", w.status(kube.Jobs, "sum")["succeeded"], float64(n+1))
		}
	})
}

// TestEventsAreKeptAfterARestart with the same seed.
func TestEventsAreKeptAfterARestart(t *testing.T) {
	lives(t, func(w *world) {
		events := 0
		for range 3 {
			w.srv.Delete(kube.Nodes, kube.Key{Name: "node-1"})
			w.live(simulate.Options{Nodes: 1}, 5*time.Second)
			events++ // the node is ready
			equal(t, "events", len(w.list(kube.Events)), events)
		}
	})
}

// TestPodThatCannotBeMadeIsTriedAgain: its name is that of another one, which goes.
func TestPodThatCannotBeMadeIsTriedAgain(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.srv.Put(kube.Pods, `{"metadata":{"namespace":"a","name":"db-0"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
		w.srv.Put(kube.StatefulSets, workload("db", "db:1", `,"replicas":1`))
		<-time.After(10 * time.Second)
		w.srv.Delete(kube.Pods, kube.Key{Namespace: "a", Name: "db-0"})
		<-time.After(10 * time.Second)
		equal(t, "images", w.images(), map[string]int{"db:1": 1})
	})
}

// TestSetOfADeploymentThatWentBeforeTheStartIsReplaced, which has the name of the next one's.
func TestSetOfADeploymentThatWentBeforeTheStartIsReplaced(t *testing.T) {
	lives(t, func(w *world) {
		for seed := range uint64(2) {
			w.srv.Delete(kube.Deployments, kube.Key{Namespace: "a", Name: "web"})
			w.create(kube.Deployments, workload("web", "web:1", `,"replicas":2`))
			w.live(simulate.Options{Seed: seed}, 20*time.Second)
			equal(t, "ready pods", w.status(kube.Deployments, "web")["readyReplicas"], 2.0)
		}
	})
}

// TestAddressesOfLoadBalancersAreUnique, also after a restart.
func TestAddressesOfLoadBalancersAreUnique(t *testing.T) {
	lives(t, func(w *world) {
		of := map[string]int{}
		for n := range 30 {
			w.srv.Put(kube.Services, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"s-%d"},"spec":{"type":"LoadBalancer","clusterIP":"None"}}`, n))
			if n%10 == 9 {
				w.live(simulate.Options{}, 5*time.Second)
			}
		}
		bodies, _ := w.srv.List(kube.Services)
		for _, b := range bodies {
			var s struct {
				Status struct {
					LoadBalancer struct{ Ingress []struct{ IP string } }
				}
			}
			if err := json.Unmarshal(b, &s); err != nil || len(s.Status.LoadBalancer.Ingress) != 1 {
				t.Fatal(err, string(b))
			}
			of[s.Status.LoadBalancer.Ingress[0].IP]++
		}
		if len(of) != 30 {
			t.Errorf("services by address: %v, want 30 addresses", of)
		}
	})
}
