package operator_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
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
