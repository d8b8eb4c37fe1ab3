package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/manager"
)

var x = kube.Key{Namespace: "a", Name: "x"}

// run runs the operator on a fake server in memory, in virtual time.
func run(t *testing.T, story func(t *testing.T, srv *apitest.Server, c *client.Client)) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true})
		c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		def, err := definition()
		if err != nil {
			t.Fatal(err)
		}
		if err := crd.Ensure(t.Context(), c, crd.EnsureOptions{}, def); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- newManager(c, manager.Options{DetectMutations: true}).Run(ctx) }()
		story(t, srv, c)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// greet creates the Greeting x.
func greet(t *testing.T, c *client.Client, text string) {
	t.Helper()
	g := Greeting{Meta: kube.Meta{Namespace: x.Namespace, Name: x.Name}}
	g.Spec.Text = text
	if _, err := client.Of[Greeting](c, greetings).Create(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Minute) // virtual
}

func TestGreeting(t *testing.T) {
	run(t, func(t *testing.T, srv *apitest.Server, c *client.Client) {
		greet(t, c, "hello")
		m, err := client.Of[ConfigMap](c, kube.ConfigMaps).Get(t.Context(), x)
		if err != nil || m.Data["text"] != "hello" {
			t.Errorf("ConfigMap %+v, %v", m, err)
		}
		srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"other"},"data":{"text":"not ours"}}`)
		if err := client.Of[ConfigMap](c, kube.ConfigMaps).Delete(t.Context(), x, client.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if srv.Get(kube.ConfigMaps, x) == nil {
			t.Error("a deleted ConfigMap is not made again")
		}
		if err := client.Of[Greeting](c, greetings).Delete(t.Context(), x, client.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if list, _ := srv.List(kube.ConfigMaps); len(list) != 1 {
			t.Errorf("%d ConfigMaps are left, want that of others", len(list))
		}
	})
}

func TestGreetingWhileTheServerFails(t *testing.T) {
	run(t, func(t *testing.T, srv *apitest.Server, c *client.Client) {
		<-time.After(time.Minute)
		srv.On(apitest.Match{Verb: "create", Resource: "configmaps"}, faults.Answer(&kube.Status{Code: 500})).Times(3)
		srv.ForgetRequests()
		greet(t, c, "hello")
		var verbs []string
		for _, r := range srv.Requests() {
			if r.Resource == kube.ConfigMaps && r.Verb != "watch" {
				verbs = append(verbs, r.Verb)
			}
		}
		if diff := cmp.Diff([]string{"create", "create", "create", "create"}, verbs); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}
