package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
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

// world is a fake cluster with the operator at work.
type world struct {
	*testing.T
	*apitest.Server
	log      bytes.Buffer // to be read when the operator has stopped
	confined string       // the operator's --namespace
}

func key(name string) kube.Key { return kube.Key{Namespace: "a", Name: name} }

// run plays a story in virtual time.
func run(t *testing.T, story func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, Server: apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true})}
		w.Put(kube.CustomResourceDefinitions, manifest(t, "crd.yaml"))
		story(w)
	})
}

// operate starts the operator, and returns what stops it in good order.
func (w *world) operate() (stop func()) {
	c, err := client.New(client.Config{Server: w.URL, Dial: w.Dial, UserAgent: "cloudmanager-operator"})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan error)
	go func() {
		done <- newManager(c, w.confined, manager.Options{Logger: slog.New(slog.NewTextHandler(&w.log, nil))}).Run(ctx)
	}()
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

// simulate lets Deployments and StatefulSets have Pods, until stop is called.
func (w *world) simulate() (stop func()) {
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() { _ = simulate.New(w.Server, simulate.Options{}).Run(ctx); close(done) }()
	return func() { cancel(); <-done }
}

// report plays the controllers: so many Pods are ready.
func (w *world) report(r kube.Resource, name string, ready int) {
	w.Helper()
	generation := get[Child](w, r, key(name)).Generation
	w.somebody(r, func(c client.Collection[codec.Raw]) error {
		_, err := c.PatchStatus(w.Context(), key(name), map[string]any{"observedGeneration": generation, "replicas": ready, "readyReplicas": ready})
		return err
	})
}

const all = `{"metadata":{"namespace":"a","name":"x"},"spec":{
	"front":{"image":"web:1","replicas":2},"identity":{"image":"id:1"},"db":{"image":"sql:1","replicas":3,"storage":"5Gi"}}}`

// state says what there is, in a few words each.
func (w *world) state() (lines []string) {
	for _, r := range []kube.Resource{kube.Secrets, kube.StatefulSets, kube.Deployments} {
		list, _ := w.List(r)
		for _, b := range list {
			var c Child
			if err := json.Unmarshal(b, &c); err != nil {
				w.Fatal(err)
			}
			owner, _ := kube.ControllerOf(c.OwnerReferences)
			line := fmt.Sprintf("%s %s of %q", r.Kind, c.Name, owner.Name)
			if c.Spec.Replicas != nil {
				line += fmt.Sprintf(": %d of %s", *c.Spec.Replicas, c.Spec.Template.Spec.Containers[0].Image)
			}
			lines = append(lines, line)
		}
	}
	list, _ := w.List(managers)
	for _, b := range list {
		var m CloudManager
		if err := json.Unmarshal(b, &m); err != nil {
			w.Fatal(err)
		}
		line := fmt.Sprintf("%s is %s", m.Name, m.Status.Phase)
		for _, c := range m.Status.Conditions {
			line += fmt.Sprintf(", %s %s: %s", c.Type, c.Status, c.Message)
		}
		if m.Status.ObservedGeneration != m.Generation {
			line += ", not of its generation"
		}
		lines = append(lines, line)
	}
	return lines
}

func (w *world) want(lines ...string) {
	w.Helper()
	if diff := cmp.Diff(lines, w.state()); diff != "" {
		w.Errorf("what there is (-want +got):\n%s", diff)
	}
}

const isReady = "x is ready, Ready True: a majority of each part is ready"

