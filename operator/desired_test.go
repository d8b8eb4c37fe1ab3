package operator_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/operator"
)

var budgets = kube.Resource{Group: "policy", Version: "v1", Plural: "poddisruptionbudgets", Kind: "PodDisruptionBudget", Namespaced: true}

// A number has the digits that the desired state gives it.
func TestLargeNumbers(t *testing.T) {
	run(t, func(w *world) {
		w.work = func(ctx context.Context, s shop) error {
			_, err := w.maps.Apply(ctx, s, map[string]any{"metadata": map[string]any{"generation": int64(9007199254740993)}})
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
