package manager_test

import (
	"context"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/manager"
)

// Greeting is a custom resource. Nothing is generated.
type Greeting struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Text string `json:"text"`
	} `json:"spec"`
}

var greetings = kube.Resource{Group: "example.com", Version: "v1", Plural: "greetings", Kind: "Greeting", Namespaced: true}

// newOperator keeps a ConfigMap for each Greeting.
func newOperator(c *client.Client) *manager.Manager {
	texts := cache.New(client.Of[Greeting](c, greetings), cache.Options[Greeting]{})
	maps := cache.New(client.Of[ConfigMap](c, kube.ConfigMaps), cache.Options[ConfigMap]{})
	ctl := controller.New("greeting", func(ctx context.Context, key kube.Key) (controller.Result, error) {
		greeting, ok := texts.Store().Get(key)
		if !ok || greeting.DeletionTimestamp != nil {
			return controller.Result{}, nil // the garbage collector deletes the ConfigMap
		}
		_, _, err := client.Of[ConfigMap](c, kube.ConfigMaps).CreateOrUpdate(ctx, key, func(m *ConfigMap) error {
			m.Data = map[string]string{"text": greeting.Spec.Text}
			return m.SetControllerReference(greetings, greeting) // fails if another controller owns it
		})
		return controller.Result{}, err // an error retries the key, with growing delays
	}, controller.Options[kube.Key]{Workers: 2})
	controller.For(ctl, texts, controller.GenerationChanged)
	controller.Owns(ctl, greetings, maps) // runs again when somebody edits or deletes the ConfigMap

	m := manager.New(manager.Options{Signals: true})
	m.Add(texts, maps)
	m.AddLed(ctl)
	return m
}

// An operator in forty lines, and what it does when somebody edits its ConfigMap.
func Example_operator() {
	srv, err := apitest.Start(apitest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.AddResource(apitest.ResourceInfo{Resource: greetings})
	srv.Put(greetings, `{"metadata":{"namespace":"a","name":"hello"},"spec":{"text":"Hello, world"}}`)
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	followed := cache.New(client.Of[ConfigMap](c, kube.ConfigMaps), cache.Options[ConfigMap]{})
	edited := false
	followed.Handle(func(d cache.Delta[ConfigMap]) {
		fmt.Println(d.Type, d.Key, d.New.Data["text"])
		switch {
		case !edited:
			edited = true
			go client.Of[ConfigMap](c, kube.ConfigMaps).Patch(ctx, d.Key, client.MergePatch, `{"data":{"text":"spam"}}`)
		case d.New.Data["text"] != "spam":
			stop()
		}
	})
	done := make(chan error)
	go func() { done <- followed.Run(ctx) }()
	fmt.Println(newOperator(c).Run(ctx))
	<-done
	// Output:
	// ADDED a/hello Hello, world
	// MODIFIED a/hello spam
	// MODIFIED a/hello Hello, world
	// <nil>
}

// A test of an operator finds reconcilers that change objects of a cache.
func ExampleOptions_detectMutations() {
	srv, err := apitest.Start(apitest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"settings"},"data":{"level":"info"}}`)
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	maps := cache.New(client.Of[ConfigMap](c, kube.ConfigMaps), cache.Options[ConfigMap]{})
	ctl := controller.New("level", func(_ context.Context, key kube.Key) (controller.Result, error) {
		settings, _ := maps.Store().Get(key)
		settings.Data["level"] = "debug" // of a map that all readers share: kube.Clone is missing
		stop()
		return controller.Result{}, nil
	}, controller.Options[kube.Key]{})
	controller.For(ctl, maps)

	m := manager.New(manager.Options{DetectMutations: true})
	m.Add(maps)
	m.AddLed(ctl)
	fmt.Println(m.Run(ctx))
	// Output:
	// manager: the program changed objects of a cache, which all readers share: a/settings .data.level of informer configmaps
}
