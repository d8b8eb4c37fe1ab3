package simulate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// parts are what tests look at of EndpointSlices and Endpoints.
type parts struct {
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Ports     []port
	Endpoints []struct {
		Hostname   string
		TargetRef  struct{ Name string }
		Conditions map[string]bool
	}
	Subsets []struct {
		Ports                        []port
		Addresses, NotReadyAddresses []struct {
			Hostname  string
			TargetRef struct{ Name string }
		}
	}
}

type port struct {
	Name string
	Port int
}

// endpoints returns the slices, or the Endpoints, of a/NAME.
func (w *world) endpoints(r kube.Resource, name string) (list []parts) {
	w.Helper()
	bodies, _ := w.srv.List(r)
	for _, b := range bodies {
		var p parts
		if err := json.Unmarshal(b, &p); err != nil {
			w.Fatal(err)
		}
		if p.Metadata.Name == name || p.Metadata.Labels["kubernetes.io/service-name"] == name {
			list = append(list, p)
		}
	}
	return list
}

// TestEndpointsThatGoBeforeTheNextLookAreMadeAgain: no look has ever seen them.
func TestEndpointsThatGoBeforeTheNextLookAreMadeAgain(t *testing.T) {
	for _, r := range []kube.Resource{kube.Endpoints, kube.EndpointSlices} {
		t.Run(r.Kind, func(t *testing.T) {
			play(t, simulate.Options{}, func(w *world) {
				w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":2`))
				<-time.After(20 * time.Second)
				w.srv.Put(kube.Services, web)
				for len(w.list(r)) == 0 {
					<-time.After(time.Millisecond)
				}
				w.delete(r, w.list(r)[0].Metadata.Name)
				<-time.After(2 * time.Second)
				equal(t, "objects 2 s after the deletion", len(w.list(r)), 1)
				w.exact("2 s after the deletion")
			})
		})
	}
}

// TestChangedEndpointsAreWrittenAgain; what others add to the metadata stays.
func TestChangedEndpointsAreWrittenAgain(t *testing.T) {
	for _, early := range []bool{false, true} {
		t.Run(fmt.Sprint("early=", early), func(t *testing.T) {
			play(t, simulate.Options{}, func(w *world) {
				w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":2`))
				<-time.After(20 * time.Second)
				w.srv.Put(kube.Services, web)
				for len(w.list(kube.Endpoints)) == 0 {
					<-time.After(time.Millisecond)
				}
				if !early {
					<-time.After(5 * time.Second)
				}
				slice := w.list(kube.EndpointSlices)[0].Metadata.Name
				w.patch(kube.EndpointSlices, slice, `{"endpoints":[],"metadata":{"annotations":{"a":"1"}}}`)
				w.patch(kube.Endpoints, "web", `{"subsets":null}`)
				<-time.After(2 * time.Second)
				w.exact("2 s after the change")
				if e := w.endpoints(kube.Endpoints, "web"); len(e) != 1 || len(e[0].Subsets) != 1 || len(e[0].Subsets[0].Addresses) != 2 {
					t.Errorf("Endpoints 2 s after the change: %+v", e)
				}
				w.patch(kube.EndpointSlices, slice, `{"metadata":{"annotations":{"a":"2"}}}`)
				<-time.After(5 * time.Second)
				equal(t, "annotation", w.list(kube.EndpointSlices)[0].Metadata.Annotations["a"], "2")
			})
		})
	}
}

// TestPodsWithOtherPortsAreInOtherSlices, and in other subsets of Endpoints.
func TestPodsWithOtherPortsAreInOtherSlices(t *testing.T) {
	lives(t, func(w *world) {
		w.srv.Put(kube.Services, `{"metadata":{"namespace":"a","name":"web"},"spec":{"selector":{"app":"web"},
			"ports":[{"name":"http","port":80,"targetPort":"http"},{"name":"metrics","port":9100}]}}`)
		for name, ports := range map[string]string{"a": `{"name":"http","containerPort":8080}`, "b": `{"name":"http","containerPort":9090}`, "c": `{"name":"http","containerPort":8080}`, "d": ``} {
			w.srv.Put(kube.Pods, fmt.Sprintf(`{"metadata":{"namespace":"a","name":%q,"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i","ports":[%s]}]}}`, name, ports))
		}
		http8, http9, metrics := port{"http", 8080}, port{"http", 9090}, port{"metrics", 9100}
		for seed := range uint64(2) { // also after a restart
			w.live(simulate.Options{Seed: seed}, 20*time.Second)
			equal(t, "ports in slices", w.portsInSlices(), map[string][]port{"a": {http8, metrics}, "b": {http9, metrics}, "c": {http8, metrics}, "d": {metrics}})
			equal(t, "slices", len(w.list(kube.EndpointSlices)), 3)
			var subsets []string
			for _, s := range w.endpoints(kube.Endpoints, "web")[0].Subsets {
				names := ""
				for _, a := range s.Addresses {
					names += a.TargetRef.Name
				}
				subsets = append(subsets, fmt.Sprint(names, s.Ports))
			}
			equal(t, "subsets", subsets, []string{"ac[{http 8080}]", "b[{http 9090}]", "abcd[{metrics 9100}]"})
		}
		w.patch(kube.Services, "web", `{"spec":{"ports":[{"name":"http","port":80,"targetPort":"http"}]}}`)
		w.live(simulate.Options{Seed: 2}, 20*time.Second)
		equal(t, "ports of one less", w.portsInSlices(), map[string][]port{"a": {http8}, "b": {http9}, "c": {http8}, "d": {}})
		w.patch(kube.Services, "web", `{"spec":{"ports":[{"name":"http","port":80,"targetPort":70}]}}`)
		w.live(simulate.Options{Seed: 3}, 20*time.Second)
		number := []port{{"http", 70}}
		equal(t, "ports of a number", w.portsInSlices(), map[string][]port{"a": number, "b": number, "c": number, "d": number})
		equal(t, "slices of a number", len(w.list(kube.EndpointSlices)), 1)
		w.exact("at the end")
	})
}

