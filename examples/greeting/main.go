// Command greeting is the operator of docs/first-operator.md: it maintains a ConfigMap with
// the text of each Greeting. The page explains it, and how its test works.
//
//	go run ./examples/greeting -print | kubectl apply -f -
//	go run ./examples/greeting
package main

import (
	"context"
	"flag"
	"log"
	"log/slog"
	"os"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/manager"
)

// Greeting requests a ConfigMap with a text.
type Greeting struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Text string `json:"text" crd:"min=1,max=100" column:"Text"`
	} `json:"spec"`
	Status struct {
		Conditions []kube.Condition `json:"conditions,omitempty" crd:"listType=map,listMapKey=type"`
	} `json:"status,omitzero"`
}

var greetings = kube.Resource{Group: "example.com", Version: "v1", Plural: "greetings", Kind: "Greeting", Namespaced: true}

// definition returns the CustomResourceDefinition.
func definition() (*crd.Definition, error) {
	return crd.Of[Greeting](greetings, crd.Options{})
}

// ConfigMap has the members that the operator sets. Writes keep the others.
type ConfigMap struct {
	kube.Meta `json:"metadata"`
	Data      map[string]string `json:"data,omitempty"`
}

// operator maintains a ConfigMap for each Greeting.
type operator struct {
	client     *client.Client
	greetings  *cache.Informer[Greeting]
	maps       *cache.Informer[ConfigMap]
	controller *controller.Controller[kube.Key]
}

// reconcile brings the ConfigMap in line with the Greeting. It reads the current state,
// whatever has changed.
func (o *operator) reconcile(ctx context.Context, key kube.Key) (none controller.Result, err error) {
	g, ok := o.greetings.Store().Get(key) // shared: it must not be modified
	if !ok || g.DeletionTimestamp != nil {
		return none, nil // the garbage collector deletes the ConfigMap
	}
	maps := controller.Awaited(o.controller, key, client.Of[ConfigMap](o.client, kube.ConfigMaps), o.maps)
	_, _, err = controller.Ensure(ctx, maps, o.maps.Store(), key, func(m *ConfigMap) error {
		m.Data = map[string]string{"text": g.Spec.Text}
		return m.SetControllerReference(greetings, g) // fails if it belongs to another object
	})
	if err != nil {
		return none, err // the key runs again, after delays that grow
	}
	now := g
	now.Status.Conditions = kube.SetCondition(g.Status.Conditions, kube.Condition{
		Type: "Ready", Status: kube.ConditionTrue, Reason: "Written", ObservedGeneration: g.Generation,
	})
	status := controller.Awaited(o.controller, key, client.Of[Greeting](o.client, greetings), o.greetings)
	_, err = status.With(client.WriteOptions{Whole: true}).PatchStatusFrom(ctx, g, now, client.PatchOptions{}) // sends nothing if nothing has changed
	return none, err
}

// newManager returns the operator.
func newManager(c *client.Client, mo manager.Options) *manager.Manager {
	o := &operator{
		client:    c,
		greetings: cache.New(client.Of[Greeting](c, greetings), cache.Options[Greeting]{}),
		maps:      cache.New(client.Of[ConfigMap](c, kube.ConfigMaps), cache.Options[ConfigMap]{}),
	}
	o.controller = controller.New("greeting", o.reconcile, controller.Options[kube.Key]{Workers: 2})
	controller.For(o.controller, o.greetings, controller.GenerationChanged)
	controller.Owns(o.controller, greetings, o.maps) // runs again when somebody edits or deletes it
	m := manager.New(mo)
	m.Add(o.greetings, o.maps)
	m.AddLed(o.controller)
	return m
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file; by default as kubectl finds it, or the pod's service account")
	printed := flag.Bool("print", false, "print the CustomResourceDefinition, and end")
	flag.Parse()
	if *printed {
		def, err := definition()
		exitOn(err)
		text, err := def.YAML()
		exitOn(err)
		_, err = os.Stdout.Write(text)
		exitOn(err)
		return
	}
	cfg, err := config.Load(config.Options{Path: *kubeconfig})
	exitOn(err)
	c, err := client.New(cfg.Client)
	exitOn(err)
	exitOn(newManager(c, manager.Options{Signals: true, Logger: slog.Default()}).Run(context.Background()))
}

func exitOn(err error) {
	if err != nil {
		log.Fatalln("greeting:", err)
	}
}
