package simulate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// world is a server whose workloads are played, in virtual time.
type world struct {
	*testing.T
	srv     *apitest.Server
	cluster *simulate.Cluster
}

func play(t *testing.T, o simulate.Options, story func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true})
		w := &world{T: t, srv: srv, cluster: simulate.New(srv, o)}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.cluster.Run(ctx) }()
		synctest.Wait() // for the nodes, so that who comes first is no matter of chance
		story(w)
		stop()
		if err := <-done; err != context.Canceled {
			t.Errorf("Run: %v", err)
		}
	})
}

// thing is what tests look at.
type thing struct {
	Metadata struct {
		Name, Namespace, DeletionTimestamp, CreationTimestamp string
		Labels, Annotations                                   map[string]string
		OwnerReferences                                       []struct{ Kind, Name string }
	}
	Spec struct {
		NodeName, ClusterIP string
		Replicas            int
		Containers          []struct{ Image string }
		Template            struct {
			Spec struct{ Containers []struct{ Image string } }
		}
	}
	Status struct {
		Phase             string
		Conditions        []struct{ Type, Status, Reason string }
		ContainerStatuses []struct {
			Ready        bool
			RestartCount int
		}
	}
	InvolvedObject struct{ Kind, Name string }
	Reason         string
}

func (o thing) is(typ string) bool {
	return slices.ContainsFunc(o.Status.Conditions, func(c struct{ Type, Status, Reason string }) bool {
		return c.Type == typ && c.Status == "True"
	})
}

func (w *world) list(r kube.Resource) []thing {
	bodies, _ := w.srv.List(r)
	list := make([]thing, len(bodies))
	for i, b := range bodies {
		if err := json.Unmarshal(b, &list[i]); err != nil {
			w.Fatal(err)
		}
	}
	return list
}

// images returns how many pods have each image, and are ready.
func (w *world) images() map[string]int {
	n := map[string]int{}
	for _, p := range w.list(kube.Pods) {
		if p.is("Ready") && p.Metadata.DeletionTimestamp == "" {
			n[p.Spec.Containers[0].Image]++
		}
	}
	return n
}

// status returns the status of a/NAME, without times. A generation that is observed
// is "current".
func (w *world) status(r kube.Resource, name string) map[string]any {
	var o struct {
		Metadata struct{ Generation float64 }
		Status   map[string]any
	}
	if err := json.Unmarshal(w.srv.Get(r, kube.Key{Namespace: "a", Name: name}), &o); err != nil {
		w.Fatalf("%s %s: %v", r, name, err)
	}
	if o.Status["observedGeneration"] == o.Metadata.Generation {
		o.Status["observedGeneration"] = "current"
	}
	if list, ok := o.Status["conditions"].([]any); ok {
		for i, c := range list {
			m := c.(map[string]any)
			list[i] = fmt.Sprint(m["type"], "=", m["status"], " ", m["reason"])
		}
	}
	return o.Status
}

// patch is a merge patch, as of a user.
func (w *world) patch(r kube.Resource, name, patch string) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPatch, w.srv.URL+r.ObjectPath(kube.Key{Namespace: "a", Name: name}), strings.NewReader(patch))
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/merge-patch+json")
	w.send(req)
}

// create is a POST, as of a user: the server fills in its defaults.
func (w *world) create(r kube.Resource, object string) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.srv.URL+r.Path("a"), strings.NewReader(object))
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	w.send(req)
}

func (w *world) delete(r kube.Resource, name string) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodDelete, w.srv.URL+r.ObjectPath(kube.Key{Namespace: "a", Name: name}), nil)
	if err != nil {
		w.Fatal(err)
	}
	w.send(req)
}

func (w *world) send(req *http.Request) {
	w.Helper()
	resp, err := w.srv.Client().Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode/100 != 2 {
		w.Fatalf("%s %s: %s", req.Method, req.URL.Path, b)
	}
}

