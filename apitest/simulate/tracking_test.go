package simulate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// tracking is the finalizer of the pods of a Job that are not counted yet.
const tracking = "batch.kubernetes.io/job-tracking"

// jobs calls story on a server where the pods of the Job a/x have run for this long. No
// simulation runs.
func jobs(t *testing.T, spec string, long time.Duration, story func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, srv: apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true, Namespaces: true})}
		w.srv.Put(kube.Namespaces, `{"metadata":{"name":"a"},"spec":{"finalizers":["kubernetes"]}}`)
		w.createJob(spec)
		w.live(simulate.Options{}, long)
		story(w)
	})
}

func (w *world) createJob(spec string) {
	w.Helper()
	w.create(kube.Jobs, `{"metadata":{"namespace":"a","name":"x"},"spec":{`+spec+`
		"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"1"}]}}}}`)
}

// TestEachPodOfAJobCountsOnce, also if the simulation is killed at any write, and another one goes
// on from there.
func TestEachPodOfAJobCountsOnce(t *testing.T) {
	deleteTwo := func(w *world) {
		for _, p := range w.list(kube.Pods)[:2] {
			w.delete(kube.Pods, p.Metadata.Name)
		}
	}
	for _, tt := range []struct {
		name, spec  string
		act, goOn   func(w *world)
		nodes       int
		ends, fails float64
	}{
		{name: "undisturbed", spec: `"parallelism":2,"completions":5,"backoffLimit":0,`, nodes: 3, ends: 5},
		{name: "suspended", spec: `"parallelism":3,"completions":3,"backoffLimit":0,`, nodes: 3, ends: 3,
			act:  func(w *world) { w.patch(kube.Jobs, "x", `{"spec":{"suspend":true}}`) },
			goOn: func(w *world) { w.patch(kube.Jobs, "x", `{"spec":{"suspend":false}}`) }},
		{name: "fewer at once", spec: `"parallelism":4,"completions":4,"backoffLimit":0,`, nodes: 3, ends: 4,
			act: func(w *world) { w.patch(kube.Jobs, "x", `{"spec":{"parallelism":1}}`) }},
		{name: "deleted by hand", spec: `"parallelism":3,"completions":3,"backoffLimit":2,`, nodes: 3, ends: 3, fails: 2, act: deleteTwo},
		{name: "deleted by hand, replaced when they have ended", spec: `"parallelism":3,"completions":3,"backoffLimit":2,"podReplacementPolicy":"Failed",`,
			nodes: 3, ends: 3, fails: 2, act: deleteTwo},
		{name: "without their node", spec: `"parallelism":3,"completions":3,"backoffLimit":1,"podReplacementPolicy":"Failed",`, nodes: 2, ends: 3, fails: 1,
			act: func(w *world) { w.srv.Delete(kube.Nodes, kube.Key{Name: "node-3"}) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for back, last := 0, 1; back < last; back++ {
				jobs(t, tt.spec, 1500*time.Millisecond, func(w *world) {
					if tt.act != nil {
						tt.act(w)
					}
					from := w.srv.Revision()
					w.live(simulate.Options{Nodes: tt.nodes, Seed: 1}, 6*time.Second)
					for last = 1; w.srv.RevisionBefore(last-1) != from; {
						last++
					}
					w.srv.Rewind(back)
					w.live(simulate.Options{Nodes: tt.nodes, Seed: 2}, time.Minute)
					if tt.goOn != nil {
						tt.goOn(w)
						w.live(simulate.Options{Nodes: tt.nodes, Seed: 3}, time.Minute)
					}
					w.ends(fmt.Sprintf("%d of %d writes before the end", back, last), tt.ends, tt.fails)
				})
				if t.Failed() {
					return
				}
			}
		})
	}
}

// ends checks that the Job a/x is complete, and how many pods have ended.
func (w *world) ends(when string, succeeded, failed float64) {
	w.Helper()
	s := w.jobStatus()
	conditions, _ := s["conditions"].([]any)
	ok, _ := s["succeeded"].(float64)
	not, _ := s["failed"].(float64)
	if ok != succeeded || not != failed || s["uncountedTerminatedPods"] != nil || !slices.Contains(conditions, any("Complete=True CompletionsReached")) {
		w.Errorf("%s: status %v, want %v succeeded, %v failed", when, s, succeeded, failed)
	}
	w.hangs(when)
}

// hangs checks that nothing waits for a Job.
func (w *world) hangs(when string) {
	w.Helper()
	bodies, _ := w.srv.List(kube.Pods)
	for _, b := range bodies {
		if bytes.Contains(b, []byte(tracking)) || bytes.Contains(b, []byte("deletionTimestamp")) {
			w.Errorf("%s: this pod hangs: %s", when, b)
		}
	}
}

// TestPodsOfADeletedJobDoNotHang, whether a simulation runs at the deletion or later.
func TestPodsOfADeletedJobDoNotHang(t *testing.T) {
	const spec = `"parallelism":2,"completions":4,`
	left := map[string]int{"Background": 0, "Foreground": 0, "Orphan": 2, "": 0} // pods; "" deletes the namespace
	for policy, pods := range left {
		for age := 100 * time.Millisecond; age < 8*time.Second; age += 700 * time.Millisecond {
			for _, running := range []bool{true, false} {
				when := fmt.Sprintf("%q after %v, a simulation runs: %t", policy, age, running)
				jobs(t, spec, age, func(w *world) {
					done := make(chan struct{})
					play := func() {
						defer close(done)
						w.live(simulate.Options{Seed: 1}, 30*time.Second)
					}
					if running {
						go play()
						<-time.After(500 * time.Millisecond)
					}
					w.deleteJob(policy)
					if !running {
						play()
					}
					<-done
					w.hangs(when)
					if got := len(w.list(kube.Pods)); len(w.list(kube.Jobs)) > 0 || got < pods || pods == 0 && got > 0 {
						t.Errorf("%s: %d pods are left, want %d", when, got, pods)
					}
					if policy == "" && w.srv.Get(kube.Namespaces, kube.Key{Name: "a"}) != nil {
						t.Errorf("%s: the namespace hangs", when)
					}
				})
			}
		}
	}
}

