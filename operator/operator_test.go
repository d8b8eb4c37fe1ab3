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

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/manager"
	"github.com/listwatch/listwatch/operator"
)

var shops = kube.Resource{Group: "example.com", Version: "v1", Plural: "shops", Kind: "Shop", Namespaced: true}

type shop struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Ports []int    `json:"ports,omitempty"`
		Maps  []string `json:"maps,omitempty"`
	} `json:"spec"`
	Status struct {
		Problem string `json:"problem,omitempty"`
	} `json:"status,omitzero"`
}

// world is an operator of shops on a fake server. A shop has a Service with ports, and
// ConfigMaps.
type world struct {
	*testing.T
	*apitest.Server
	client   *client.Client
	shops    *operator.Objects[shop]
	services *operator.Children[kube.Partial, shop]
	maps     *operator.Children[kube.Partial, shop]
	budgets  *operator.Children[kube.Partial, shop]
	runs     atomic.Int32
	held     atomic.Bool // Finalize is not done

	work func(context.Context, shop) error // instead of the usual
}

var x = kube.Key{Namespace: "a", Name: "x"}

func run(t *testing.T, story func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, Server: apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true})}
		c, err := client.New(client.Config{Server: w.URL, Dial: w.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		w.client = c
		op, err := operator.New(c, operator.Options{Name: "shop", Setup: w.setup})
		if err != nil {
			t.Fatal(err)
		}
		if err := crd.Ensure(t.Context(), c, crd.EnsureOptions{}, op.Definitions()...); err != nil {
			t.Fatal(err)
		}
		w.ForgetRequests()
		story(w)
	})
}

func (w *world) setup(op *operator.Operator) error {
	op.Define(crd.Of[shop](shops, crd.Options{}))
	w.shops = operator.For(op, shops, operator.Reconciler[shop]{Reconcile: w.reconcile, Finalizer: "example.com/shop", Finalize: w.finalize})
	w.services = operator.Owns[kube.Partial](w.shops, kube.Services)
	w.maps = operator.Owns[kube.Partial](w.shops, kube.ConfigMaps)
	w.budgets = operator.Owns[kube.Partial](w.shops, budgets)
	return nil
}

func (w *world) reconcile(ctx context.Context, s shop) (none controller.Result, err error) {
	w.runs.Add(1)
	if w.work != nil {
		return none, w.work(ctx, s)
	}
	var ports []map[string]any
	for _, p := range s.Spec.Ports {
		ports = append(ports, map[string]any{"name": "p", "port": p})
	}
	_, err = w.services.Apply(ctx, s, map[string]any{"spec": map[string]any{"ports": ports}})
	if errors.Is(err, operator.ErrForeign) {
		return none, w.shops.PatchStatus(ctx, s, func(s *shop) { s.Status.Problem = "foreign" })
	} else if err != nil {
		return none, err
	}
	for _, name := range s.Spec.Maps {
		if _, err := w.maps.Create(ctx, s, `{"metadata":{"name":"`+name+`"},"data":{"run":"`+fmt.Sprint(w.runs.Load())+`"}}`); err != nil {
			return none, err
		}
	}
	if _, err := w.maps.Prune(ctx, s, client.DeleteOptions{}, s.Spec.Maps...); err != nil {
		return none, err
	}
	return none, w.shops.PatchStatus(ctx, s, func(s *shop) { s.Status.Problem = "" })
}

func (w *world) finalize(context.Context, shop) (bool, error) { return !w.held.Load(), nil }

// operate runs the operator, and returns what stops it.
func (w *world) operate() (stop func()) {
	w.Helper()
	op, err := operator.New(w.client, operator.Options{Name: "shop", Setup: w.setup, Manager: manager.Options{DetectMutations: true}})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan error)
	go func() { done <- op.Run(ctx) }()
	return func() {
		w.Helper()
		cancel()
		if err := <-done; err != nil {
			w.Error(err)
		}
	}
}

func settle() {
	<-time.After(20 * time.Second)
	synctest.Wait() // for the race detector
}

func (w *world) create(change func(*shop)) {
	w.Helper()
	s := shop{Meta: kube.Meta{Namespace: "a", Name: "x"}}
	s.Spec.Ports = []int{80}
	if change != nil {
		change(&s)
	}
	if _, err := client.Of[shop](w.client, shops).Create(w.Context(), s); err != nil {
		w.Fatal(err)
	}
	settle()
}

// writes returns and forgets the writes of the operator.
func (w *world) writes() (all []string) {
	for _, r := range w.Requests() {
		if r.Query.Get("fieldManager") == "shop-operator" && r.Subresource == "" {
			all = append(all, r.Verb+" "+r.Resource.Plural)
		}
	}
	w.ForgetRequests()
	return all
}

func (w *world) wrote(want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.writes()); diff != "" {
		w.Errorf("writes (-want +got):\n%s", diff)
	}
}

func (w *world) get(r kube.Resource) string {
	w.Helper()
	b := w.Get(r, x)
	if b == nil {
		return ""
	}
	raw, err := codec.ParseRaw(b)
	if err != nil {
		w.Fatal(err)
	}
	return raw.JSON()
}

func (w *world) change(r kube.Resource, patch string) {
	w.Helper()
	if _, err := client.Of[codec.Raw](w.client, r).Patch(w.Context(), x, client.MergePatch, patch); err != nil {
		w.Fatal(err)
	}
	settle()
}

func (w *world) has(r kube.Resource, want string) {
	w.Helper()
	if got := w.get(r); !strings.Contains(got, want) {
		w.Errorf("%s: %s does not contain %s", r.Kind, got, want)
	}
}