// workload returns an object with a pod template of one container.
func workload(name, image, spec string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"a","name":%q},"spec":{"selector":{"matchLabels":{"app":%q}},
		"template":{"metadata":{"labels":{"app":%q}},"spec":{"containers":[{"name":"main","image":%q}]}}%s}}`, name, name, name, image, spec)
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestDeploymentBecomesReady(t *testing.T) {
	play(t, simulate.Options{Nodes: 3}, func(w *world) {
		w.create(kube.Deployments, workload("web", "web:1", `,"replicas":3`))
		<-time.After(15 * time.Second)
		equal(t, "status", w.status(kube.Deployments, "web"), map[string]any{
			"observedGeneration": "current", "replicas": 3.0, "updatedReplicas": 3.0, "readyReplicas": 3.0, "availableReplicas": 3.0,
			"conditions": []any{"Available=True MinimumReplicasAvailable", "Progressing=True NewReplicaSetAvailable"},
		})
		sets := w.list(kube.ReplicaSets)
		if len(sets) != 1 {
			t.Fatalf("%d replica sets, want 1", len(sets))
		}
		equal(t, "status of the set", w.status(kube.ReplicaSets, sets[0].Metadata.Name), map[string]any{
			"observedGeneration": "current", "replicas": 3.0, "fullyLabeledReplicas": 3.0, "readyReplicas": 3.0, "availableReplicas": 3.0})
		nodes := map[string]int{}
		for _, p := range w.list(kube.Pods) {
			nodes[p.Spec.NodeName]++
			if !p.is("Ready") || p.Status.Phase != "Running" || p.Metadata.OwnerReferences[0].Name != sets[0].Metadata.Name ||
				p.Metadata.Labels["pod-template-hash"] != sets[0].Metadata.Labels["pod-template-hash"] {
				t.Errorf("pod %+v", p)
			}
		}
		equal(t, "pods by node", nodes, map[string]int{"node-1": 1, "node-2": 1, "node-3": 1})
		reasons := map[string]int{}
		for _, e := range w.list(kube.Events) {
			reasons[e.InvolvedObject.Kind+" "+e.Reason]++
		}
		equal(t, "events", reasons, map[string]int{"Node NodeReady": 3, "Deployment ScalingReplicaSet": 1, "ReplicaSet SuccessfulCreate": 3,
			"Pod Scheduled": 3, "Pod Pulling": 3, "Pod Started": 3})
	})
}

func TestRollingUpdateKeepsItsBounds(t *testing.T) {
	for _, test := range []struct {
		strategy    string
		most, least int
	}{
		{`{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":0}}`, 10, 8},
		{`{"rollingUpdate":{"maxSurge":0,"maxUnavailable":2}}`, 8, 6},
		{`{"type":"RollingUpdate"}`, 10, 6},
		{`{"type":"Recreate"}`, 8, 0},
	} {
		t.Run(test.strategy, func(t *testing.T) {
			play(t, simulate.Options{Seed: 4}, func(w *world) {
				w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":8,"strategy":`+test.strategy))
				<-time.After(15 * time.Second)
				equal(t, "at first", w.images(), map[string]int{"web:1": 8})
				w.patch(kube.Deployments, "web", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"web:2"}]}}}}`)
				most, least := 0, 8
				for range 30 * 2 {
					<-time.After(500 * time.Millisecond)
					n := 0
					for _, p := range w.list(kube.Pods) {
						if p.Metadata.DeletionTimestamp == "" {
							n++
						}
					}
					ready := 0
					for _, k := range w.images() {
						ready += k
					}
					most, least = max(most, n), min(least, ready)
				}
				if most > test.most || least < test.least {
					t.Errorf("at most %d pods, at least %d ready; want at most %d, at least %d", most, least, test.most, test.least)
				}
				equal(t, "at last", w.images(), map[string]int{"web:2": 8})
				equal(t, "replica sets", len(w.list(kube.ReplicaSets)), 2)
				equal(t, "revision", w.list(kube.Deployments)[0].Metadata.Annotations, map[string]string{"deployment.kubernetes.io/revision": "2"})
			})
		})
	}
}

// TestRecreatedDeploymentIsAvailableWithAllPods: a strategy without bounds permits no
// unavailable pod.
func TestRecreatedDeploymentIsAvailableWithAllPods(t *testing.T) {
	play(t, simulate.Options{Nodes: -1}, func(w *world) {
		w.create(kube.Deployments, workload("web", "web:1", `,"replicas":3,"strategy":{"type":"Recreate"}`))
		<-time.After(10 * time.Second)
		equal(t, "without nodes", w.status(kube.Deployments, "web")["conditions"],
			[]any{"Available=False MinimumReplicasUnavailable", "Progressing=True ReplicaSetUpdated"})
		w.create(kube.Nodes, `{"metadata":{"name":"n"}}`)
		<-time.After(20 * time.Second)
		equal(t, "with a node", w.status(kube.Deployments, "web")["conditions"],
			[]any{"Available=True MinimumReplicasAvailable", "Progressing=True NewReplicaSetAvailable"})
	})
}

func TestDeploymentScalesAndGoes(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":2`))
		for _, n := range []int{2, 7, 0, 3} {
			w.patch(kube.Deployments, "web", fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
			<-time.After(20 * time.Second)
			equal(t, "pods", len(w.list(kube.Pods)), n)
			equal(t, "replica sets", len(w.list(kube.ReplicaSets)), 1)
		}
		w.delete(kube.Pods, w.list(kube.Pods)[0].Metadata.Name)
		<-time.After(20 * time.Second)
		equal(t, "ready pods after one was deleted", w.images(), map[string]int{"web:1": 3})
		w.delete(kube.Deployments, "web")
		<-time.After(20 * time.Second)
		equal(t, "what is left", len(w.list(kube.Pods))+len(w.list(kube.ReplicaSets)), 0)
	})
}

