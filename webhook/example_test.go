package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/connect"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/webhook"
	"github.com/listwatch/listwatch/webhook/webhooktest"
)

// deployment has the members that the webhooks know. The others are kept.
type deployment struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Replicas int `json:"replicas"`
	} `json:"spec"`
}

// A webhook that sets a label, and one that limits replicas. In a cluster, a manager runs
// hooks; here the fake server calls them.
func Example() {
	srv, err := apitest.Start(apitest.Options{InMemory: true, NoValidation: true})
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
	hooks, err := webhook.New(c, webhook.Options{Secret: kube.Key{Namespace: "shop", Name: "limits"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	webhook.Mutate(hooks, kube.Deployments, webhook.Rule{}, func(_ context.Context, r *webhook.Request[deployment]) error {
		if r.Object.Labels == nil {
			r.Object.Labels = make(map[string]string)
		}
		r.Object.Labels["checked"] = "yes"
		return nil
	})
	webhook.Validate(hooks, kube.Deployments, webhook.Rule{}, func(_ context.Context, r *webhook.Request[deployment]) error {
		if r.Object.Spec.Replicas > 10 {
			return &webhook.FieldError{Field: "spec.replicas", Message: "must not exceed 10"}
		}
		return nil
	})
	defer webhooktest.Admit(srv, hooks)()

	web := deployment{Meta: kube.Meta{Namespace: "shop", Name: "web"}}
	web.Spec.Replicas = 3
	stored, err := client.Of[deployment](c, kube.Deployments).Create(context.Background(), web)
	fmt.Println(stored.Labels, err)
	stored.Spec.Replicas = 30
	_, err = client.Of[deployment](c, kube.Deployments).Update(context.Background(), stored)
	var refused *kube.Status
	if errors.As(err, &refused) {
		for _, cause := range refused.Details.Causes {
			fmt.Printf("%s: %s\n", cause.Field, cause.Message)
		}
	}
	// Output:
	// map[checked:yes] <nil>
	// spec.replicas: Invalid value: must not exceed 10
}

// box is the version v1 of a resource, which is stored; boxBeta is v1beta1, where the size
// was a text.
type box struct {
	kube.Meta `json:"metadata"`
	Size      int `json:"size"`
}

type boxBeta struct {
	kube.Meta `json:"metadata"`
	Size      string `json:"size"`
}

func ExampleConvert() {
	boxes := kube.Resource{Group: "example.com", Version: "v1", Plural: "boxes", Kind: "Box", Namespaced: true}
	hooks, err := webhook.New(nil, webhook.Options{Name: "boxes", Service: kube.Key{Namespace: "shop", Name: "boxes"}, CertFile: "tls.crt", KeyFile: "tls.key"})
	if err != nil {
		fmt.Println(err)
		return
	}
	webhook.Convert(hooks, boxes, "v1beta1",
		func(b boxBeta) (box, error) {
			n, err := strconv.Atoi(b.Size)
			return box{Meta: b.Meta, Size: n}, err
		},
		func(b box) (boxBeta, error) { return boxBeta{Meta: b.Meta, Size: strconv.Itoa(b.Size)}, nil })

	// Its place in the definition.
	def, err := crd.Of[box](boxes, crd.Options{Also: []crd.Version{crd.VersionOf[boxBeta]("v1beta1", crd.VersionOptions{})}})
	if err != nil {
		fmt.Println(err)
		return
	}
	def.Spec.Conversion = hooks.Conversion(boxes)
	fmt.Println(def.Spec.Conversion.Webhook["clientConfig"])
	// Output: map[service:map[name:boxes namespace:shop path:/convert/boxes.example.com port:443]]
}