// deleteJob deletes the Job a/x in one of the ways of a client, or its namespace.
func (w *world) deleteJob(policy string) {
	path := kube.Jobs.ObjectPath(kube.Key{Namespace: "a", Name: "x"})
	if policy == "" {
		path = kube.Namespaces.ObjectPath(kube.Key{Name: "a"})
	}
	req, err := http.NewRequestWithContext(w.Context(), http.MethodDelete, w.srv.URL+path+"?propagationPolicy="+policy, nil)
	if err != nil {
		w.Error(err)
		return
	}
	w.send(req)
}

// TestPodsOfAJobThatStaysInDeletionAreLetGo: the finalizer of somebody else keeps it.
func TestPodsOfAJobThatStaysInDeletionAreLetGo(t *testing.T) {
	jobs(t, `"parallelism":2,"completions":4,`, time.Second, func(w *world) {
		w.patch(kube.Jobs, "x", `{"metadata":{"finalizers":["example.com/mine"]}}`)
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.live(simulate.Options{Seed: 1}, 5*time.Second)
		}()
		<-time.After(time.Second)
		w.deleteJob("Background")
		<-time.After(200 * time.Millisecond)
		w.hangs("soon after the deletion")
		<-done
		equal(t, "Jobs", len(w.list(kube.Jobs)), 1)
	})
}

// TestPodsOfAnEarlierVersionCountOnce: they have no finalizer.
func TestPodsOfAnEarlierVersionCountOnce(t *testing.T) {
	jobs(t, `"parallelism":3,"completions":3,`, 1500*time.Millisecond, func(w *world) {
		for _, p := range w.list(kube.Pods) {
			w.patch(kube.Pods, p.Metadata.Name, `{"metadata":{"finalizers":null}}`)
		}
		w.live(simulate.Options{Seed: 1}, time.Second)
		w.delete(kube.Pods, w.list(kube.Pods)[0].Metadata.Name)
		w.live(simulate.Options{Seed: 2}, time.Minute)
		w.ends("at the end", 3, 1)
	})
}

// TestPodIsCountedBeforeItGoes: it stays, and says how it has ended.
func TestPodIsCountedBeforeItGoes(t *testing.T) {
	jobs(t, `"podReplacementPolicy":"Failed",`, 1500*time.Millisecond, func(w *world) {
		name := w.list(kube.Pods)[0].Metadata.Name
		w.patch(kube.Pods, name, `{"metadata":{"finalizers":["`+tracking+`","example.com/mine"]}}`)
		w.delete(kube.Pods, name)
		w.live(simulate.Options{Seed: 1}, time.Minute)
		equal(t, "status of the Job", w.status(kube.Jobs, "x")["failed"], 1.0)
		i := slices.IndexFunc(w.list(kube.Pods), func(p thing) bool { return p.Metadata.Name == name })
		if i < 0 {
			t.Fatal("the pod has gone in spite of another finalizer")
		}
		equal(t, "phase", w.list(kube.Pods)[i].Status.Phase, "Failed")
		w.patch(kube.Pods, name, `{"metadata":{"finalizers":null}}`)
		w.live(simulate.Options{Seed: 2}, time.Minute)
		w.ends("at the end", 1, 1)
	})
}

// TestFinalizerOfNoJobIsRemoved, unless another controller has the Job.
func TestFinalizerOfNoJobIsRemoved(t *testing.T) {
	jobs(t, `"managedBy":"example.com/me",`, time.Second, func(w *world) {
		var theirs map[string]any
		key := kube.Key{Namespace: "a", Name: "x"}
		if err := json.Unmarshal(w.srv.Get(kube.Jobs, key), &theirs); err != nil {
			t.Fatal(err)
		}
		theirs["status"] = map[string]any{"conditions": []map[string]string{{"type": "Complete", "status": "True"}}}
		w.srv.Edit(kube.Jobs, key, func([]byte) any { return theirs })
		uid := fmt.Sprint(theirs["metadata"].(map[string]any)["uid"])
		for name, owner := range map[string]string{"bare": ``, "theirs": `,"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"x","uid":"` + uid + `","controller":true}]`,
			"other": `,"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"node-1","uid":"1","controller":true}]`} {
			w.srv.Put(kube.Pods, `{"metadata":{"namespace":"a","name":"`+name+`","finalizers":["`+tracking+`"]`+owner+`},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
		}
		w.live(simulate.Options{Seed: 1}, 10*time.Second)
		var with []string
		bodies, _ := w.srv.List(kube.Pods)
		for i, p := range w.list(kube.Pods) {
			if bytes.Contains(bodies[i], []byte(tracking)) {
				with = append(with, p.Metadata.Name)
			}
		}
		equal(t, "pods with the finalizer", with, []string{"other", "theirs"})
	})
}
