package simulate_test

import (
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// TestGatedPodWaits: a pod has no node until its scheduling gates are removed.
func TestGatedPodWaits(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.create(kube.Pods, `{"metadata":{"namespace":"a","name":"gated"},"spec":{"schedulingGates":[{"name":"a.b/c"}],"containers":[{"name":"c","image":"i"}]}}`)
		<-time.After(time.Minute)
		equal(w.T, "phase of a gated pod", w.list(kube.Pods)[0].Status.Phase, "Pending")
		w.patch(kube.Pods, "gated", `{"spec":{"schedulingGates":null}}`)
		<-time.After(time.Minute)
		equal(w.T, "phase without gates", w.list(kube.Pods)[0].Status.Phase, "Running")
	})
}
