package operator_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/operator"
)

var budgets = kube.Resource{Group: "policy", Version: "v1", Plural: "poddisruptionbudgets", Kind: "PodDisruptionBudget", Namespaced: true}

// A number has the digits that the desired state gives it.
func TestLargeNumbers(t *testing.T) {
	run(t, func(w *world) {
		w.work = func(ctx context.Context, s shop) error {
			_, err := w.maps.Apply(ctx, s, map[string]any{"number": int64(9007199254740993)})
			return err
		}
		w.On(apitest.Match{Verb: "patch", Resource: "configmaps"}, func(rw http.ResponseWriter, r *http.Request) {
			b := make([]byte, 10000)
			n, _ := r.Body.Read(b)
			if !strings.Contains(string(b[:n]), "9007199254740993") {
				t.Errorf("sent %s", b[:n])
			}
			apitest.WriteStatus(rw, apitest.StatusInternal("no"))
		}).Times(1)
		defer w.operate()()
		w.create(nil)
	})
}

// A desired state may have further owners.
func TestOwnReferencesOfDesired(t *testing.T) {
	run(t, func(w *world) {
		w.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"y","uid":"their-uid"}}`)
		w.work = func(ctx context.Context, s shop) error {
			_, err := w.services.Apply(ctx, s, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"y","uid":"their-uid"}]},"spec":{"ports":[{"port":1}]}}`)
			return err
		}
		defer w.operate()()
		w.create(nil)
		w.has(kube.Services, `their-uid`)
		w.has(kube.Services, `"kind":"Shop"`)
	})
}

// Labels and annotations are compared, not their printed form.
func TestAnnotationsAreCompared(t *testing.T) {
	run(t, func(w *world) {
		w.work = func(ctx context.Context, s shop) error {
			_, err := w.budgets.Apply(ctx, s, `{"metadata":{"annotations":{"a":"b","c":"d"}},"spec":{"maxUnavailable":1}}`)
			return err
		}
		defer w.operate()()
		w.create(nil)
		w.change(budgets, `{"metadata":{"annotations":{"a":"b c:d","c":null}}}`)
		w.has(budgets, `"c":"d"`)
	})
}

// Owner references are no part of the generation, but of the desired state.
func TestOwnerReferencesAreCompared(t *testing.T) {
	run(t, func(w *world) {
		w.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"y","uid":"their-uid"}}`)
		w.work = func(ctx context.Context, s shop) error {
			_, err := w.budgets.Apply(ctx, s, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"y","uid":"their-uid"}]},"spec":{"maxUnavailable":1}}`)
			return err
		}
		defer w.operate()()
		w.create(nil)
		budget := client.Of[kube.Partial](w.client, budgets)
		for _, change := range []func(*kube.Partial){
			func(b *kube.Partial) {
				b.OwnerReferences = slices.DeleteFunc(b.OwnerReferences, func(o kube.OwnerReference) bool { return o.UID == "their-uid" })
			},
			func(b *kube.Partial) {
				for i := range b.OwnerReferences {
					b.OwnerReferences[i].BlockOwnerDeletion = nil
				}
			},
		} {
			if _, err := budget.Edit(w.Context(), x, func(b *kube.Partial) error { change(b); return nil }); err != nil {
				t.Fatal(err)
			}
			settle()
			w.has(budgets, `their-uid`)
			w.has(budgets, `"blockOwnerDeletion":true`)
		}
		w.ForgetRequests()
		w.change(shops, `{"spec":{"ports":[1]}}`)
		w.wrote()
	})
}