// TestDeploymentWithoutPodsIsNotScaled: a new template is no reason for an Event.
func TestDeploymentWithoutPodsIsNotScaled(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":0`))
		<-time.After(10 * time.Second)
		w.patch(kube.Deployments, "web", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"web:2"}]}}}}`)
		<-time.After(10 * time.Second)
		equal(t, "replica sets", len(w.list(kube.ReplicaSets)), 2)
		for _, e := range w.list(kube.Events) {
			if e.Reason == "ScalingReplicaSet" {
				t.Errorf("an Event of %s %s", e.InvolvedObject.Kind, e.InvolvedObject.Name)
			}
		}
		w.patch(kube.Deployments, "web", `{"spec":{"replicas":1}}`)
		<-time.After(10 * time.Second)
		equal(t, "pods", w.images(), map[string]int{"web:2": 1})
	})
}

func TestPausedDeploymentDoesNotRoll(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":2`))
		<-time.After(10 * time.Second)
		w.patch(kube.Deployments, "web", `{"spec":{"paused":true,"replicas":4,"template":{"spec":{"containers":[{"name":"main","image":"web:2"}]}}}}`)
		<-time.After(20 * time.Second)
		equal(t, "paused", w.images(), map[string]int{"web:1": 4})
		w.patch(kube.Deployments, "web", `{"spec":{"paused":false}}`)
		<-time.After(30 * time.Second)
		equal(t, "resumed", w.images(), map[string]int{"web:2": 4})
	})
}

// TestDeploymentCreatedPausedHasNoRevision: it has no set whose pods could be unavailable.
func TestDeploymentCreatedPausedHasNoRevision(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.create(kube.Deployments, workload("web", "web:1", `,"replicas":3,"paused":true`))
		<-time.After(10 * time.Second)
		equal(t, "annotations", w.list(kube.Deployments)[0].Metadata.Annotations, map[string]string(nil))
		equal(t, "status", w.status(kube.Deployments, "web"), map[string]any{"observedGeneration": "current",
			"conditions": []any{"Available=False MinimumReplicasUnavailable", "Progressing=Unknown DeploymentPaused"}})
		w.patch(kube.Deployments, "web", `{"spec":{"paused":false}}`)
		<-time.After(10 * time.Second)
		equal(t, "resumed", w.images(), map[string]int{"web:1": 3})
		equal(t, "sets", len(w.list(kube.ReplicaSets)), 1)
	})
}

