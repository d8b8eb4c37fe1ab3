package simulate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// lives runs a test whose simulations follow one another on a server.
func lives(t *testing.T, story func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		story(&world{T: t, srv: apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true})})
	})
}

// targets returns how often the pods are in EndpointSlices, and the number of those slices.
func (w *world) targets() (pods map[string]int, n int) {
	pods = map[string]int{}
	bodies, _ := w.srv.List(kube.EndpointSlices)
	for _, b := range bodies {
		var s struct {
			Endpoints []struct{ TargetRef struct{ Name string } }
		}
		if err := json.Unmarshal(b, &s); err != nil {
			w.Fatal(err)
		}
		for _, e := range s.Endpoints {
			pods[e.TargetRef.Name]++
		}
	}
	return pods, len(bodies)
}

// exact checks that each pod is in one slice, and no other is.
func (w *world) exact(when string) {
	w.Helper()
	want := map[string]int{}
	for _, p := range w.list(kube.Pods) {
		want[p.Metadata.Name] = 1
	}
	got, _ := w.targets()
	equal(w.T, "pods in slices "+when, got, want)
}

const web = `{"metadata":{"namespace":"a","name":"web"},"spec":{"selector":{"app":"web"},"ports":[{"port":80}]}}`

// TestSlicesOfAnEarlierSimulationAreMaintained: pods stay in their slices, others leave them.
func TestSlicesOfAnEarlierSimulationAreMaintained(t *testing.T) {
	for _, c := range []struct {
		replicas int
		pause    time.Duration // between the change and the end of the first simulation
	}{{10, 1600 * time.Millisecond}, {90, 20 * time.Second}, {0, time.Second}} {
		t.Run(fmt.Sprint(c.replicas), func(t *testing.T) {
			lives(t, func(w *world) {
				w.srv.Put(kube.Services, web)
				w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":150`))
				w.live(simulate.Options{}, 20*time.Second)
				w.patch(kube.Deployments, "web", fmt.Sprintf(`{"spec":{"replicas":%d}}`, c.replicas))
				w.live(simulate.Options{Seed: 1}, c.pause)
				before, _ := w.srv.List(kube.EndpointSlices)
				w.live(simulate.Options{Seed: 2}, 20*time.Second)
				w.exact("after a restart")
				if after, _ := w.srv.List(kube.EndpointSlices); c.replicas == 90 {
					equal(t, "slices of a cluster at rest", after, before)
				}
				w.patch(kube.Deployments, "web", `{"spec":{"replicas":5}}`)
				w.live(simulate.Options{Seed: 3}, 20*time.Second)
				w.exact("after the next one")
			})
		})
	}
}

// TestEndpointsOfAServiceThatWentBeforeTheStartGo; those of others and of users stay.
func TestEndpointsOfAServiceThatWentBeforeTheStartGo(t *testing.T) {
	lives(t, func(w *world) {
		w.srv.Put(kube.Services, web)
		w.srv.Put(kube.Services, strings.ReplaceAll(web, `"web"`, `"api"`))
		w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":2`))
		w.live(simulate.Options{}, 20*time.Second)
		equal(t, "slices", len(w.list(kube.EndpointSlices)), 2)
		w.srv.Put(kube.Endpoints, `{"metadata":{"namespace":"a","name":"own"}}`)
		w.srv.Put(kube.EndpointSlices, `{"metadata":{"namespace":"a","name":"own","labels":{"kubernetes.io/service-name":"own"}},"addressType":"IPv4","endpoints":[]}`)
		w.srv.Delete(kube.Services, kube.Key{Namespace: "a", Name: "web"})
		w.srv.Delete(kube.Services, kube.Key{Namespace: "a", Name: "api"})
		w.srv.Put(kube.Services, strings.ReplaceAll(web, `"web"`, `"api"`)) // another one
		w.live(simulate.Options{Seed: 1}, 5*time.Second)
		for _, r := range []kube.Resource{kube.Endpoints, kube.EndpointSlices} {
			var names []string
			for _, o := range w.list(r) {
				name, _, _ := strings.Cut(o.Metadata.Name, "-")
				names = append(names, name)
			}
			equal(t, r.Plural, names, []string{"api", "own"})
		}
	})
}

// TestDeletedEndpointsAreMadeAgain, also if nothing else changes.
func TestDeletedEndpointsAreMadeAgain(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.srv.Put(kube.Services, web)
		w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":2`))
		<-time.After(20 * time.Second)
		w.delete(kube.EndpointSlices, w.list(kube.EndpointSlices)[0].Metadata.Name)
		w.delete(kube.Endpoints, "web")
		<-time.After(2 * time.Second)
		w.exact("2 s after the deletion")
		equal(t, "endpoints", len(w.list(kube.Endpoints)), 1)
	})
}
