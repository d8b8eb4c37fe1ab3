package webhooktest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/connect"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/webhook"
	"github.com/listwatch/listwatch/webhook/webhooktest"
)

type configMap struct {
	kube.Meta `json:"metadata"`
	Data      map[string]string `json:"data,omitempty"`
}

// A test of a webhook: the fake server asks it about each write.
func ExampleAdmit() {
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
	hooks, err := webhook.New(c, webhook.Options{Secret: kube.Key{Namespace: "shop", Name: "hooks"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	webhook.Validate(hooks, kube.ConfigMaps, webhook.Rule{}, func(_ context.Context, r *webhook.Request[configMap]) error {
		if r.Object.Data["color"] == "" {
			return &webhook.FieldError{Field: "data.color", Reason: webhook.Required}
		}
		return nil
	})
	remove := webhooktest.Admit(srv, hooks)
	defer remove()

	maps := client.Of[configMap](c, kube.ConfigMaps).In("shop")
	_, err = maps.Create(context.Background(), configMap{Meta: kube.Meta{Name: "paint"}})
	var refused *kube.Status
	if errors.As(err, &refused) {
		fmt.Println(refused.Message)
	}
	_, err = maps.Create(context.Background(), configMap{Meta: kube.Meta{Name: "paint"}, Data: map[string]string{"color": "red"}})
	fmt.Println(err)
	// Output:
	// admission webhook "validate.configmaps.core" denied the request: ConfigMap "paint" is invalid: data.color: Required value
	// <nil>
}

// Two versions of a resource: the newer one has a unit, which the older one keeps in an
// annotation.
type oldBox struct {
	kube.Meta `json:"metadata"`
	Size      int `json:"size"`
}

type newBox struct {
	kube.Meta `json:"metadata"`
	Size      int    `json:"size"`
	Unit      string `json:"unit,omitempty"`
}

func toNew(o oldBox) (newBox, error) { return newBox{Meta: o.Meta, Size: o.Size}, nil }

func toOld(n newBox) (oldBox, error) { return oldBox{Meta: n.Meta, Size: n.Size}, nil }

// printer prints what a test reports.
type printer struct{}

func (printer) Helper()                           {}
func (printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func ExampleRoundTrip() {
	webhooktest.RoundTrip(printer{}, toNew, toOld, webhooktest.Options[newBox, oldBox]{})
	// Output:
	// from the hub to the spoke and back, object 0 of seed 0: members differ:
	// 	unit: "s470", then nothing
}