func TestDeploymentThatMakesNoProgress(t *testing.T) {
	play(t, simulate.Options{Nodes: -1}, func(w *world) {
		w.create(kube.Deployments, workload("web", "web:1", `,"replicas":1,"progressDeadlineSeconds":30`))
		<-time.After(time.Minute)
		equal(t, "status", w.status(kube.Deployments, "web"), map[string]any{
			"observedGeneration": "current", "replicas": 1.0, "updatedReplicas": 1.0, "unavailableReplicas": 1.0,
			"conditions": []any{"Available=False MinimumReplicasUnavailable", "Progressing=False ProgressDeadlineExceeded"},
		})
		equal(t, "conditions of the pod", w.status(kube.Pods, w.list(kube.Pods)[0].Metadata.Name)["conditions"], []any{"PodScheduled=False Unschedulable"})
		w.srv.Put(kube.Nodes, `{"metadata":{"name":"late"}}`)
		<-time.After(20 * time.Second)
		equal(t, "with a node", w.images(), map[string]int{"web:1": 1})
		equal(t, "conditions", w.status(kube.Deployments, "web")["conditions"],
			[]any{"Available=True MinimumReplicasAvailable", "Progressing=True NewReplicaSetAvailable"})
	})
}

// podNames returns a-0 to a-(n-1), but for those that are leaving.
func (w *world) podNames() []string {
	var names []string
	for _, p := range w.list(kube.Pods) {
		if p.Metadata.DeletionTimestamp == "" {
			names = append(names, p.Metadata.Name)
		}
	}
	return names
}

func TestStatefulSetKeepsItsOrder(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.srv.Put(kube.StatefulSets, workload("db", "db:1", `,"replicas":3,"serviceName":"db"`))
		for range 20 * 4 {
			<-time.After(250 * time.Millisecond)
			pods := w.list(kube.Pods)
			for _, p := range pods[:max(0, len(pods)-1)] {
				if !p.is("Ready") {
					t.Fatalf("%s is not ready, and %s is there", p.Metadata.Name, pods[len(pods)-1].Metadata.Name)
				}
			}
		}
		equal(t, "pods", w.podNames(), []string{"db-0", "db-1", "db-2"})
		w.patch(kube.StatefulSets, "db", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"db:2"}]}}}}`)
		for range 30 * 4 {
			<-time.After(250 * time.Millisecond)
			if n := len(w.podNames()); n < 2 {
				t.Fatalf("%d pods are left in an update", n)
			}
			pods := w.list(kube.Pods)
			for i := 1; i < len(pods); i++ {
				if pods[i-1].Spec.Containers[0].Image == "db:2" && pods[i].Spec.Containers[0].Image == "db:1" {
					t.Fatalf("%s was updated before %s", pods[i-1].Metadata.Name, pods[i].Metadata.Name)
				}
			}
		}
		equal(t, "images", w.images(), map[string]int{"db:2": 3})
		s := w.status(kube.StatefulSets, "db")
		equal(t, "revision", s["currentRevision"], s["updateRevision"])
		delete(s, "currentRevision")
		delete(s, "updateRevision")
		equal(t, "status", s, map[string]any{"observedGeneration": "current", "replicas": 3.0, "readyReplicas": 3.0, "availableReplicas": 3.0,
			"currentReplicas": 3.0, "updatedReplicas": 3.0, "collisionCount": 0.0})
		w.patch(kube.StatefulSets, "db", `{"spec":{"replicas":1}}`)
		<-time.After(20 * time.Second)
		equal(t, "scaled down", w.podNames(), []string{"db-0"})
	})
}

func TestDaemonSetIsOnEachNode(t *testing.T) {
	play(t, simulate.Options{Nodes: 3}, func(w *world) {
		w.srv.Put(kube.DaemonSets, workload("agent", "agent:1", ""))
		<-time.After(10 * time.Second)
		w.srv.Put(kube.Nodes, `{"metadata":{"name":"extra"}}`)
		<-time.After(10 * time.Second)
		nodes := []string{}
		for _, p := range w.list(kube.Pods) {
			nodes = append(nodes, p.Spec.NodeName)
		}
		slices.Sort(nodes)
		equal(t, "nodes", nodes, []string{"extra", "node-1", "node-2", "node-3"})
		w.patch(kube.DaemonSets, "agent", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"agent:2"}]}}}}`)
		for range 30 * 4 {
			<-time.After(250 * time.Millisecond)
			n := 0
			for _, k := range w.images() {
				n += k
			}
			if n < 3 {
				t.Fatalf("%d ready in an update of one at a time", n)
			}
		}
		equal(t, "images", w.images(), map[string]int{"agent:2": 4})
		w.srv.Delete(kube.Nodes, kube.Key{Name: "extra"})
		<-time.After(10 * time.Second)
		equal(t, "status", w.status(kube.DaemonSets, "agent"), map[string]any{"observedGeneration": "current", "currentNumberScheduled": 3.0,
			"desiredNumberScheduled": 3.0, "numberReady": 3.0, "updatedNumberScheduled": 3.0, "numberAvailable": 3.0, "numberMisscheduled": 0.0})
	})
}

