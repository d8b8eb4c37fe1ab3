package simulate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// TestParallelUpdateReplacesPodsThatAreNotReady: they wait for nothing, so that an update mends
// what cannot become ready. In order, nothing is updated before the first pod is ready.
func TestParallelUpdateReplacesPodsThatAreNotReady(t *testing.T) {
	for policy, images := range map[string]map[string]int{"Parallel": {"2": 3}, "OrderedReady": {"1": 1}} {
		t.Run(policy, func(t *testing.T) {
			play(t, simulate.Options{Nodes: -1}, func(w *world) {
				w.create(kube.StatefulSets, workload("db", "1", fmt.Sprintf(`,"replicas":3,"serviceName":"db","podManagementPolicy":%q`, policy)))
				<-time.After(10 * time.Second)
				w.patch(kube.StatefulSets, "db", image(2))
				<-time.After(time.Minute)
				n := map[string]int{}
				for _, p := range w.list(kube.Pods) {
					n[p.Spec.Containers[0].Image]++
				}
				equal(t, "images", n, images)
			})
		})
	}
}

// TestStatefulUpdateKeepsMaxUnavailable, which it also makes use of.
func TestStatefulUpdateKeepsMaxUnavailable(t *testing.T) {
	for _, c := range []struct {
		policy, most string
		least        int
	}{
		{"Parallel", `null`, 5},
		{"Parallel", `2`, 4},
		{"Parallel", `"50%"`, 3},
		{"Parallel", `"1%"`, 5},
		{"OrderedReady", `1`, 5},
		{"OrderedReady", `2`, 4},
	} {
		t.Run(c.policy+" "+c.most, func(t *testing.T) {
			play(t, simulate.Options{}, func(w *world) {
				w.create(kube.StatefulSets, workload("db", "1", fmt.Sprintf(`,"replicas":6,"serviceName":"db","podManagementPolicy":%q,
					"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":%s}}`, c.policy, c.most)))
				<-time.After(time.Minute)
				w.patch(kube.StatefulSets, "db", image(2))
				least := 6
				for range 2 * 60 * 4 {
					<-time.After(250 * time.Millisecond)
					ready := 0
					for _, n := range w.images() {
						ready += n
					}
					least = min(least, ready)
				}
				equal(t, "least ready pods", least, c.least)
				equal(t, "images", w.images(), map[string]int{"2": 6})
			})
		})
	}
}
