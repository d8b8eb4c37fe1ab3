package simulate_test

import (
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// TestSetHasTheMinReadySecondsOfItsDeployment, also if these change.
func TestSetHasTheMinReadySecondsOfItsDeployment(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.create(kube.Deployments, workload("web", "1", `,"replicas":3`))
		<-time.After(10 * time.Second)
		name := w.list(kube.ReplicaSets)[0].Metadata.Name
		equal(t, "available pods", w.status(kube.ReplicaSets, name)["availableReplicas"], 3.0)
		for _, pause := range []string{`false`, `true`} {
			w.patch(kube.Deployments, "web", `{"spec":{"paused":`+pause+`,"minReadySeconds":500}}`)
			<-time.After(2 * time.Second)
			equal(t, "available pods of 500 s", w.status(kube.ReplicaSets, name)["availableReplicas"], nil)
			w.patch(kube.Deployments, "web", `{"spec":{"minReadySeconds":0}}`)
			<-time.After(2 * time.Second)
			equal(t, "available pods of any time", w.status(kube.ReplicaSets, name)["availableReplicas"], 3.0)
		}
	})
}
