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

// TestSuspendedJobSaysSo, for kubectl wait --for=condition=Suspended.
func TestSuspendedJobSaysSo(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.create(kube.Jobs, `{"metadata":{"namespace":"a","name":"j"},"spec":{"suspend":true,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`)
		<-time.After(time.Minute)
		equal(w.T, "while it is suspended", w.status(kube.Jobs, "j")["conditions"], any([]any{"Suspended=True JobSuspended"}))
		w.patch(kube.Jobs, "j", `{"spec":{"suspend":false}}`)
		<-time.After(time.Minute)
		equal(w.T, "at the end", w.status(kube.Jobs, "j")["conditions"],
			any([]any{"Suspended=False JobResumed", "SuccessCriteriaMet=True CompletionsReached", "Complete=True CompletionsReached"}))
	})
}
