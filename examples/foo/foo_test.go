package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/connect"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/manager"
)

// world is a fake cluster whose Deployments get Pods, and the operator at work.
type world struct {
	*testing.T
	*apitest.Server
	confined string // the operator's --namespace
}

var (
	x   = kube.Key{Namespace: "a", Name: "x"}
	web = kube.Key{Namespace: "a", Name: "web"}
)

// run plays a story in virtual time.
func run(t *testing.T, story func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, Server: apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true})}
		w.Put(kube.CustomResourceDefinitions, manifest(t, "crd.yaml"))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { _ = simulate.New(w.Server, simulate.Options{}).Run(ctx); close(done) }()
		story(w)
		stop()
		<-done
	})
}

// operate starts the operator, and returns what stops it in good order.
func (w *world) operate() (stop func()) {
	c, err := client.New(client.Config{Server: w.URL, Dial: w.Dial, UserAgent: "foo-operator"})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan error)
	go func() { done <- newManager(c, w.confined, manager.Options{}).Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			w.Errorf("the operator: %v", err)
		}
		c.CloseIdleConnections()
	}
}

// manifest returns the one object of a file as JSON.
func manifest(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("manifests/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var o map[string]any
	if err := yaml.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	b, err = json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// settle lets a minute pass.
func (w *world) settle() { <-time.After(time.Minute) }

// asked returns the verbs of what the operator has asked for, watches apart.
func (w *world) asked(r kube.Resource) (verbs []string) {
	for _, q := range w.Requests() {
		if q.Resource == r && q.Verb != "watch" && q.Header.Get("User-Agent") == "foo-operator" {
			verbs = append(verbs, q.Verb)
		}
	}
	return verbs
}

// somebody calls f with a client of another user.
func (w *world) somebody(r kube.Resource, f func(client.Collection[codec.Raw]) error) {
	w.Helper()
	c, err := client.New(connect.Config(w.Server))
	if err != nil {
		w.Fatal(err)
	}
	defer c.CloseIdleConnections()
	if err := f(client.Of[codec.Raw](c, r)); err != nil {
		w.Fatal(err)
	}
}

func (w *world) create(r kube.Resource, object string) {
	w.Helper()
	o, err := codec.Decode[codec.Raw]([]byte(object))
	if err != nil {
		w.Fatal(err)
	}
	w.somebody(r, func(c client.Collection[codec.Raw]) error { _, err := c.Create(w.Context(), o); return err })
}

func (w *world) foo(name, deployment string, replicas int) {
	w.Helper()
	w.create(foos, fmt.Sprintf(`{"metadata":{"namespace":"a","name":%q},"spec":{"deploymentName":%q,"replicas":%d}}`, name, deployment, replicas))
}

func (w *world) patch(r kube.Resource, k kube.Key, t client.PatchType, patch string) {
	w.Helper()
	w.somebody(r, func(c client.Collection[codec.Raw]) error { _, err := c.Patch(w.Context(), k, t, patch); return err })
}

func (w *world) delete(r kube.Resource, k kube.Key) {
	w.Helper()
	w.somebody(r, func(c client.Collection[codec.Raw]) error { return c.Delete(w.Context(), k, client.DeleteOptions{}) })
}

func get[T any](w *world, r kube.Resource, k kube.Key) (o T) {
	w.Helper()
	b := w.Get(r, k)
	if b == nil {
		w.Fatalf("there is no %s %s", r.Kind, k)
	}
	if err := json.Unmarshal(b, &o); err != nil {
		w.Fatal(err)
	}
	return o
}

// state says what there is, in a few words each.
func (w *world) state() (lines []string) {
	list, _ := w.List(kube.Deployments)
	for _, b := range list {
		var d Deployment
		if err := json.Unmarshal(b, &d); err != nil {
			w.Fatal(err)
		}
		owner, _ := kube.ControllerOf(d.OwnerReferences)
		lines = append(lines, fmt.Sprintf("%s of %q: %d of %d %s", d.Name, owner.Name, d.Status.AvailableReplicas, *d.Spec.Replicas, d.Spec.Template.Spec.Containers[0].Image))
	}
	list, _ = w.List(foos)
	for _, b := range list {
		var f Foo
		if err := json.Unmarshal(b, &f); err != nil {
			w.Fatal(err)
		}
		line := fmt.Sprintf("foo %s: %d", f.Name, f.Status.AvailableReplicas)
		for _, c := range f.Status.Conditions {
			line += fmt.Sprintf(", %s %s %s", c.Type, c.Status, c.Reason)
		}
		if f.Status.ObservedGeneration != f.Generation {
			line += ", not of its generation"
		}
		lines = append(lines, line)
	}
	return lines
}

func (w *world) want(lines ...string) {
	w.Helper()
	w.settle()
	if diff := cmp.Diff(lines, w.state()); diff != "" {
		w.Errorf("what there is (-want +got):\n%s", diff)
	}
}

// recorded returns the Events of the operator.
func (w *world) recorded() (all []string) {
	list, _ := w.List(kube.Events)
	for _, b := range list {
		var e struct {
			Type, Reason, Message string
			Source                struct{ Component string }
		}
		if err := json.Unmarshal(b, &e); err != nil {
			w.Fatal(err)
		}
		if e.Source.Component == "foo-operator" {
			all = append(all, e.Type+" "+e.Reason+" "+e.Message)
		}
	}
	return all
}

func TestFooBecomesADeployment(t *testing.T) {
	run(t, func(w *world) {
		defer w.operate()()
		w.create(foos, `{"metadata":{"namespace":"a","name":"x"},"spec":{"deploymentName":"web"}}`) // 1 replica by default
		w.want(`web of "x": 1 of 1 nginx:1.29`, "foo x: 1, Ready True Available")
		if diff := cmp.Diff([]string{"Normal Synced deployment web created"}, w.recorded()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		f := get[Foo](w, foos, x)
		owner, _ := kube.ControllerOf(get[Deployment](w, kube.Deployments, web).OwnerReferences)
		if owner.UID != f.UID || owner.APIVersion != "example.com/v1" || owner.Kind != "Foo" {
			t.Errorf("owner %+v, want %s", owner, f.UID)
		}
	})
}

func TestFooIsScaled(t *testing.T) {
	run(t, func(w *world) {
		defer w.operate()()
		w.foo("x", "web", 2)
		w.want(`web of "x": 2 of 2 nginx:1.29`, "foo x: 2, Ready True Available")
		since := get[Foo](w, foos, x).Status.Conditions[0].LastTransitionTime
		w.patch(foos, x, client.MergePatch, `{"spec":{"replicas":5}}`)
		synctest.Wait()
		if diff := cmp.Diff([]string{`web of "x": 2 of 5 nginx:1.29`, "foo x: 2, Ready False Progressing"}, w.state()); diff != "" {
			t.Errorf("at once (-want +got):\n%s", diff)
		}
		w.want(`web of "x": 5 of 5 nginx:1.29`, "foo x: 5, Ready True Available")
		if now := get[Foo](w, foos, x).Status.Conditions[0].LastTransitionTime; !now.After(since) {
			t.Errorf("the condition is of %s, before it was of %s", now, since)
		}
	})
}

func TestFooRepairsDrift(t *testing.T) {
	for name, patch := range map[string]string{
		"replicas":  `{"spec":{"replicas":7}}`,
		"image":     `{"spec":{"template":{"spec":{"containers":[{"name":"nginx","image":"evil"}]}}}}`,
		"container": `{"spec":{"template":{"spec":{"containers":[{"name":"another","image":"evil"}]}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				defer w.operate()()
				w.foo("x", "web", 2)
				w.settle()
				w.patch(kube.Deployments, web, client.StrategicMergePatch, `{"metadata":{"annotations":{"note":"mine"}}}`)
				w.patch(kube.Deployments, web, client.StrategicMergePatch, patch)
				w.want(`web of "x": 2 of 2 nginx:1.29`, "foo x: 2, Ready True Available")
				d := get[Deployment](w, kube.Deployments, web)
				if n := len(d.Spec.Template.Spec.Containers); n != 1 || d.Annotations["note"] != "mine" {
					t.Errorf("%d containers, annotations %v", n, d.Annotations)
				}
			})
		})
	}
}

func TestFooMakesADeploymentAgain(t *testing.T) {
	run(t, func(w *world) {
		defer w.operate()()
		w.foo("x", "web", 2)
		w.settle()
		w.delete(kube.Deployments, web)
		w.want(`web of "x": 2 of 2 nginx:1.29`, "foo x: 2, Ready True Available")
	})
}

func TestFooWithAnotherNameHasAnotherDeployment(t *testing.T) {
	run(t, func(w *world) {
		defer w.operate()()
		w.foo("x", "web", 1)
		w.settle()
		w.patch(foos, x, client.MergePatch, `{"spec":{"deploymentName":"shop"}}`)
		w.want(`shop of "x": 1 of 1 nginx:1.29`, "foo x: 1, Ready True Available")
	})
}

func TestFooDoesNotTakeWhatIsNotItsOwn(t *testing.T) {
	foreign := `{"metadata":{"namespace":"a","name":"web"%s},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"theirs"}]}}}}`
	for name, c := range map[string]struct{ meta, owner string }{
		"of nobody":  {"", ""},
		"of another": {`,"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"cm","uid":"%s","controller":true}]`, "cm"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				defer w.operate()()
				w.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"cm"}}`)
				uid := get[kube.Partial](w, kube.ConfigMaps, kube.Key{Namespace: "a", Name: "cm"}).UID
				w.Put(kube.Deployments, fmt.Sprintf(foreign, strings.ReplaceAll(c.meta, "%s", uid)))
				w.foo("x", "web", 3)
				w.want(fmt.Sprintf(`web of %q: 1 of 1 theirs`, c.owner), "foo x: 0, Ready False ErrResourceExists")
				want := []string{"Warning ErrResourceExists deployment web: there is a deployment of that name, and it does not belong to this Foo"}
				if diff := cmp.Diff(want, w.recorded()); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				since := get[Foo](w, foos, x).Status.Conditions[0].LastTransitionTime
				w.patch(foos, x, client.MergePatch, `{"spec":{"replicas":2}}`)
				w.settle()
				if f := get[Foo](w, foos, x); f.Status.ObservedGeneration != 2 || f.Status.Conditions[0].LastTransitionTime != since {
					t.Errorf("still the same, but not since %s: %+v", since, f.Status)
				}
				w.delete(kube.Deployments, web) // which brings the Foo again
				w.want(`web of "x": 2 of 2 nginx:1.29`, "foo x: 2, Ready True Available")
			})
		})
	}
}

func TestFooIsDeleted(t *testing.T) {
	run(t, func(w *world) {
		defer w.operate()()
		w.foo("x", "web", 2)
		w.settle()
		w.foo("y", "web", 1)
		w.want(`web of "x": 2 of 2 nginx:1.29`, "foo x: 2, Ready True Available", "foo y: 0, Ready False ErrResourceExists")
		w.delete(foos, x) // and its Deployment, which makes room
		w.want(`web of "y": 1 of 1 nginx:1.29`, "foo y: 1, Ready True Available")
		w.delete(foos, kube.Key{Namespace: "a", Name: "y"})
		w.want()
		if pods, _ := w.List(kube.Pods); len(pods) > 0 {
			t.Errorf("%d pods are left", len(pods))
		}
	})
}

// An operator at rest asks for nothing, nor when what happens is none of its business.
func TestFooAtRestAsksForNothing(t *testing.T) {
	run(t, func(w *world) {
		defer w.operate()()
		for i := range 20 {
			w.foo(fmt.Sprint("x", i), fmt.Sprint("web", i), 1)
		}
		w.settle()
		w.ForgetRequests()
		w.patch(kube.Deployments, kube.Key{Namespace: "a", Name: "web3"}, client.MergePatch, `{"metadata":{"annotations":{"no":"news"}}}`)
		<-time.After(time.Hour)
		for _, r := range []kube.Resource{foos, kube.Deployments, kube.Events} {
			if verbs := w.asked(r); len(verbs) > 0 {
				t.Errorf("%s: %v", r, verbs)
			}
		}
	})
}

// The watch of Deployments is half a minute late: the next run waits for what the
// last one wrote, and knows then that it has to go.
func TestFooWithALateWatchMakesNothingTwice(t *testing.T) {
	run(t, func(w *world) {
		w.On(apitest.Match{Verb: "watch", Resource: "deployments.apps"}, faults.EachEvent(func(w http.ResponseWriter, event []byte) {
			if bytes.Contains(event, []byte(`"ADDED"`)) {
				<-time.After(30 * time.Second)
			}
			_, _ = w.Write(event)
		}))
		defer w.operate()()
		w.settle()
		w.ForgetRequests()
		w.foo("x", "web", 2)
		<-time.After(time.Second)
		w.patch(foos, x, client.MergePatch, `{"spec":{"deploymentName":"shop"}}`)
		<-time.After(30 * time.Minute)
		w.want(`shop of "x": 2 of 2 nginx:1.29`, "foo x: 2, Ready True Available")
		if diff := cmp.Diff([]string{"create", "delete", "create"}, w.asked(kube.Deployments)); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}

// A Deployment that says it is the Foo's, and that the Foo does not name, is a
// leftover.
func TestFooDeletesWhatItOwnsAndDoesNotName(t *testing.T) {
	run(t, func(w *world) {
		defer w.operate()()
		w.foo("x", "web", 1)
		w.settle()
		w.create(kube.Deployments, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"old","ownerReferences":[{"apiVersion":"example.com/v1","kind":"Foo",
			"name":"x","uid":%q,"controller":true}]},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
			"spec":{"containers":[{"name":"c","image":"old"}]}}}}`, get[Foo](w, foos, x).UID))
		w.want(`web of "x": 1 of 1 nginx:1.29`, "foo x: 1, Ready True Available")
	})
}

// TestFooOfANamespaceAsksForNothingElse: manifests/rbac-namespaced.yaml allows requests in
// one namespace only.
func TestFooOfANamespaceAsksForNothingElse(t *testing.T) {
	run(t, func(w *world) {
		w.confined = "a"
		w.foo("x", "web", 1)
		w.create(foos, `{"metadata":{"namespace":"b","name":"y"},"spec":{"deploymentName":"web","replicas":1}}`)
		stop := w.operate()
		w.settle()
		stop()
		get[Deployment](w, kube.Deployments, web)
		if b := w.Get(kube.Deployments, kube.Key{Namespace: "b", Name: "web"}); b != nil {
			t.Errorf("it works in another namespace: %s", b)
		}
		for _, r := range w.Requests() {
			if r.Header.Get("User-Agent") == "foo-operator" && r.Key.Namespace != "a" {
				t.Errorf("it asks for %s %s", r.Verb, r.Path)
			}
		}
	})
}
