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