// A child is applied once, and again when somebody or the owner changes it; a process that
// starts applies it once.
func TestApplySendsWhatHasChanged(t *testing.T) {
	run(t, func(w *world) {
		stop := w.operate()
		w.create(nil)
		w.wrote("patch shops", "patch services") // the finalizer first
		w.has(kube.Services, `"port":80`)
		w.change(shops, `{"metadata":{"labels":{"a":"b"}}}`)
		w.change(shops, `{"spec":{"maps":[]}}`) // it runs
		w.wrote()
		w.change(kube.Services, `{"spec":{"type":"NodePort"},"metadata":{"labels":{"c":"d"}}}`)
		w.wrote("patch services") // which changes nothing: type and labels are theirs
		w.change(kube.Services, `{"spec":{"ports":[{"name":"q","port":80}]}}`)
		w.wrote("patch services")
		w.has(kube.Services, `"name":"p"`)
		w.change(shops, `{"spec":{"ports":[443]}}`)
		w.wrote("patch services")
		w.has(kube.Services, `"port":443`)
		w.Server.Delete(kube.Services, x)
		settle()
		w.wrote("patch services")
		w.has(kube.Services, `"port":443`)
		stop()
		defer w.operate()()
		settle()
		w.wrote("patch services")
	})
}

// Somebody changes the key of an element of a list: apply alone would keep theirs beside
// the desired one, which the server refuses, here for its name.
func TestApplyReplacesAnElementWithAnotherKey(t *testing.T) {
	run(t, func(w *world) {
		defer w.operate()()
		w.create(nil)
		w.change(kube.Services, `{"spec":{"ports":[{"name":"p","port":1}]}}`)
		w.has(kube.Services, `"port":80`)
		if s := w.get(kube.Services); strings.Contains(s, `"port":1,`) {
			t.Errorf("their port is left: %s", s)
		}
		w.change(shops, `{"spec":{"ports":[443]}}`) // the members of the replacement have no second owner
		if s := w.get(kube.Services); strings.Contains(s, `"port":80`) || !strings.Contains(s, `"port":443`) {
			t.Errorf("the previous port is left: %s", s)
		}
	})
}

// What others made is not changed, whether the cache shows it or not, and the owner is
// reconciled when it is gone.
func TestApplyRefusesWhatBelongsToOthers(t *testing.T) {
	const foreign = `{"metadata":{"namespace":"a","name":"x"},"spec":{"ports":[{"port":7}]}}`
	for name, put := range map[string]func(w *world){
		"shown": func(w *world) { w.Put(kube.Services, foreign) },
		"created in between": func(w *world) {
			w.On(apitest.Match{Verb: "patch", Resource: "services"}, func(rw http.ResponseWriter, r *http.Request) {
				w.Put(kube.Services, foreign)
				apitest.Continue(rw, r)
			}).Times(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				put(w)
				defer w.operate()()
				w.create(nil)
				w.has(kube.Services, `"port":7`)
				if s := w.get(kube.Services); strings.Contains(s, "ownerReferences") {
					t.Errorf("it is adopted: %s", s)
				}
				w.has(shops, `"problem":"foreign"`)
				w.writes()
				settle()
				w.wrote()
				w.Server.Delete(kube.Services, x)
				settle()
				w.has(kube.Services, `"port":80`)
				if s := w.get(shops); strings.Contains(s, "problem") {
					t.Errorf("the problem is left: %s", s)
				}
			})
		})
	}
}

func TestCreateAndPrune(t *testing.T) {
	run(t, func(w *world) {
		defer w.operate()()
		w.create(func(s *shop) { s.Spec.Maps = []string{"m", "n"} })
		w.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"o"}}`)
		w.change(shops, `{"spec":{"maps":["m"]}}`)
		list, _ := w.List(kube.ConfigMaps)
		var names []string
		for _, b := range list {
			raw, err := codec.ParseRaw(b)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, raw.GetName())
			if raw.GetName() == "m" && !strings.Contains(raw.JSON(), `"run":"1"`) {
				t.Errorf("it was changed after its creation: %s", raw.JSON())
			}
		}
		if diff := cmp.Diff([]string{"m", "o"}, names); diff != "" {
			t.Errorf("ConfigMaps (-want +got):\n%s", diff)
		}
	})
}

func TestFinalizerIsHeld(t *testing.T) {
	run(t, func(w *world) {
		defer w.operate()()
		w.held.Store(true)
		w.create(nil)
		w.has(shops, `"finalizers":["example.com/shop"]`)
		if err := client.Of[shop](w.client, shops).Delete(w.Context(), x, client.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		settle()
		runs := w.runs.Load()
		w.has(shops, "deletionTimestamp")
		w.held.Store(false)
		w.change(kube.Services, `{"metadata":{"labels":{"c":"d"}}}`)
		if s := w.get(shops); s != "" {
			t.Errorf("the shop is left: %s", s)
		}
		if w.runs.Load() != runs {
			t.Error("Reconcile got an object that is being deleted")
		}
	})
}

func TestNewRefuses(t *testing.T) {
	broken := errors.New("broken")
	for name, o := range map[string]operator.Options{
		"no Name":    {Setup: func(*operator.Operator) error { return nil }},
		"no Setup":   {Name: "a"},
		"broken":     {Name: "a", Setup: func(*operator.Operator) error { return broken }},
		"definition": {Name: "a", Setup: func(op *operator.Operator) error { op.Define(crd.Of[shop](kube.Resource{}, crd.Options{})); return nil }},
	} {
		if _, err := operator.New(new(client.Client), o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