func TestJobCompletes(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.srv.Put(kube.Jobs, strings.Replace(workload("sum", "sum:1", `,"completions":3,"parallelism":2,"ttlSecondsAfterFinished":60`),
			`"containers"`, `"restartPolicy":"Never","containers"`, 1))
		most := 0
		for range 30 * 4 {
			<-time.After(250 * time.Millisecond)
			n := 0
			for _, p := range w.list(kube.Pods) {
				if p.Status.Phase != "Succeeded" {
					n++
				}
			}
			most = max(most, n)
		}
		equal(t, "at once", most, 2)
		s := w.status(kube.Jobs, "sum")
		delete(s, "startTime")
		delete(s, "completionTime")
		equal(t, "status", s, map[string]any{"succeeded": 3.0, "ready": 0.0, "terminating": 0.0, "uncountedTerminatedPods": map[string]any{},
			"conditions": []any{"SuccessCriteriaMet=True CompletionsReached", "Complete=True CompletionsReached"}})
		<-time.After(time.Minute)
		equal(t, "what is left", len(w.list(kube.Jobs))+len(w.list(kube.Pods)), 0)
	})
}

func TestServiceHasEndpoints(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.srv.Put(kube.Services, `{"metadata":{"namespace":"a","name":"web"},"spec":{"selector":{"app":"web"},"ports":[{"port":80,"targetPort":8080}]}}`)
		w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":105`))
		<-time.After(20 * time.Second)
		count := func() (ready, slices int) {
			bodies, _ := w.srv.List(kube.EndpointSlices)
			for _, b := range bodies {
				ready += bytes.Count(b, []byte(`"ready":true`))
			}
			return ready, len(bodies)
		}
		ready, n := count()
		equal(t, "endpoints and slices", []int{ready, n}, []int{105, 2})
		equal(t, "addresses", bytes.Count(w.srv.Get(kube.Endpoints, kube.Key{Namespace: "a", Name: "web"}), []byte(`"ip"`)), 105)
		if w.list(kube.Services)[0].Spec.ClusterIP == "" {
			t.Error("the service has no address")
		}
		w.patch(kube.Deployments, "web", `{"spec":{"replicas":20}}`)
		<-time.After(20 * time.Second)
		ready, _ = count()
		equal(t, "endpoints", ready, 20)
		w.delete(kube.Services, "web")
		<-time.After(time.Second)
		_, n = count()
		equal(t, "slices of no service", n, 0)
	})
}

