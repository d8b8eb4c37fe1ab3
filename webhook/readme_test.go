package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/connect"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/webhook"
	"github.com/listwatch/listwatch/webhook/webhooktest"
)

type Greeting struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Text string `json:"text" crd:"min=1,max=80,immutable" column:"Text"`
		Tone string `json:"tone" crd:"enum=loud|soft,default=soft" desc:"How it is said."`
	} `json:"spec"`
}

// install installs the definition of Greetings, and returns the webhooks: m.Add(hooks).
func install(ctx context.Context, c *client.Client) (*webhook.Server, error) {
	def, err := crd.Of[Greeting](greetings, crd.Options{ShortNames: []string{"gr"}})
	if err != nil {
		return nil, err // names each member that kube-apiserver would refuse
	}
	if err := crd.Ensure(ctx, c, crd.EnsureOptions{}, def); err != nil {
		return nil, err
	}
	hooks, err := webhook.New(c, webhook.Options{Secret: kube.Key{Namespace: "shop", Name: "greetings-webhook"}})
	if err != nil {
		return nil, err
	}
	webhook.Validate(hooks, greetings, webhook.Rule{}, func(_ context.Context, r *webhook.Request[Greeting]) error {
		if text := r.Object.Spec.Text; strings.TrimSpace(text) != text {
			return &webhook.FieldError{Field: "spec.text", Message: "must not begin or end with a space"}
		}
		return nil
	})
	return hooks, nil
}

// README.md shows install and Greeting.
func Example_definition() {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	c, err := client.New(connect.Config(srv))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.CloseIdleConnections()
	hooks, err := install(context.Background(), c)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer webhooktest.Admit(srv, hooks)()

	g := Greeting{Meta: kube.Meta{Namespace: "shop", Name: "hello"}}
	for _, text := range []string{"", "Hello ", "Hello"} {
		g.Spec.Text, g.Spec.Tone = text, "soft"
		_, err := client.Of[Greeting](c, greetings).Create(context.Background(), g)
		var refused *kube.Status
		if errors.As(err, &refused) {
			fmt.Println(refused.Message)
		} else {
			fmt.Println(err)
		}
	}
	// Output:
	// Greeting.example.com "hello" is invalid: spec.text: Invalid value: "": spec.text in body should be at least 1 chars long
	// admission webhook "validate.greetings.example.com" denied the request: Greeting.example.com "hello" is invalid: spec.text: Invalid value: must not begin or end with a space
	// <nil>
}
