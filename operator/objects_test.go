package operator_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/operator"
)

var fleets = kube.Resource{Group: "example.com", Version: "v1", Plural: "fleets", Kind: "Fleet"}

type fleet struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Sunk bool `json:"sunk,omitempty"`
	} `json:"spec,omitzero"`
	Status struct {
		Ships []ship `json:"ships,omitempty"`
	} `json:"status,omitzero"`
}

type ship struct {
	Name  string `json:"name"`
	Cargo string `json:"cargo,omitempty"`
}

// named are the same objects for a reconciler that reads the names of the ships only.
type named struct {
	kube.Meta `json:"metadata"`
	Status    struct {
		Ships []struct {
			Name string `json:"name"`
		} `json:"ships,omitempty"`
	} `json:"status,omitzero"`
}

// sail runs an operator whose reconciler of T is work.
func sail[T interface {
	kube.Object
	GetGeneration() int64
}](t *testing.T, work func(context.Context, *operator.Objects[T], *operator.Children[kube.Partial, T], T) error, story func(context.Context, *apitest.Server, *client.Client), more ...func(*operator.Objects[T])) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true})
		c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		op, err := operator.New(c, operator.Options{Name: "fleet", Setup: func(op *operator.Operator) error {
			op.Define(crd.Of[fleet](fleets, crd.Options{}))
			var all *operator.Objects[T]
			var maps *operator.Children[kube.Partial, T]
			all = operator.For(op, fleets, operator.Reconciler[T]{Reconcile: func(ctx context.Context, o T) (controller.Result, error) {
				return controller.Result{}, work(ctx, all, maps, o)
			}})
			maps = operator.Owns[kube.Partial](all, kube.ConfigMaps)
			for _, add := range more {
				add(all)
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := crd.Ensure(t.Context(), c, crd.EnsureOptions{}, op.Definitions()...); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- op.Run(ctx) }()
		story(ctx, srv, c)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A type that is not that of the definition keeps the members that it does not have.
func TestPatchStatusOfAnotherType(t *testing.T) {
	sail(t, func(ctx context.Context, all *operator.Objects[named], _ *operator.Children[kube.Partial, named], o named) error {
		return all.PatchStatus(ctx, o, func(o *named) {
			o.Status.Ships = append(o.Status.Ships[:1:1], struct {
				Name string `json:"name"`
			}{"b"})
		})
	}, func(_ context.Context, srv *apitest.Server, _ *client.Client) {
		srv.Put(fleets, `{"metadata":{"name":"x"},"status":{"ships":[{"name":"a","cargo":"tea"}]}}`)
		settle()
		o, _ := apitest.Object[fleet](srv, fleets, kube.Key{Name: "x"})
		if s := o.Status.Ships; len(s) != 2 || s[0] != (ship{"a", "tea"}) || s[1].Name != "b" {
			t.Errorf("ships %v", s)
		}
	})
}

// The type of the definition has all members, which need not be read.
func TestPatchStatusReadsNothing(t *testing.T) {
	sail(t, func(ctx context.Context, all *operator.Objects[fleet], _ *operator.Children[kube.Partial, fleet], o fleet) error {
		return all.PatchStatus(ctx, o, func(o *fleet) { o.Status.Ships = []ship{{"b", "tea"}} })
	}, func(_ context.Context, srv *apitest.Server, _ *client.Client) {
		srv.Put(fleets, `{"metadata":{"name":"x"},"status":{"ships":[{"name":"a","cargo":"tea"}]}}`)
		settle()
		for _, r := range srv.Requests() {
			if r.Verb == "get" && r.Resource.Plural == "fleets" && r.Key.Name == "x" {
				t.Errorf("%s %s", r.Verb, r.Path)
			}
		}
	})
}

// The children of an object without a namespace have one.
func TestDeleteOfAClusterScopedOwner(t *testing.T) {
	var gone []bool
	sail(t, func(ctx context.Context, _ *operator.Objects[fleet], maps *operator.Children[kube.Partial, fleet], o fleet) error {
		if !o.Spec.Sunk {
			_, err := maps.Apply(ctx, o, `{"metadata":{"namespace":"a","name":"m"}}`)
			return err
		}
		g, err := maps.Delete(ctx, o, "m", client.DeleteOptions{})
		gone = append(gone, g)
		return err
	}, func(ctx context.Context, srv *apitest.Server, c *client.Client) {
		srv.Put(fleets, `{"metadata":{"name":"x"}}`)
		settle()
		if maps, _ := srv.List(kube.ConfigMaps); len(maps) != 1 {
			t.Fatalf("%d ConfigMaps", len(maps))
		}
		if _, err := client.Of[fleet](c, fleets).Patch(ctx, kube.Key{Name: "x"}, client.MergePatch, `{"spec":{"sunk":true}}`); err != nil {
			t.Fatal(err)
		}
		settle()
		if maps, _ := srv.List(kube.ConfigMaps); len(maps) != 0 || len(gone) == 0 || gone[0] || !gone[len(gone)-1] {
			t.Errorf("%d ConfigMaps, Delete returned %v", len(maps), gone)
		}
	})
}

// Children of one name in two namespaces are deleted together by it, and alone by their key.
func TestChildrenOfOneNameInTwoNamespaces(t *testing.T) {
	for how, want := range map[string]string{"delete m": "", "delete b/m": "a/m", "delete c/m": "a/m b/m", "prune m": "a/m b/m", "prune a/m": "a/m", "prune c/m": ""} {
		sail(t, func(ctx context.Context, _ *operator.Objects[fleet], maps *operator.Children[kube.Partial, fleet], o fleet) error {
			verb, name, _ := strings.Cut(how, " ")
			switch {
			case !o.Spec.Sunk:
				_, err := maps.Apply(ctx, o, `{"metadata":{"namespace":"a","name":"m"}}`)
				if err == nil {
					_, err = maps.Apply(ctx, o, `{"metadata":{"namespace":"b","name":"m"}}`)
				}
				return err
			case verb == "prune":
				_, err := maps.Prune(ctx, o, client.DeleteOptions{}, name)
				return err
			}
			_, err := maps.Delete(ctx, o, name, client.DeleteOptions{})
			return err
		}, func(ctx context.Context, srv *apitest.Server, c *client.Client) {
			srv.Put(fleets, `{"metadata":{"name":"x"}}`)
			settle()
			if _, err := client.Of[fleet](c, fleets).Patch(ctx, kube.Key{Name: "x"}, client.MergePatch, `{"spec":{"sunk":true}}`); err != nil {
				t.Fatal(err)
			}
			settle()
			var left []string
			for _, m := range apitest.Objects[kube.Partial](srv, kube.ConfigMaps) {
				left = append(left, kube.KeyOf(m).String())
			}
			if got := strings.Join(left, " "); got != want {
				t.Errorf("%s: %q are left, want %q", how, got, want)
			}
		})
	}
}

// The second change of a run begins with what the first one wrote.
func TestStatusIsPatchedTwice(t *testing.T) {
	run(t, func(w *world) {
		w.work = func(ctx context.Context, s shop) error {
			if err := w.shops.PatchStatus(ctx, s, func(s *shop) { s.Status.Problem = "working" }); err != nil {
				return err
			}
			return w.shops.PatchStatus(ctx, s, func(s *shop) { s.Status.Problem = "" })
		}
		defer w.operate()()
		w.create(nil)
		if s := w.get(shops); strings.Contains(s, "working") {
			t.Errorf("the second change is not written: %s", s)
		}
	})
}

// Without a status subresource nothing would be written, without a word.
func TestPatchStatusWithoutSubresource(t *testing.T) {
	run(t, func(w *world) {
		var err error
		w.work = func(ctx context.Context, s shop) error {
			err = w.shops.PatchStatus(ctx, s, func(s *shop) { s.Status.Problem = "x" })
			return nil
		}
		d, invalid := crd.Of[shop](shops, crd.Options{})
		if invalid != nil {
			w.Fatal(invalid)
		}
		d.Spec.Versions[0].Subresources = crd.Subresources{}
		if err := crd.Ensure(w.Context(), w.client, crd.EnsureOptions{}, d); err != nil {
			w.Fatal(err)
		}
		defer w.operate()()
		w.create(nil)
		if err == nil || !strings.Contains(err.Error(), "shops.v1.example.com has no status subresource") {
			w.Errorf("PatchStatus returned %v", err)
		}
	})
}

// Services have no generation: each change is one, the deletion too.
func TestOwnersWithoutGenerations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true})
		c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		var seen string
		finalized := false
		op, err := operator.New(c, operator.Options{Name: "x", Setup: func(op *operator.Operator) error {
			operator.For(op, kube.Services, operator.Reconciler[kube.Partial]{
				Reconcile: func(_ context.Context, o kube.Partial) (controller.Result, error) {
					seen = o.Labels["level"]
					return controller.Result{}, nil
				},
				Finalizer: "example.com/x",
				Finalize:  func(context.Context, kube.Partial) (bool, error) { finalized = true; return true, nil },
			})
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- op.Run(ctx) }()
		srv.Put(kube.Services, `{"metadata":{"namespace":"a","name":"x"},"spec":{"ports":[{"port":80}]}}`)
		settle()
		k, all := kube.Key{Namespace: "a", Name: "x"}, client.Of[kube.Partial](c, kube.Services)
		if _, err := all.Patch(ctx, k, client.MergePatch, `{"metadata":{"labels":{"level":"high"}}}`); err != nil {
			t.Fatal(err)
		}
		settle()
		if seen != "high" {
			t.Errorf("the last reconciled state has level %q", seen)
		}
		if err := all.Delete(ctx, k, client.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		settle()
		if left := srv.Get(kube.Services, k); !finalized || left != nil {
			t.Errorf("finalized %v, left %s", finalized, left)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// The status of a Service tells why a child is refused. Each write of it leads to a run at once,
// and so the text of a failure must not change from request to request.
func TestSameFailureIsWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true})
		c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		var requests atomic.Int64
		srv.On(apitest.Match{Verb: "patch", Resource: "configmaps"}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Audit-Id", fmt.Sprint("request-", min(requests.Add(1), 100))) // not forever: no time passes
			faults.Answer(&kube.Status{Code: 500})(w, r)
		})
		op, err := operator.New(c, operator.Options{Name: "x", Setup: func(op *operator.Operator) error {
			var services *operator.Objects[service]
			var maps *operator.Children[kube.Partial, service]
			services = operator.For(op, kube.Services, operator.Reconciler[service]{Reconcile: func(ctx context.Context, o service) (none controller.Result, err error) {
				_, err = maps.Apply(ctx, o, map[string]any{})
				return none, errors.Join(err, services.PatchStatus(ctx, o, func(o *service) {
					o.Status.Conditions = kube.SetCondition(o.Status.Conditions, kube.Condition{Type: "Ready", Status: kube.ConditionFalse, Message: err.Error()})
				}))
			}})
			maps = operator.Owns[kube.Partial](services, kube.ConfigMaps)
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- op.Run(ctx) }()
		srv.Put(kube.Services, `{"metadata":{"namespace":"a","name":"x"},"spec":{"ports":[{"port":80}]}}`)
		<-time.After(time.Second)
		if n := requests.Load(); n < 2 || n > 20 {
			t.Errorf("%d attempts within a second", n)
		}
		writes := 0
		for _, r := range srv.Requests() {
			if r.Verb == "patch" && r.Resource == kube.Services {
				writes++
			}
		}
		if writes != 1 {
			t.Errorf("%d writes of the status", writes)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

type service struct {
	kube.Meta `json:"metadata"`
	Status    struct {
		Conditions []kube.Condition `json:"conditions,omitempty"`
	} `json:"status,omitzero"`
}
