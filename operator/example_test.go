package operator_test

import (
	"context"
	"fmt"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/operator"
	"github.com/listwatch/listwatch/watch"
)

// Greeting requests a ConfigMap with a text.
type Greeting struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Text string `json:"text"`
	} `json:"spec"`
	Status struct {
		Conditions []kube.Condition `json:"conditions,omitempty"`
	} `json:"status,omitzero"`
}

var greetings = kube.Resource{Group: "example.com", Version: "v1", Plural: "greetings", Kind: "Greeting", Namespaced: true}

// app maintains a ConfigMap for each Greeting.
type app struct {
	greetings *operator.Objects[Greeting]
	maps      *operator.Children[kube.Partial, Greeting]
}

func (a *app) setup(op *operator.Operator) error {
	op.Define(crd.Of[Greeting](greetings, crd.Options{}))
	a.greetings = operator.For(op, greetings, operator.Reconciler[Greeting]{Reconcile: a.reconcile})
	a.maps = operator.Owns[kube.Partial](a.greetings, kube.ConfigMaps)
	return nil
}

func (a *app) reconcile(ctx context.Context, g Greeting) (controller.Result, error) {
	if _, err := a.maps.Apply(ctx, g, map[string]any{"data": map[string]string{"text": g.Spec.Text}}); err != nil {
		return controller.Result{}, err
	}
	return controller.Result{}, a.greetings.PatchStatus(ctx, g, func(g *Greeting) {
		g.Status.Conditions = kube.SetCondition(g.Status.Conditions, kube.Condition{Type: "Ready", Status: kube.ConditionTrue, Reason: "Written"})
	})
}

// A program calls Main with these Options; a test runs what New returns.
func Example() {
	srv, err := apitest.Start(apitest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	op, err := operator.New(c, operator.Options{Name: "greeting", Setup: new(app).setup})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := crd.Ensure(ctx, c, crd.EnsureOptions{}, op.Definitions()...); err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan error)
	go func() { done <- op.Run(ctx) }()

	all := client.Of[Greeting](c, greetings)
	g := Greeting{Meta: kube.Meta{Namespace: "a", Name: "x"}}
	g.Spec.Text = "hello"
	if _, err := all.Create(ctx, g); err != nil {
		fmt.Println(err)
		return
	}
	g, err = watch.Until(ctx, all, kube.KeyOf(g), func(g Greeting, ok bool) (bool, error) { return len(g.Status.Conditions) > 0, nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g.Status.Conditions[0].Type, g.Status.Conditions[0].Status)
	cancel()
	fmt.Println(<-done)
	// Output:
	// Ready True
	// <nil>
}
