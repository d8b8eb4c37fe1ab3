package simulate_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// playJob plays a Job whose pods do not start by themselves: there are no nodes.
func playJob(t *testing.T, spec string, story func(w *world)) {
	t.Helper()
	play(t, simulate.Options{Nodes: -1}, func(w *world) {
		w.create(kube.Jobs, `{"metadata":{"namespace":"a","name":"x"},"spec":{`+spec+`
			"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"1"}]}}}}`)
		<-time.After(time.Second)
		story(w)
	})
}

// pending returns the names of the active pods.
func (w *world) pending() []string {
	var names []string
	for _, p := range w.list(kube.Pods) {
		if p.Status.Phase == "Pending" && p.Metadata.DeletionTimestamp == "" {
			names = append(names, p.Metadata.Name)
		}
	}
	return names
}

// end makes an active pod end, as a kubelet does, and returns its name.
func (w *world) end(phase string) string {
	w.Helper()
	name := w.pending()[0]
	path := w.srv.URL + kube.Pods.ObjectPath(kube.Key{Namespace: "a", Name: name}, "status")
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPatch, path, strings.NewReader(`{"status":{"phase":"`+phase+`"}}`))
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/merge-patch+json")
	w.send(req)
	<-time.After(time.Second)
	return name
}

// jobStatus returns the parts of the status of a/x that differ from zero, times as true.
func (w *world) jobStatus() map[string]any {
	s := w.status(kube.Jobs, "x")
	for k, v := range s {
		switch {
		case v == 0.0, k == "uncountedTerminatedPods" && len(v.(map[string]any)) == 0:
			delete(s, k)
		case strings.HasSuffix(k, "Time"):
			s[k] = true
		}
	}
	return s
}

var (
	tooManyFailed = []any{"FailureTarget=True BackoffLimitExceeded", "Failed=True BackoffLimitExceeded"}
	tooLate       = []any{"FailureTarget=True DeadlineExceeded", "Failed=True DeadlineExceeded"}
	completed     = []any{"SuccessCriteriaMet=True CompletionsReached", "Complete=True CompletionsReached"}
)

// TestJobEndsAsInARealCluster has what kube-controller-manager 1.37 makes of these Jobs.
func TestJobEndsAsInARealCluster(t *testing.T) {
	for _, tt := range []struct {
		name, spec string
		story      func(w *world)
		want       map[string]any
	}{
		{"backoffLimit", `"backoffLimit":0,"parallelism":2,"completions":2,`, func(w *world) { w.end("Failed") },
			map[string]any{"startTime": true, "failed": 2.0, "conditions": tooManyFailed}},
		{"activeDeadlineSeconds", `"activeDeadlineSeconds":5,`, func(*world) {},
			map[string]any{"startTime": true, "failed": 1.0, "conditions": tooLate}},
		{"another controller", `"managedBy":"example.com/me",`, func(*world) {}, map[string]any{}},
		{"no completions", `"completions":0,"suspend":true,`, func(*world) {},
			map[string]any{"completionTime": true, "conditions": completed}},
		{"a completed pod is deleted", `"completions":2,`, func(w *world) {
			w.srv.Delete(kube.Pods, kube.Key{Namespace: "a", Name: w.end("Succeeded")})
		}, map[string]any{"startTime": true, "succeeded": 1.0, "active": 1.0}},
		{"suspended", `"parallelism":2,`, func(w *world) { w.patch(kube.Jobs, "x", `{"spec":{"suspend":true}}`) },
			map[string]any{"conditions": []any{"Suspended=True JobSuspended"}}},
		{"fewer at once", `"parallelism":2,"completions":2,`, func(w *world) { w.patch(kube.Jobs, "x", `{"spec":{"parallelism":1}}`) },
			map[string]any{"startTime": true, "active": 1.0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			playJob(t, tt.spec, func(w *world) {
				tt.story(w)
				<-time.After(8 * time.Second)
				equal(t, "status", w.jobStatus(), tt.want)
				active, _ := tt.want["active"].(float64)
				equal(t, "active pods", len(w.pending()), int(active))
			})
		})
	}
}

// TestJobReplacesADeletedPodAfterABackoff: it counts as failed.
func TestJobReplacesADeletedPodAfterABackoff(t *testing.T) {
	playJob(t, "", func(w *world) {
		for failed, backoff := range []time.Duration{10 * time.Second, 20 * time.Second} {
			w.delete(kube.Pods, w.pending()[0])
			<-time.After(backoff - time.Second)
			equal(t, "status", w.jobStatus(), map[string]any{"startTime": true, "failed": float64(failed + 1)})
			<-time.After(2 * time.Second)
			equal(t, "active pods", len(w.pending()), 1)
		}
	})
}

// TestJobReplacesAPodThatVanished in spite of its finalizer at once: it does not count.
func TestJobReplacesAPodThatVanished(t *testing.T) {
	playJob(t, "", func(w *world) {
		w.srv.Delete(kube.Pods, kube.Key{Namespace: "a", Name: w.pending()[0]})
		<-time.After(time.Second)
		equal(t, "status", w.jobStatus(), map[string]any{"startTime": true, "active": 1.0})
		equal(t, "active pods", len(w.pending()), 1)
	})
}

func TestFailedJobIsDeletedAfterItsTTL(t *testing.T) {
	playJob(t, `"backoffLimit":0,"ttlSecondsAfterFinished":5,`, func(w *world) {
		w.end("Failed")
		equal(t, "reasons", w.reasons(kube.Jobs), []string{"BackoffLimitExceeded", "SuccessfulCreate"})
		<-time.After(6 * time.Second)
		equal(t, "Jobs", len(w.list(kube.Jobs)), 0)
	})
}

// reasons returns the reasons of the Events about objects of r.
func (w *world) reasons(r kube.Resource) []string {
	var reasons []string
	for _, e := range w.list(kube.Events) {
		if e.InvolvedObject.Kind == r.Kind {
			reasons = append(reasons, e.Reason)
		}
	}
	slices.Sort(reasons)
	return reasons
}

// TestJobStopsThePodThatIsLeastWanted: with less parallelism, not the one that runs.
func TestJobStopsThePodThatIsLeastWanted(t *testing.T) {
	for seed := range uint64(10) {
		play(t, simulate.Options{Nodes: 1, Seed: seed, Speed: .1}, func(w *world) {
			w.srv.Put(kube.Jobs, strings.Replace(workload("sum", "sum:1", `,"completions":5,"parallelism":1`), `"containers"`, `"restartPolicy":"Never","containers"`, 1))
			for running := 0.0; running == 0; running, _ = w.status(kube.Jobs, "sum")["ready"].(float64) {
				<-time.After(time.Second)
			}
			w.srv.Put(kube.Nodes, `{"metadata":{"name":"node-1"},"spec":{"unschedulable":true}}`)
			w.patch(kube.Jobs, "sum", `{"spec":{"parallelism":3}}`)
			<-time.After(2 * time.Second)
			w.patch(kube.Jobs, "sum", `{"spec":{"parallelism":1}}`)
			<-time.After(2 * time.Second)
			equal(t, "ready pods", w.status(kube.Jobs, "sum")["ready"], 1.0)
		})
	}
}
