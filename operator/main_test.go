package operator

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/webhook"
)

// A Manager stops webhook servers before the informers: see manager.Manager.Add.
var _ interface{ StopsFirst() } = (*webhook.Server)(nil)

type thing struct {
	kube.Meta `json:"metadata"`
}

var things = kube.Resource{Group: "example.com", Version: "v1", Plural: "things", Kind: "Thing", Namespaced: true}

func options() Options {
	return Options{Name: "thing", Setup: func(op *Operator) error {
		op.Define(crd.Of[thing](things, crd.Options{}))
		webhook.Validate(op.Webhooks(), things, webhook.Rule{}, func(context.Context, *webhook.Request[thing]) error { return nil })
		For(op, things, Reconciler[thing]{Reconcile: func(context.Context, thing) (none controller.Result, err error) { return none, nil }})
		return nil
	}}
}

// The definitions are printed without a cluster, and in the namespace of the program.
func TestPrint(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	o := options()
	o.Namespace = "shop"
	var out bytes.Buffer
	if err := start(t.Context(), o, "", true, nil, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kind: CustomResourceDefinition", "kind: ValidatingWebhookConfiguration", "name: thing-webhook", "namespace: shop"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("without %q:\n%s", want, out.String())
		}
	}
	if err := start(t.Context(), o, "", false, nil, os.Stdout); err == nil {
		t.Error("it runs without a cluster")
	}
}

// The package flag ends at "-leader-elect true -namespace a" with the word true.
func TestArgumentsAreRefused(t *testing.T) {
	err := start(t.Context(), options(), "", true, []string{"true", "-namespace", "a"}, os.Stdout)
	if err == nil || !strings.Contains(err.Error(), `"true"`) {
		t.Error(err)
	}
}
