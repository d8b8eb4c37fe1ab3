package simulate_test

import (
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// TestDaemonSetSurges: a pod of the new template runs beside the old one, which goes when the new
// one is available, so that each node always has a ready pod.
func TestDaemonSetSurges(t *testing.T) {
	play(t, simulate.Options{Nodes: 4}, func(w *world) {
		w.create(kube.DaemonSets, workload("agent", "1", `,"minReadySeconds":2,
			"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"50%","maxUnavailable":0}}`))
		<-time.After(20 * time.Second)
		w.patch(kube.DaemonSets, "agent", image(2))
		most := 0
		for range 60 * 4 {
			<-time.After(250 * time.Millisecond)
			ready, both, pods := map[string]bool{}, 0, map[string]int{}
			for _, p := range w.list(kube.Pods) {
				if p.Metadata.DeletionTimestamp != "" {
					continue
				}
				if pods[p.Spec.NodeName]++; pods[p.Spec.NodeName] > 1 {
					both++
				}
				ready[p.Spec.NodeName] = ready[p.Spec.NodeName] || p.is("Ready")
			}
			for _, node := range []string{"node-1", "node-2", "node-3", "node-4"} {
				if !ready[node] {
					t.Fatalf("no pod of %s is ready", node)
				}
			}
			most = max(most, both)
		}
		equal(t, "most nodes with two pods", most, 2)
		equal(t, "images", w.images(), map[string]int{"2": 4})
		equal(t, "status", w.status(kube.DaemonSets, "agent"), map[string]any{"observedGeneration": "current", "currentNumberScheduled": 4.0,
			"desiredNumberScheduled": 4.0, "numberReady": 4.0, "updatedNumberScheduled": 4.0, "numberAvailable": 4.0, "numberMisscheduled": 0.0})
		for _, p := range w.list(kube.Pods) {
			equal(t, "generation", p.Metadata.Labels["pod-template-generation"], "2")
		}
	})
}
