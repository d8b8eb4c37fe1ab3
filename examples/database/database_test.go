package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/manager"
	"github.com/listwatch/listwatch/operator"
	"github.com/listwatch/listwatch/webhook/webhooktest"
)

// world is a fake cluster with the definition, the webhooks and workloads that get Pods.
type world struct {
	*testing.T
	*apitest.Server
	client *client.Client // of the operator, and of its user
	all    client.Collection[Database]
	log    bytes.Buffer
}

var x = kube.Key{Namespace: "a", Name: "x"}

// kinds are the resources of the children.
var kinds = []kube.Resource{kube.Secrets, kube.Services, budgets, kube.StatefulSets}

// child has members of all kinds of children.
type child struct {
	kube.Meta `json:"metadata"`
	Data      map[string][]byte `json:"data,omitempty"` // of the Secret
	Spec      struct {
		Selector       fields `json:"selector,omitempty"`
		ClusterIP      string `json:"clusterIP,omitempty"`
		Ports          []port `json:"ports,omitempty"`
		MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
		Replicas       *int32 `json:"replicas,omitempty"`
		ServiceName    string `json:"serviceName,omitempty"`
		Template       struct {
			kube.Meta `json:"metadata"`
			Spec      struct {
				Containers []container `json:"containers"`
				Volumes    []volume    `json:"volumes,omitempty"`
			} `json:"spec"`
		} `json:"template,omitzero"`
		Claims []fields `json:"volumeClaimTemplates,omitempty"`
	} `json:"spec,omitzero"`
}

type port struct {
	Name string `json:"name"`
	Port int32  `json:"port"`
}

type container struct {
	Name         string   `json:"name"`
	Image        string   `json:"image"`
	EnvFrom      []fields `json:"envFrom,omitempty"`
	VolumeMounts []fields `json:"volumeMounts,omitempty"`
}

type volume struct {
	Name      string `json:"name"`
	ConfigMap struct {
		Name string `json:"name"`
	} `json:"configMap"`
}

// run plays a story in virtual time.
func run(t *testing.T, story func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, Server: apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true})}
		c, err := client.New(client.Config{Server: w.URL, Dial: w.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		w.client, w.all = c, client.Of[Database](c, databases)
		op, err := operator.New(c, options)
		if err == nil {
			op.Definitions()[0].Spec.Conversion = nil // the fake server does not call it
			err = crd.Ensure(t.Context(), c, crd.EnsureOptions{}, op.Definitions()...)
		}
		if err != nil {
			t.Fatal(err)
		}
		webhooktest.Admit(w.Server, op.Webhooks())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { _ = simulate.New(w.Server, simulate.Options{}).Run(ctx); close(done) }()
		story(w)
		cancel()
		<-done
	})
}

// operate starts the operator, and returns what stops it in good order.
func (w *world) operate() (stop func()) {
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan error)
	go func() {
		o := options
		o.NoServe = true // webhooktest calls them
		o.Manager = manager.Options{DetectMutations: true, Logger: slog.New(slog.NewTextHandler(&w.log, nil))}
		op, err := operator.New(w.client, o)
		if err == nil {
			err = op.Run(ctx)
		}
		done <- err
	}()
	return func() {
		cancel()
		if err := <-done; err != nil {
			w.Errorf("the operator: %v", err)
		}
	}
}

func (w *world) settle() { <-time.After(20 * time.Second) }

// create creates x with a spec.
func (w *world) create(change func(*Spec)) {
	w.Helper()
	d := Database{Meta: kube.Meta{Namespace: x.Namespace, Name: x.Name}, Spec: Spec{Image: "postgres:18", Replicas: 3, Storage: Storage{Size: "1Gi"}}}
	if change != nil {
		change(&d.Spec)
	}
	if _, err := w.all.Create(w.Context(), d); err != nil {
		w.Fatal(err)
	}
	w.settle()
}