// The generation of a PriorityClass is 1, whatever changes.
func TestPriorityClassesAreCompared(t *testing.T) {
	classes := kube.Resource{Group: "scheduling.k8s.io", Version: "v1", Plural: "priorityclasses", Kind: "PriorityClass"}
	var children *operator.Children[kube.Partial, fleet]
	sail(t, func(ctx context.Context, _ *operator.Objects[fleet], _ *operator.Children[kube.Partial, fleet], o fleet) error {
		_, err := children.Apply(ctx, o, `{"value":5,"description":"ours"}`)
		return err
	}, func(_ context.Context, srv *apitest.Server, _ *client.Client) {
		srv.Put(fleets, `{"metadata":{"name":"x"}}`)
		settle()
		k := kube.Key{Name: "x"}
		raw, err := codec.ParseRaw(srv.Get(classes, k))
		if err != nil {
			t.Fatal(err)
		}
		srv.Put(classes, strings.Replace(raw.JSON(), "ours", "theirs", 1))
		settle()
		raw, err = codec.ParseRaw(srv.Get(classes, k))
		if err != nil || !strings.Contains(raw.JSON(), `"generation":1,`) || !strings.Contains(raw.JSON(), "ours") {
			t.Errorf("%v: %s", err, raw.JSON())
		}
	}, func(all *operator.Objects[fleet]) { children = operator.Owns[kube.Partial](all, classes) })
}

// A second document would be ignored without a word.
func TestDesiredStateIsOneValue(t *testing.T) {
	run(t, func(w *world) {
		var err error
		w.work = func(ctx context.Context, s shop) error {
			_, err = w.maps.Apply(ctx, s, `{"data":{"a":"b"}}{"data":{"c":"d"}}`)
			return nil
		}
		defer w.operate()()
		w.create(nil)
		if err == nil || !strings.Contains(err.Error(), "more than one JSON value") {
			w.Errorf("Apply returned %v", err)
		}
	})
}

// Another name would be used without a word.
func TestDesiredStateHasMetadataOfItsTypes(t *testing.T) {
	for _, metadata := range []string{`"x"`, `["x"]`, `{"name":7}`, `{"namespace":["a"]}`} {
		run(t, func(w *world) {
			var err error
			w.work = func(ctx context.Context, s shop) error {
				_, err = w.maps.Apply(ctx, s, `{"metadata":`+metadata+`}`)
				return nil
			}
			defer w.operate()()
			w.create(nil)
			if err == nil || !strings.Contains(err.Error(), "of the desired state is no") {
				w.Errorf("Apply of metadata %s returned %v", metadata, err)
			}
		})
	}
}

// The copy of another object has members of the metadata that belong to that.
func TestDesiredStateIsACopyOfAnotherObject(t *testing.T) {
	run(t, func(w *world) {
		w.work = func(ctx context.Context, s shop) error {
			_, err := w.maps.Apply(ctx, s, `{"metadata":{"uid":"theirs","resourceVersion":"7","generation":4,"creationTimestamp":"2001-01-01T00:00:00Z","managedFields":[{}]},"data":{"a":"ours"}}`)
			return err
		}
		defer w.operate()()
		w.create(nil)
		w.has(kube.ConfigMaps, "ours")
		w.change(kube.ConfigMaps, `{"data":{"a":"changed"}}`)
		w.has(kube.ConfigMaps, "ours")
	})
}

// The child would be written to the namespace that is watched, and not be found in the cache.
func TestDesiredStateHasANamespace(t *testing.T) {
	for _, watched := range []string{"", "a"} {
		synctest.Test(t, func(t *testing.T) {
			srv := apitest.NewWith(t, apitest.Options{InMemory: true})
			c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseIdleConnections()
			op, err := operator.New(c, operator.Options{Name: "fleet", Watched: watched, Setup: func(op *operator.Operator) error {
				op.Define(crd.Of[fleet](fleets, crd.Options{}))
				maps := operator.Owns[kube.Partial](operator.For(op, fleets, operator.Reconciler[fleet]{
					Reconcile: func(context.Context, fleet) (none controller.Result, err error) { return none, nil },
				}), kube.ConfigMaps)
				owner := fleet{Meta: kube.Meta{Name: "x", UID: "x"}}
				if _, err := maps.Apply(t.Context(), owner, `{}`); err == nil || !strings.Contains(err.Error(), "no namespace") {
					t.Errorf("Apply with Watched %q returned %v", watched, err)
				}
				return nil
			}})
			if err != nil || len(op.Definitions()) != 1 || len(srv.Requests()) != 0 {
				t.Error(err, srv.Requests())
			}
		})
	}
}
