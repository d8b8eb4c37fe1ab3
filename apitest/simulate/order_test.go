package simulate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// TestPodsOfLowCostAreDeletedFirst, by the annotation of users.
func TestPodsOfLowCostAreDeletedFirst(t *testing.T) {
	for cheap := range 4 {
		play(t, simulate.Options{Seed: uint64(cheap)}, func(w *world) {
			w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":4`))
			<-time.After(20 * time.Second)
			names := w.podNames()
			for i, name := range names {
				cost := map[bool]string{true: "-100", false: "100"}[i == cheap]
				w.patch(kube.Pods, name, `{"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"`+cost+`"}}}`)
			}
			w.patch(kube.Deployments, "web", `{"spec":{"replicas":3}}`)
			<-time.After(20 * time.Second)
			if left := w.podNames(); len(left) != 3 || strings.Contains(fmt.Sprint(left), names[cheap]) {
				t.Errorf("%v are left of %v, and %s is cheap", left, names, names[cheap])
			}
		})
	}
}

// TestPodsOfFullNodesAreDeletedFirst, though they are older.
func TestPodsOfFullNodesAreDeletedFirst(t *testing.T) {
	play(t, simulate.Options{Nodes: 1}, func(w *world) {
		w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":3`))
		<-time.After(20 * time.Second)
		w.srv.Put(kube.Nodes, `{"metadata":{"name":"node-2"}}`)
		<-time.After(5 * time.Minute)
		for _, n := range []string{"4", "3"} {
			w.patch(kube.Deployments, "web", `{"spec":{"replicas":`+n+`}}`)
			<-time.After(20 * time.Second)
		}
		equal(t, "pods by node", w.nodes(), map[string]int{"node-1": 2, "node-2": 1})
	})
}

// TestOldSetsStayUntilTheRolloutIsComplete, so that it can be undone.
func TestOldSetsStayUntilTheRolloutIsComplete(t *testing.T) {
	play(t, simulate.Options{Nodes: 1}, func(w *world) {
		w.create(kube.Deployments, workload("web", "web:1", `,"replicas":2,"revisionHistoryLimit":0,"strategy":{"type":"Recreate"}`))
		<-time.After(20 * time.Second)
		w.srv.Put(kube.Nodes, `{"metadata":{"name":"node-1"},"spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
		w.patch(kube.Deployments, "web", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"web:2"}]}}}}`)
		<-time.After(time.Minute)
		equal(t, "sets while no pod has a node", len(w.list(kube.ReplicaSets)), 2)
		w.srv.Put(kube.Nodes, `{"metadata":{"name":"node-1"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
		<-time.After(time.Minute)
		equal(t, "sets afterwards", len(w.list(kube.ReplicaSets)), 1)
	})
}

// TestTwoChangesKeepPodsAvailable: a pod that the first rollout is about to stop does not count as
// one that the second may rely on.
func TestTwoChangesKeepPodsAvailable(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.create(kube.Deployments, workload("web", "web:0", `,"replicas":10,"strategy":{"rollingUpdate":{"maxSurge":1,"maxUnavailable":1}}`))
		<-time.After(30 * time.Second)
		least := 10
		for i := range 3 {
			w.patch(kube.Deployments, "web", fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"web:%d"}]}}}}`, i+1))
			for range map[bool]int{true: 6000, false: 6}[i == 2] {
				<-time.After(10 * time.Millisecond)
				n := 0
				for _, ready := range w.images() {
					n += ready
				}
				least = min(least, n)
			}
		}
		equal(t, "images", w.images(), map[string]int{"web:3": 10})
		if least < 9 {
			t.Errorf("%d pods were available at one time, want 9", least)
		}
	})
}

// TestChurnIsOfRunningPods, also beside many that have ended.
func TestChurnIsOfRunningPods(t *testing.T) {
	play(t, simulate.Options{Churn: -50}, func(w *world) {
		w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":5`))
		w.srv.Put(kube.Jobs, strings.Replace(workload("sum", "sum:1", `,"completions":50,"parallelism":50`), `"containers"`, `"restartPolicy":"Never","containers"`, 1))
		<-time.After(30 * time.Second)
		w.cluster.Churn(50)
		<-time.After(2 * time.Second)
		w.cluster.Churn(0)
		n := 0
		for _, p := range w.list(kube.Pods) {
			for _, c := range p.Status.ContainerStatuses {
				n += c.RestartCount
			}
		}
		if n < 90 || n > 101 {
			t.Errorf("%d restarts in 2 s, want 100", n)
		}
	})
}