func TestPartsAreMadeInOrder(t *testing.T) {
	run(t, func(w *world) {
		defer w.operate()()
		w.create(managers, all)
		w.settle()
		const waits = "x is progressing, Ready False: waiting for a majority of "
		db := []string{`Secret x-db of "x"`, `StatefulSet x-db of "x": 3 of sql:1`}
		w.want(append(db, waits+"db")...)
		w.report(kube.StatefulSets, "x-db", 1)
		w.settle()
		w.want(append(db, waits+"db")...)
		w.report(kube.StatefulSets, "x-db", 2) // of 3
		w.settle()
		w.want(append(db, `Deployment x-identity of "x": 1 of id:1`, waits+"identity")...)
		w.report(kube.Deployments, "x-identity", 1)
		w.settle()
		w.want(append(db, `Deployment x-front of "x": 2 of web:1`, `Deployment x-identity of "x": 1 of id:1`, waits+"front")...)
		w.report(kube.Deployments, "x-front", 1) // of 2: not a majority
		w.settle()
		w.want(append(db, `Deployment x-front of "x": 2 of web:1`, `Deployment x-identity of "x": 1 of id:1`, waits+"front")...)
		w.report(kube.Deployments, "x-front", 2)
		w.settle()
		w.want(append(db, `Deployment x-front of "x": 2 of web:1`, `Deployment x-identity of "x": 1 of id:1`, isReady)...)
		want := []string{
			"Normal Synced Secret x-db created", "Normal Synced StatefulSet x-db created", "Normal Synced Deployment x-identity created",
			"Normal Synced Deployment x-front created", "Normal Ready a majority of each part is ready",
		}
		if diff := cmp.Diff(want, w.recorded()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// recorded returns the Events of the operator, in order.
func (w *world) recorded() (texts []string) {
	list, _ := w.List(kube.Events)
	type event struct {
		kube.Meta             `json:"metadata"`
		Type, Reason, Message string
		Source                struct{ Component string }
	}
	var recorded []event
	for _, b := range list {
		var e event
		if err := json.Unmarshal(b, &e); err != nil {
			w.Fatal(err)
		}
		if e.Source.Component == "cloudmanager-operator" {
			recorded = append(recorded, e)
		}
	}
	slices.SortFunc(recorded, func(a, b event) int {
		n, _ := kube.Revision(a.ResourceVersion).Compare(kube.Revision(b.ResourceVersion))
		return n
	})
	for _, e := range recorded {
		texts = append(texts, e.Type+" "+e.Reason+" "+e.Message)
	}
	return texts
}

// A part whose status is of an older spec is not ready.
func TestStatusOfAnOlderSpecDoesNotCount(t *testing.T) {
	run(t, func(w *world) {
		defer w.operate()()
		w.create(managers, `{"metadata":{"namespace":"a","name":"x"},"spec":{"front":{"image":"web:1"}}}`)
		w.settle()
		w.report(kube.Deployments, "x-front", 1)
		w.settle()
		w.want(`Deployment x-front of "x": 1 of web:1`, isReady)
		w.patch(managers, key("x"), client.MergePatch, `{"spec":{"front":{"image":"web:2"}}}`)
		w.settle()
		w.want(`Deployment x-front of "x": 1 of web:2`, "x is progressing, Ready False: waiting for a majority of front")
	})
}

// whole is what there is of the object all, when it is ready.
var whole = []string{
	`Secret x-db of "x"`, `StatefulSet x-db of "x": 3 of sql:1`, `Deployment x-front of "x": 2 of web:1`,
	`Deployment x-identity of "x": 1 of id:1`, isReady,
}

func TestChildrenAreAsTheProductNeedsThem(t *testing.T) {
	run(t, func(w *world) {
		defer w.simulate()()
		defer w.operate()()
		w.create(managers, all)
		w.settle()
		w.want(whole...)
		set := get[Child](w, kube.StatefulSets, key("x-db"))
		got, err := json.Marshal([]any{set.Spec.Selector, set.Spec.Template.Labels, set.Spec.Template.Spec, set.Spec.VolumeClaimTemplates[0]["spec"]})
		if err != nil {
			t.Fatal(err)
		}
		want := `[{"matchLabels":{"cloudmanager":"x","part":"db"}},{"cloudmanager":"x","part":"db"},` +
			`{"containers":[{"name":"db","image":"sql:1","envFrom":[{"secretRef":{"name":"x-db"}}],"volumeMounts":[{"mountPath":"/var/lib/postgresql","name":"data"}]}]},` +
			`{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"5Gi"}},"volumeMode":"Filesystem"}]`
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("the StatefulSet (-want +got):\n%s", diff)
		}
	})
}

// The password is made once, and not disclosed.
func TestPasswordIsMadeOnceAndNotDisclosed(t *testing.T) {
	run(t, func(w *world) {
		defer w.simulate()()
		stop := w.operate()
		w.create(managers, all)
		w.settle()
		secret := get[Child](w, kube.Secrets, key("x-db"))
		password := string(secret.Data["POSTGRES_PASSWORD"])
		if len(password) < 20 {
			t.Fatalf("the password has %d characters", len(password))
		}
		w.patch(managers, key("x"), client.MergePatch, `{"spec":{"db":{"replicas":2}}}`)
		w.patch(kube.Secrets, key("x-db"), client.MergePatch, `{"metadata":{"labels":{"mine":"yes"}}}`)
		w.settle()
		stop()
		stop = w.operate()
		w.settle()
		stop()
		if now := get[Child](w, kube.Secrets, key("x-db")); string(now.Data["POSTGRES_PASSWORD"]) != password || now.UID != secret.UID {
			t.Error("the Secret was made again")
		}
		for _, r := range w.Requests() {
			if r.Resource == kube.Secrets && (r.Verb == "list" || r.Verb == "watch") && !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
				t.Errorf("%s of Secrets with their data", r.Verb)
			}
		}
		list, _ := w.List(kube.Events)
		if text := w.log.String() + string(bytes.Join(list, nil)); strings.Contains(text, password) {
			t.Error("the password is in the log or in an Event")
		}
	})
}

func TestPartsAreScaledAndRepaired(t *testing.T) {
	run(t, func(w *world) {
		defer w.simulate()()
		defer w.operate()()
		w.create(managers, all)
		w.settle()
		for what, edit := range map[string]func(){
			"front is scaled by somebody": func() { w.patch(kube.Deployments, key("x-front"), client.MergePatch, `{"spec":{"replicas":9}}`) },
			"the db has another image": func() {
				w.patch(kube.StatefulSets, key("x-db"), client.StrategicMergePatch, `{"spec":{"template":{"spec":{"containers":[{"name":"db","image":"evil"}]}}}}`)
			},
			"identity is deleted":        func() { w.delete(kube.Deployments, key("x-identity")) },
			"the StatefulSet is deleted": func() { w.delete(kube.StatefulSets, key("x-db")) },
		} {
			edit()
			w.settle()
			if diff := cmp.Diff(whole, w.state()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		w.patch(managers, key("x"), client.MergePatch, `{"spec":{"front":{"replicas":5},"identity":{"image":"id:2"}}}`)
		w.settle()
		w.want(`Secret x-db of "x"`, `StatefulSet x-db of "x": 3 of sql:1`, `Deployment x-front of "x": 5 of web:1`, `Deployment x-identity of "x": 1 of id:2`, isReady)
	})
}

// claim is what the controller of StatefulSets makes of the template.
func (w *world) claim(name, manager string) {
	w.create(kube.PersistentVolumeClaims, fmt.Sprintf(`{"metadata":{"namespace":"a","name":%q,"labels":{"cloudmanager":%q,"part":"db"}},
		"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"5Gi"}}}}`, name, manager))
}

func (w *world) claims() (names []string) {
	list, _ := w.List(kube.PersistentVolumeClaims)
	for _, b := range list {
		var o kube.Partial
		if err := json.Unmarshal(b, &o); err != nil {
			w.Fatal(err)
		}
		names = append(names, o.Name)
	}
	return names
}

func TestPartsThatAreNoLongerNamedAreDeleted(t *testing.T) {
	run(t, func(w *world) {
		defer w.simulate()()
		defer w.operate()()
		w.create(managers, all)
		w.claim("data-x-db-0", "x")
		w.settle()
		w.patch(managers, key("x"), client.MergePatch, `{"spec":{"identity":null}}`)
		w.settle()
		w.want(`Secret x-db of "x"`, `StatefulSet x-db of "x": 3 of sql:1`, `Deployment x-front of "x": 2 of web:1`, isReady)
		w.patch(managers, key("x"), client.MergePatch, `{"spec":{"db":null}}`)
		w.settle()
		w.want(`Deployment x-front of "x": 2 of web:1`, isReady)
		if diff := cmp.Diff([]string{"data-x-db-0"}, w.claims()); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
	})
}

func TestWhatIsNotOursIsNotTaken(t *testing.T) {
	run(t, func(w *world) {
		defer w.simulate()()
		defer w.operate()()
		w.create(kube.Secrets, `{"metadata":{"namespace":"a","name":"x-db"},"stringData":{"mine":"1"}}`)
		w.create(managers, all)
		w.settle()
		w.want(`Secret x-db of ""`, "x is failed, Ready False: db: it is there already and does not belong to this CloudManager")
		if diff := cmp.Diff([]string{"Warning ErrResourceExists Secret x-db: it is there already and does not belong to this CloudManager"}, w.recorded()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		w.delete(managers, key("x"))
		w.settle()
		w.want(`Secret x-db of ""`)
		w.create(managers, all)
		w.settle()
		w.delete(kube.Secrets, key("x-db"))
		w.settle()
		w.settle()
		w.want(whole...)
	})
}

func TestDeletionTakesTheClaimsAlong(t *testing.T) {
	run(t, func(w *world) {
		defer w.simulate()()
		defer w.operate()()
		w.create(managers, all)
		w.create(managers, `{"metadata":{"namespace":"a","name":"y"},"spec":{"db":{"image":"sql:1"}}}`)
		w.claim("data-x-db-0", "x")
		w.claim("data-y-db-0", "y")
		w.settle()
		slow := get[map[string]any](w, kube.Pods, key("x-db-0"))
		slow["metadata"].(map[string]any)["finalizers"] = []string{"example.com/slow"}
		w.Put(kube.Pods, slow)
		w.delete(managers, key("x"))
		w.settle()
		if diff := cmp.Diff([]string{"data-x-db-0", "data-y-db-0"}, w.claims()); diff != "" {
			t.Errorf("claims, while there are Pods (-want +got):\n%s", diff)
		}
		if m := get[CloudManager](w, managers, key("x")); m.Status.Phase != "deleting" {
			t.Errorf("phase %q", m.Status.Phase)
		}
		w.Delete(kube.Pods, key("x-db-0"))
		w.CollectGarbage()
		w.settle()
		w.want(`Secret y-db of "y"`, `StatefulSet y-db of "y": 1 of sql:1`, "y is ready, Ready True: a majority of each part is ready")
		if diff := cmp.Diff([]string{"data-y-db-0"}, w.claims()); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
	})
}

// The watch of what was made is half a minute late: the next run waits for it, and
// knows then what it has to clean up.
func TestWithALateWatchNothingIsMadeTwiceOrLeftBehind(t *testing.T) {
	run(t, func(w *world) {
		w.On(apitest.Match{Verb: "watch", Resource: "statefulsets.apps"}, faults.EachEvent(func(w http.ResponseWriter, event []byte) {
			if bytes.Contains(event, []byte(`"ADDED"`)) {
				<-time.After(30 * time.Second)
			}
			_, _ = w.Write(event)
		}))
		defer w.simulate()()
		defer w.operate()()
		w.settle()
		w.ForgetRequests()
		w.create(managers, all)
		<-time.After(time.Second)
		w.claim("data-x-db-0", "x")
		w.delete(managers, key("x")) // before its StatefulSet is seen
		<-time.After(10 * time.Second)
		if w.Get(managers, key("x")) == nil {
			t.Error("it let the CloudManager go without having looked at what it made")
		}
		<-time.After(10 * time.Minute)
		w.want()
		if names := w.claims(); len(names) > 0 {
			t.Errorf("claims are left: %v", names)
		}
		creates := 0
		for _, r := range w.Requests() {
			if r.Verb == "create" && r.Resource == kube.StatefulSets {
				creates++
			}
		}
		if creates != 1 {
			t.Errorf("%d StatefulSets were made", creates)
		}
	})
}

// An operator at rest asks for nothing, nor when what happens is none of its business.
func TestAtRestNothingIsAsked(t *testing.T) {
	run(t, func(w *world) {
		defer w.simulate()()
		defer w.operate()()
		w.create(managers, all)
		w.settle()
		w.ForgetRequests()
		w.patch(kube.Deployments, key("x-front"), client.MergePatch, `{"metadata":{"labels":{"no":"news"}}}`)
		<-time.After(time.Hour)
		for _, r := range w.Requests() {
			if r.Verb != "watch" && r.Header.Get("User-Agent") == "cloudmanager-operator" {
				t.Errorf("%s %s", r.Verb, r.Path)
			}
		}
	})
}