func TestChurnRestartsContainers(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":5`))
		<-time.After(10 * time.Second)
		w.cluster.Churn(10)
		<-time.After(10 * time.Second)
		w.cluster.Churn(0)
		<-time.After(5 * time.Second)
		n := 0
		for _, p := range w.list(kube.Pods) {
			n += p.Status.ContainerStatuses[0].RestartCount
		}
		if n < 90 || n > 101 { // two in one step may meet the same pod
			t.Errorf("%d restarts in 10 s, want about 100", n)
		}
		equal(t, "images", w.images(), map[string]int{"web:1": 5})
	})
}

// TestSlowPodsDoNotSlowControllers: Speed is that of pods.
func TestSlowPodsDoNotSlowControllers(t *testing.T) {
	play(t, simulate.Options{Speed: 1e-5}, func(w *world) {
		w.create(kube.Deployments, workload("web", "web:1", `,"replicas":2`))
		<-time.After(time.Second)
		equal(t, "pods", len(w.list(kube.Pods)), 2)
	})
}

func TestSameSeedSameCluster(t *testing.T) {
	run := func(seed uint64) (all []string) {
		play(t, simulate.Options{Seed: seed, Churn: 1}, func(w *world) {
			w.srv.Put(kube.Services, `{"metadata":{"namespace":"a","name":"web"},"spec":{"selector":{"app":"web"},"ports":[{"port":80}]}}`)
			synctest.Wait() // what comes of one is done before the next: at one moment the order is chance
			w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":7`))
			synctest.Wait()
			w.srv.Put(kube.StatefulSets, workload("db", "db:1", `,"replicas":2`))
			<-time.After(10*time.Second + time.Microsecond) // when nothing else happens
			w.patch(kube.Deployments, "web", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"web:2"}]}}}}`)
			<-time.After(10*time.Second + time.Millisecond)
			for _, r := range []kube.Resource{kube.Nodes, kube.Deployments, kube.ReplicaSets, kube.StatefulSets, kube.Pods, kube.Services, kube.EndpointSlices, kube.Events} {
				bodies, _ := w.srv.List(r)
				for _, b := range bodies {
					all = append(all, string(b))
				}
			}
		})
		return all
	}
	first := run(1)
	equal(t, "the same seed", run(1), first)
	if cmp.Equal(run(2), first) {
		t.Error("another seed makes the same cluster")
	}
}

func TestFaultsOnlyDelay(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.srv.On(apitest.Match{Verb: "patch"}, faults.Answer(apitest.StatusInternal("no"))).Times(3)
		w.srv.On(apitest.Match{Verb: "patch", Nth: 6}, faults.Hang())
		w.srv.Put(kube.Deployments, workload("web", "web:1", `,"replicas":3`))
		<-time.After(30 * time.Second)
		equal(t, "conditions", w.status(kube.Deployments, "web")["conditions"],
			[]any{"Available=True MinimumReplicasAvailable", "Progressing=True NewReplicaSetAvailable"})
	})
}

func TestObjectsThatCannotBeReadAreLeftAlone(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.srv.Put(kube.Deployments, `{"metadata":{"namespace":"a","name":"odd"},"spec":{"replicas":"many","template":7}}`)
		w.srv.Put(kube.Pods, `{"metadata":{"namespace":"a","name":"odd"},"spec":{"containers":"none"},"status":null}`)
		w.srv.Put(kube.Pods, `{"metadata":{"namespace":"a","name":"bare"},"spec":null,"status":null}`)
		w.srv.Put(kube.Deployments, workload("web", "web:1", ``))
		<-time.After(10 * time.Second)
		equal(t, "images", len(w.list(kube.ReplicaSets)), 1)
	})
}
