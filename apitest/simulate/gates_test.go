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

// TestRevisionsHaveTheirCauses, which kubectl annotate sets after the change.
func TestRevisionsHaveTheirCauses(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.create(kube.Deployments, workload("web", "web:1", `,"replicas":1`))
		<-time.After(time.Minute)
		w.patch(kube.Deployments, "web", `{"metadata":{"annotations":{"kubernetes.io/change-cause":"first"}}}`)
		<-time.After(time.Minute)
		w.patch(kube.Deployments, "web", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"web:2"}]}}}}`)
		<-time.After(time.Minute)
		w.patch(kube.Deployments, "web", `{"metadata":{"annotations":{"kubernetes.io/change-cause":"second"}}}`)
		<-time.After(time.Minute)
		causes := map[string]string{}
		for _, s := range w.list(kube.ReplicaSets) {
			causes[s.Metadata.Annotations["deployment.kubernetes.io/revision"]] = s.Metadata.Annotations["kubernetes.io/change-cause"]
		}
		equal(w.T, "causes", causes, map[string]string{"1": "first", "2": "second"})
	})
}

// TestNoPodStartsAtTheLowestSpeed, at which delays are longer than a duration can be.
func TestNoPodStartsAtTheLowestSpeed(t *testing.T) {
	play(t, simulate.Options{Speed: 1e-300}, func(w *world) {
		w.srv.Put(kube.Services, web)
		w.srv.Put(kube.Deployments, workload("web", "1", `,"replicas":2`))
		<-time.After(10 * time.Minute)
		for _, p := range w.list(kube.Pods) {
			equal(t, "phase", p.Status.Phase, "Pending")
			equal(t, "node", p.Spec.NodeName, "")
		}
		equal(t, "pods", len(w.list(kube.Pods)), 2)
	})
}