// edit changes the spec of x.
func (w *world) edit(change func(*Spec)) {
	w.Helper()
	if _, err := w.all.Edit(w.Context(), x, func(d *Database) error { change(&d.Spec); return nil }); err != nil {
		w.Fatal(err)
	}
	w.settle()
}

func (w *world) child(r kube.Resource) child {
	w.Helper()
	c, err := client.Of[child](w.client, r).Get(w.Context(), x)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// status returns the condition of x.
func (w *world) status() string {
	w.Helper()
	d, err := w.all.Get(w.Context(), x)
	if err != nil {
		w.Fatal(err)
	}
	c, _ := kube.ConditionOf(d.Status.Conditions, "Ready")
	if c.ObservedGeneration != d.Generation {
		w.Errorf("the condition is of generation %d, the object of %d", c.ObservedGeneration, d.Generation)
	}
	return fmt.Sprintf("%s %s %d: %s", c.Status, c.Reason, d.Status.ReadyReplicas, c.Message)
}

func (w *world) is(want string) {
	w.Helper()
	if got := w.status(); got != want {
		w.Errorf("status %q, want %q", got, want)
	}
}

const isReady = "True Available 3: all replicas are ready"

func TestChildrenOfADatabase(t *testing.T) {
	run(t, func(w *world) {
		defer w.operate()()
		w.create(nil)
		w.is(isReady)
		got := map[string]any{}
		for _, r := range kinds {
			c := w.child(r)
			if owner, _ := kube.ControllerOf(c.OwnerReferences); owner.Name != "x" {
				t.Errorf("%s belongs to %+v", r.Kind, owner)
			}
			b, err := json.Marshal(c.Spec)
			if err != nil {
				t.Fatal(err)
			}
			got[r.Kind] = string(b)
		}
		want := map[string]any{
			"Secret":              `{}`,
			"Service":             `{"selector":{"database":"x"},"clusterIP":"None","ports":[{"name":"sql","port":5432}]}`,
			"PodDisruptionBudget": `{"selector":{"matchLabels":{"database":"x"}},"maxUnavailable":1}`,
			"StatefulSet": `{"selector":{"matchLabels":{"database":"x"}},"replicas":3,"serviceName":"x","template":{"metadata":` +
				`{"labels":{"database":"x"},"annotations":{"example.com/config":""}},"spec":{"containers":[{"name":"db","image":"postgres:18",` +
				`"envFrom":[{"secretRef":{"name":"x"}}],"volumeMounts":[{"mountPath":"/var/lib/postgresql","name":"data"}]}]}},` +
				`"volumeClaimTemplates":[{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],` +
				`"resources":{"requests":{"storage":"1Gi"}},"volumeMode":"Filesystem"},"status":{"phase":"Pending"}}]}`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("children (-want +got):\n%s", diff)
		}
	})
}

// A Database needs one request for each child, two for its finalizer and status, and
// some for the progress. A process that starts applies the children once, except the
// Secret, and then sends nothing while nothing changes.
func TestRequestsOfADatabase(t *testing.T) {
	run(t, func(w *world) {
		stop := w.operate()
		w.create(nil)
		w.is(isReady)
		stop()
		count := map[string]int{}
		for _, r := range w.Requests() {
			if r.Resource.Group != "apiextensions.k8s.io" && r.Verb != "list" && r.Verb != "watch" && r.Resource != kube.Events && r.Query.Get("fieldManager") == "database-operator" {
				count[r.Verb+" "+r.Resource.Plural]++
			}
		}
		for verb, want := range map[string]int{"get databases": 0, "patch databases": 5} { // the finalizer, and 0 to 3 ready replicas
			if count[verb] != want {
				t.Errorf("%d requests %s, want %d", count[verb], verb, want)
			}
		}
		for _, r := range kinds {
			if n := count["patch "+r.Plural]; n != 1 || count["get "+r.Plural]+count["update "+r.Plural] > 0 {
				t.Errorf("%d requests patch %s, want 1, without get and update", n, r.Plural)
			}
		}
		w.ForgetRequests()
		defer w.operate()()
		w.settle()
		var again []string
		for _, r := range w.Requests() {
			if r.Verb != "list" && r.Verb != "watch" {
				again = append(again, r.Verb+" "+r.Resource.Plural)
			}
		}
		if diff := cmp.Diff([]string{"patch services", "patch poddisruptionbudgets", "patch statefulsets"}, again); diff != "" {
			t.Errorf("after a restart (-want +got):\n%s", diff)
		}
	})
}

func TestDriftIsRepaired(t *testing.T) {
	run(t, func(w *world) {
		defer w.operate()()
		w.create(nil)
		password := string(w.child(kube.Secrets).Data["POSTGRES_PASSWORD"])
		for _, r := range kinds {
			if r == kube.Secrets {
				continue
			}
			before := w.child(r)
			if _, err := client.Of[child](w.client, r).Edit(w.Context(), x, func(c *child) error {
				one, most := int32(1), int32(2)
				switch r {
				case kube.StatefulSets:
					c.Spec.Replicas, c.Spec.Template.Spec.Containers[0].Image = &one, "evil"
				case budgets:
					c.Spec.MaxUnavailable = &most
				default:
					c.Spec.Ports[0].Port = 1
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			w.settle()
			if diff := cmp.Diff(before.Spec, w.child(r).Spec); diff != "" {
				t.Errorf("%s (-before +now):\n%s", r.Kind, diff)
			}
		}
		if err := client.Of[child](w.client, budgets).Delete(w.Context(), x, client.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.settle()
		w.child(budgets)
		w.is(isReady)
		if now := string(w.child(kube.Secrets).Data["POSTGRES_PASSWORD"]); now != password || len(password) < 20 {
			t.Error("the password is another one, or too short")
		}
	})
}

// The operator does not change what belongs to others, and goes on when it is gone.
func TestNameOfAnother(t *testing.T) {
	run(t, func(w *world) {
		w.Put(kube.Services, `{"metadata":{"namespace":"a","name":"x"},"spec":{"ports":[{"port":80}]}}`)
		defer w.operate()()
		w.create(nil)
		w.is("False NameTaken 0: Service x: the object exists and does not belong to the owner")
		w.Delete(kube.Services, x)
		<-time.After(2 * time.Minute)
		w.is(isReady)
	})
}

// The Pods restart when the ConfigMap changes, and only then; without it nothing is made.
func TestConfigIsMounted(t *testing.T) {
	run(t, func(w *world) {
		defer w.operate()()
		w.create(func(s *Spec) { s.Config = "settings" })
		w.is("False ConfigMissing 0: there is no ConfigMap settings")
		w.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"settings"},"data":{"a":"1"}}`)
		w.settle()
		w.is(isReady)
		first := w.child(kube.StatefulSets)
		if v := first.Spec.Template.Spec.Volumes; len(v) != 1 || v[0].ConfigMap.Name != "settings" {
			t.Errorf("volumes %+v", v)
		}
		for _, step := range []struct {
			object string
			want   int64 // generation
		}{
			{`{"metadata":{"namespace":"a","name":"settings","labels":{"b":"c"}},"data":{"a":"1"}}`, first.Generation},
			{`{"metadata":{"namespace":"a","name":"settings"},"data":{"a":"2"}}`, first.Generation + 1},
			{`{"metadata":{"namespace":"a","name":"other"},"data":{"a":"3"}}`, first.Generation + 1},
		} {
			w.Put(kube.ConfigMaps, step.object)
			w.settle()
			if g := w.child(kube.StatefulSets).Generation; g != step.want {
				t.Errorf("generation %d after %s, want %d", g, step.object, step.want)
			}
		}
		w.is(isReady)
		w.edit(func(s *Spec) { s.Config = "" })
		if now := w.child(kube.StatefulSets).Spec.Template; len(now.Spec.Volumes) != 0 || len(now.Spec.Containers[0].VolumeMounts) != 1 {
			t.Errorf("the configuration is still mounted: %+v", now)
		}
	})
}

// The claims have no owner: the finalizer holds the Database until they are deleted. A
// protected one is not deleted.
func TestEndOfADatabase(t *testing.T) {
	run(t, func(w *world) {
		defer w.operate()()
		w.create(func(s *Spec) { s.Protect = true })
		for i := range 3 {
			w.Put(kube.PersistentVolumeClaims, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"data-x-%d","labels":{"database":"x"}},"spec":{}}`, i))
		}
		w.Put(kube.PersistentVolumeClaims, `{"metadata":{"namespace":"a","name":"data-y-0","labels":{"database":"y"}},"spec":{}}`)
		err := w.all.Delete(w.Context(), x, client.DeleteOptions{})
		if refused := (*kube.Status)(nil); !errors.As(err, &refused) || !strings.Contains(refused.Message, "before you delete the Database") {
			t.Fatalf("deletion of a protected Database: %v", err)
		}
		w.edit(func(s *Spec) { s.Protect = false })
		if err := w.all.Delete(w.Context(), x, client.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.settle()
		for _, r := range append(kinds, databases, kube.Pods) {
			if list, _ := w.List(r); len(list) != 0 {
				t.Errorf("%d %s are left", len(list), r.Plural)
			}
		}
		if list, _ := w.List(kube.PersistentVolumeClaims); len(list) != 1 {
			t.Errorf("%d claims are left, want that of y", len(list))
		}
	})
}

func TestSpecIsValidated(t *testing.T) {
	run(t, func(w *world) {
		for _, s := range []Spec{
			{Replicas: 1, Storage: Storage{Size: "1Gi"}},
			{Image: "a", Replicas: 10, Storage: Storage{Size: "1Gi"}},
			{Image: "a", Replicas: 1, Storage: Storage{Size: "1"}},
		} {
			_, err := w.all.Create(w.Context(), Database{Meta: kube.Meta{Namespace: "a", Name: "y"}, Spec: s})
			if !errors.Is(err, kube.ErrInvalid) {
				t.Errorf("%+v: %v", s, err)
			}
		}
	})
}

// Nothing is lost between the versions, and the server that API servers call converts.
func TestConversion(t *testing.T) {
	webhooktest.RoundTrip(t, fromV1alpha1, toV1alpha1, webhooktest.Options[Database, DatabaseV1alpha1]{Objects: 100})
	op, err := operator.New(new(client.Client), options)
	if err != nil {
		t.Fatal(err)
	}
	if err := op.Definitions()[0].Validate(); err != nil {
		t.Error(err)
	}
	body := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"1","desiredAPIVersion":"example.com/v1","objects":[` +
		`{"apiVersion":"example.com/v1alpha1","kind":"Database","metadata":{"namespace":"a","name":"x","uid":"u"},` +
		`"spec":{"image":"postgres:18","instances":3,"storage":"1Gi","storageClass":"fast","configMap":"settings","protect":true}}]}}`
	r := httptest.NewRequest(http.MethodPost, "/convert/databases.example.com", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	op.Webhooks().Handler().ServeHTTP(rec, r)
	var review struct {
		Response struct{ ConvertedObjects []struct{ Spec Spec } }
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &review); err != nil || len(review.Response.ConvertedObjects) != 1 {
		t.Fatalf("%v: %s", err, rec.Body)
	}
	want := Spec{"postgres:18", 3, Storage{"1Gi", "fast"}, "settings", true}
	if diff := cmp.Diff(want, review.Response.ConvertedObjects[0].Spec); diff != "" {
		t.Errorf("converted (-want +got):\n%s", diff)
	}
}

// manifests/crd.yaml is what the operator prints for the namespace database-system.
func TestManifestsArePrinted(t *testing.T) {
	o := options
	o.Namespace = "database-system"
	op, err := operator.New(new(client.Client), o)
	if err != nil {
		t.Fatal(err)
	}
	want, err := op.Manifests()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("manifests/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("manifests/crd.yaml (-printed +file):\n%s", diff)
	}
}
