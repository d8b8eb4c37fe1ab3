package simulate_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// TestPodsOfANodeThatWentBeforeTheStartAreReplaced, as of one that goes while the simulation
// runs. A completed pod of a Job is not replaced.
func TestPodsOfANodeThatWentBeforeTheStartAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, srv: apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true})}
		w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":6`))
		w.srv.Put(kube.StatefulSets, workload("db", "db:1", `,"replicas":3,"serviceName":"db"`))
		w.srv.Put(kube.DaemonSets, workload("agent", "agent:1", ""))
		w.srv.Put(kube.Jobs, strings.Replace(workload("sum", "sum:1", `,"completions":3,"parallelism":3`), `"containers"`, `"restartPolicy":"Never","containers"`, 1))
		w.live(simulate.Options{Nodes: 3}, 20*time.Second)
		if w.nodes()["node-3"] < 4 {
			t.Fatalf("pods by node: %v", w.nodes())
		}
		sums := w.ended()
		if len(sums) != 3 || !slices.Contains(slices.Collect(maps.Values(sums)), "node-3") {
			t.Fatalf("completed pods: %v", sums)
		}
		w.srv.Delete(kube.Nodes, kube.Key{Name: "node-3"})
		w.live(simulate.Options{Nodes: 2, Seed: 1}, 20*time.Second)
		for name := range w.nodes() {
			if name != "node-1" && name != "node-2" {
				t.Errorf("%d pods are on %s", w.nodes()[name], name)
			}
		}
		equal(t, "images", w.images(), map[string]int{"web:1": 6, "db:1": 3, "agent:1": 2})
		maps.DeleteFunc(sums, func(_, node string) bool { return node == "node-3" })
		equal(t, "completed pods", w.ended(), sums)
		equal(t, "pods that the Job has counted", w.status(kube.Jobs, "sum")["succeeded"], 3.0)
	})
}

// TestAddressesAreUniqueAfterARestart of the simulation, which has those of its predecessor.
func TestAddressesAreUniqueAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, srv: apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true})}
		service := func(name string) {
			w.srv.Put(kube.Services, `{"metadata":{"name":"`+name+`","namespace":"default"},"spec":{"ports":[{"port":80}]}}`)
		}
		service("one")
		w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":4`))
		w.live(simulate.Options{Nodes: 2}, 20*time.Second)
		service("two")
		w.srv.Put(kube.Deployments, workload("api", "api:1", `,"replicas":4`))
		w.live(simulate.Options{Nodes: 2, Seed: 1}, 20*time.Second)
		of := map[string]int{}
		for _, r := range []kube.Resource{kube.Pods, kube.Services} {
			objects, _ := w.srv.List(r)
			for _, b := range objects {
				var o struct {
					Spec   struct{ ClusterIP string }
					Status struct{ PodIP string }
				}
				if err := json.Unmarshal(b, &o); err != nil {
					t.Fatal(err)
				}
				of[o.Spec.ClusterIP+o.Status.PodIP]++
			}
		}
		if len(of) != 10 {
			t.Errorf("objects by address: %v, want 8 pods and 2 services", of)
		}
	})
}

// live runs a simulation on w's server for this long.
func (w *world) live(o simulate.Options, long time.Duration) {
	w.Helper()
	ctx, stop := context.WithTimeout(w.Context(), long)
	defer stop()
	if err := simulate.New(w.srv, o).Run(ctx); err != context.DeadlineExceeded {
		w.Errorf("Run: %v", err)
	}
}

// nodes returns how many pods each node has.
func (w *world) nodes() map[string]int {
	n := map[string]int{}
	for _, p := range w.list(kube.Pods) {
		n[p.Spec.NodeName]++
	}
	return n
}

// ended returns the nodes of the completed pods.
func (w *world) ended() map[string]string {
	nodes := map[string]string{}
	for _, p := range w.list(kube.Pods) {
		if p.Status.Phase == "Succeeded" {
			nodes[p.Metadata.Name] = p.Spec.NodeName
		}
	}
	return nodes
}

// bound is a pod that has a node.
const bound = `{"metadata":{"namespace":"a","name":"bound"},"spec":{"nodeName":"late","containers":[{"name":"c","image":"i"}]}}`

// TestPodBoundToNoNodeIsQuarantined: nothing runs it, and after 40 s it is removed.
func TestPodBoundToNoNodeIsQuarantined(t *testing.T) {
	for _, status := range []string{`}`, `,"status":{"phase":"Succeeded"}}`} {
		play(t, simulate.Options{}, func(w *world) {
			<-time.After(time.Second)
			w.srv.Put(kube.Pods, strings.TrimSuffix(bound, "}")+status)
			phase := w.list(kube.Pods)[0].Status.Phase
			<-time.After(39 * time.Second)
			if pods := w.list(kube.Pods); len(pods) != 1 || pods[0].Status.Phase != phase || pods[0].Metadata.DeletionTimestamp != "" {
				t.Errorf("after 39 s: %+v", pods)
			}
			<-time.After(3 * time.Second)
			equal(t, "pods after 42 s", len(w.list(kube.Pods)), 0)
		})
	}
}

// TestPodRunsWhenItsNodeComes within the quarantine, of which nothing remains then.
func TestPodRunsWhenItsNodeComes(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		<-time.After(time.Second)
		w.srv.Put(kube.Pods, bound)
		<-time.After(30 * time.Second)
		w.srv.Put(kube.Nodes, `{"metadata":{"name":"late"}}`)
		<-time.After(6 * time.Second)
		equal(t, "images before the end of the quarantine", w.images(), map[string]int{"i": 1})
		<-time.After(time.Minute)
		equal(t, "images after it", w.images(), map[string]int{"i": 1})
	})
}

// TestPodWhoseNodeGoesFails, which can be seen if a finalizer keeps it.
func TestPodWhoseNodeGoesFails(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.srv.Put(kube.Nodes, `{"metadata":{"name":"late"}}`)
		w.srv.Put(kube.Pods, strings.Replace(bound, `"name":"bound"`, `"name":"bound","finalizers":["example.com/mine"]`, 1))
		<-time.After(10 * time.Second)
		w.srv.Delete(kube.Nodes, kube.Key{Name: "late"})
		<-time.After(time.Second)
		equal(t, "phase", w.list(kube.Pods)[0].Status.Phase, "Failed")
	})
}

// TestPodBoundWhileItsNodeGoes: the pod is new when the deletion of its node is seen.
func TestPodBoundWhileItsNodeGoes(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.srv.Put(kube.Nodes, `{"metadata":{"name":"late"}}`)
		<-time.After(time.Second)
		w.srv.Put(kube.Pods, bound)
		w.srv.Delete(kube.Nodes, kube.Key{Name: "late"})
		<-time.After(2 * time.Second)
		equal(t, "pods", len(w.list(kube.Pods)), 0)
	})
}