// portsInSlices returns the ports of each pod.
func (w *world) portsInSlices() map[string][]port {
	ports := map[string][]port{}
	for _, s := range w.endpoints(kube.EndpointSlices, "web") {
		for _, e := range s.Endpoints {
			ports[e.TargetRef.Name] = s.Ports
		}
	}
	return ports
}

// TestPublishedPodsAreReadyInEndpoints, whether they are or not, and also as they are deleted.
func TestPublishedPodsAreReadyInEndpoints(t *testing.T) {
	play(t, simulate.Options{Speed: .05}, func(w *world) {
		w.srv.Put(kube.Services, web)
		w.srv.Put(kube.Services, strings.Replace(strings.Replace(web, `"web"`, `"all"`, 1), `"ports"`, `"publishNotReadyAddresses":true,"ports"`, 1))
		w.srv.Put(kube.Pods, `{"metadata":{"namespace":"a","name":"p","labels":{"app":"web"},"finalizers":["a/b"]},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
		check := func(when, service string, ready, not int, conditions map[string]bool) {
			t.Helper()
			got := [2]int{}
			for _, s := range w.endpoints(kube.Endpoints, service)[0].Subsets {
				got[0] += len(s.Addresses)
				got[1] += len(s.NotReadyAddresses)
			}
			equal(t, "Endpoints of "+service+" "+when, got, [2]int{ready, not})
			equal(t, "conditions of "+service+" "+when, w.endpoints(kube.EndpointSlices, service)[0].Endpoints[0].Conditions, conditions)
		}
		for s := w.endpoints(kube.EndpointSlices, "web"); len(s) == 0 || len(s[0].Endpoints) == 0; s = w.endpoints(kube.EndpointSlices, "web") {
			<-time.After(100 * time.Millisecond)
		}
		const at = "at the start"
		check(at, "web", 0, 1, map[string]bool{"ready": false, "serving": false, "terminating": false})
		check(at, "all", 1, 0, map[string]bool{"ready": true, "serving": false, "terminating": false})
		<-time.After(time.Minute)
		w.delete(kube.Pods, "p")
		<-time.After(time.Minute)
		const end = "at the end"
		check(end, "web", 0, 0, map[string]bool{"ready": false, "serving": true, "terminating": true})
		check(end, "all", 1, 0, map[string]bool{"ready": true, "serving": true, "terminating": true})
	})
}

// TestEndpointsHaveTheHostnamesOfTheirService, those whose subdomain it is.
func TestEndpointsHaveTheHostnamesOfTheirService(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		for _, name := range []string{"db", "other"} {
			w.srv.Put(kube.Services, fmt.Sprintf(`{"metadata":{"namespace":"a","name":%q},"spec":{"clusterIP":"None","selector":{"app":"db"}}}`, name))
		}
		w.srv.Put(kube.StatefulSets, workload("db", "1", `,"replicas":2,"serviceName":"db"`))
		<-time.After(20 * time.Second)
		for name, want := range map[string][]string{"db": {"db-0", "db-1"}, "other": {"", ""}} {
			var slices, endpoints []string
			for _, e := range w.endpoints(kube.EndpointSlices, name)[0].Endpoints {
				slices = append(slices, e.Hostname)
			}
			for _, a := range w.endpoints(kube.Endpoints, name)[0].Subsets[0].Addresses {
				endpoints = append(endpoints, a.Hostname)
			}
			equal(t, "hostnames in the slice of "+name, slices, want)
			equal(t, "hostnames in the Endpoints of "+name, endpoints, want)
		}
	})
}

// TestEndpointsHaveWhatTheirServiceSays: its labels, and the protocols of its ports.
func TestEndpointsHaveWhatTheirServiceSays(t *testing.T) {
	play(t, simulate.Options{Nodes: -1}, func(w *world) {
		w.srv.Put(kube.Nodes, `{"metadata":{"name":"n","labels":{"topology.kubernetes.io/zone":"z"}}}`)
		service := func(labels string) {
			w.srv.Put(kube.Services, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"web","labels":%s},"spec":{"clusterIP":"None","selector":{"app":"web"},"ports":[{"port":80,"appProtocol":"h2c"}]}}`, labels))
		}
		service(`{"team":"t"}`)
		w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":1`))
		for _, team := range []string{"t", "u"} {
			service(`{"team":"` + team + `","kubernetes.io/service-name":"other"}`)
			<-time.After(20 * time.Second)
			const headless = `"service.kubernetes.io/headless":"",`
			for r, want := range map[kube.Resource]string{
				kube.EndpointSlices: `"labels":{"endpointslice.kubernetes.io/managed-by":"endpointslice-controller.k8s.io","kubernetes.io/service-name":"web",` + headless + `"team":"` + team + `"}`,
				kube.Endpoints:      `"labels":{"endpoints.kubernetes.io/managed-by":"endpoint-controller","kubernetes.io/service-name":"other",` + headless + `"team":"` + team + `"}`,
			} {
				bodies, _ := w.srv.List(r)
				if len(bodies) != 1 || !strings.Contains(string(bodies[0]), want) || !strings.Contains(string(bodies[0]), `"appProtocol":"h2c"`) {
					t.Errorf("%s: %s, want %s", r.Plural, bodies, want)
				}
				if r == kube.EndpointSlices && !strings.Contains(string(bodies[0]), `"zone":"z"`) {
					t.Errorf("no zone in %s", bodies)
				}
			}
		}
	})
}
