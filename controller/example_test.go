package controller_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/manager"
)

// Foo is a custom resource: its struct is all that is needed.
type Foo struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Size int `json:"size"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase,omitempty"`
	} `json:"status"`
}

var foos = kube.Resource{Group: "example.com", Version: "v1", Plural: "foos", Kind: "Foo", Namespaced: true}

// A controller in the steps that most have: fetch, validate, initialise, clean up,
// act, update the status.
func Example() {
	srv, err := apitest.Start(apitest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.AddResource(apitest.ResourceInfo{Resource: foos, Status: true})
	srv.Put(foos, `{"metadata":{"namespace":"a","name":"web"},"spec":{"size":3}}`)

	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	const finalizer = "example.com/cleanup"
	all := client.Of[Foo](c, foos)
	informer := cache.New(all, cache.Options[Foo]{})

	reconcile := func(ctx context.Context, key kube.Key) (controller.Result, error) {
		foo, ok := informer.Store().Get(key) // fetch: what is cached is shared, so do not change it
		if !ok {
			return controller.Result{}, nil // gone: nothing is left to do
		}
		if foo.Spec.Size < 1 { // validate: only a change of the object can mend it
			return controller.Result{}, controller.Permanent(errors.New("spec.size must be positive"))
		}
		if foo.DeletionTimestamp != nil { // clean up what is outside of the cluster, then let it go
			_, err := all.Edit(ctx, key, func(f *Foo) error { f.RemoveFinalizer(finalizer); return nil })
			fmt.Println("cleaned up after", key)
			return controller.Result{}, err
		}
		if foo.AddFinalizer(finalizer) { // initialise: on a copy of its own, in a new slice
			_, err := all.Edit(ctx, key, func(f *Foo) error { f.AddFinalizer(finalizer); return nil })
			return controller.Result{}, err // the change brings the key again
		}
		if foo.Status.Phase != "Ready" { // act, then say so
			fmt.Println("made", key, "of size", foo.Spec.Size)
			_, err := all.PatchStatus(ctx, key, map[string]string{"phase": "Ready"})
			return controller.Result{}, err
		}
		return controller.Result{}, nil
	}
	ctl := controller.New("foo", reconcile, controller.Options[kube.Key]{Workers: 2, Timeout: 30 * time.Second})
	controller.For(ctl, informer)

	m := manager.New(manager.Options{})
	m.Add(informer)
	m.AddLed(ctl)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	informer.Handle(func(d cache.Delta[Foo]) {
		switch {
		case d.Type == "DELETED":
			cancel()
		case d.New.Status.Phase == "Ready" && d.New.DeletionTimestamp == nil:
			go all.Delete(ctx, d.Key, client.DeleteOptions{})
		}
	})
	fmt.Println(m.Run(ctx))
	// Output:
	// made a/web of size 3
	// cleaned up after a/web
	// <nil>
}
