package crd_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
)

// TestEnsureOfADefinitionThatIsBeingDeleted: a definition that waits for its finalizers is
// not installed: Ensure waits until it is gone, and applies it again.
func TestEnsureOfADefinitionThatIsBeingDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewInMemory(t)
		c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		type lamp struct {
			kube.Meta `json:"metadata"`
		}
		d, err := crd.Of[lamp](kube.Resource{Group: "example.com", Version: "v1", Plural: "lamps", Kind: "Lamp", Namespaced: true}, crd.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := crd.Ensure(t.Context(), c, crd.EnsureOptions{}, d); err != nil {
			t.Fatal(err)
		}
		definitions := client.Of[kube.Partial](c, kube.CustomResourceDefinitions)
		finalize := func(yes bool) {
			if _, err := definitions.Edit(t.Context(), kube.Key{Name: d.Metadata.Name}, func(o *kube.Partial) error {
				if o.Finalizers = nil; yes {
					o.Finalizers = []string{"example.com/objects"}
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		}
		finalize(true)
		if err := definitions.Delete(t.Context(), kube.Key{Name: d.Metadata.Name}, client.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(5*time.Second, func() { finalize(false) })
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := crd.Ensure(ctx, c, crd.EnsureOptions{}, d); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 5*time.Second {
			t.Errorf("ensured after %s, while the definition is being deleted", took)
		}
		now, err := client.Of[codec.Raw](c, kube.CustomResourceDefinitions).Get(t.Context(), kube.Key{Name: d.Metadata.Name})
		if err != nil {
			t.Fatal(err)
		}
		var o kube.Partial
		if err := now.Decode(&o); err != nil || o.DeletionTimestamp != nil {
			t.Errorf("deletionTimestamp %v, error %v", o.DeletionTimestamp, err)
		}
	})
}

// TestEnsureBeforeItsConversion: a definition is installed although the server cannot read the
// objects of a version yet, because the conversion webhook is that of the caller.
func TestEnsureBeforeItsConversion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewInMemory(t)
		c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		type lamp struct {
			kube.Meta `json:"metadata"`
		}
		lamps := kube.Resource{Group: "example.com", Version: "v1", Plural: "lamps", Kind: "Lamp", Namespaced: true}
		d, err := crd.Of[lamp](lamps, crd.Options{})
		if err != nil {
			t.Fatal(err)
		}
		srv.On(apitest.Match{Resource: lamps.GroupResource(), Verb: "list"}, faults.Answer(apitest.StatusInternal("conversion webhook failed")))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := crd.Ensure(ctx, c, crd.EnsureOptions{}, d); err != nil {
			t.Error(err)
		}
	})
}

// TestEnsureMakesTheServerCheckNames: kube-apiserver does not check names that equal those it
// accepted last, and keeps the condition about a name that it refused before.
func TestEnsureMakesTheServerCheckNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewInMemory(t)
		c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		type lamp struct {
			kube.Meta `json:"metadata"`
		}
		d, err := crd.Of[lamp](kube.Resource{Group: "example.com", Version: "v1", Plural: "lamps", Kind: "Lamp", Namespaced: true}, crd.Options{Categories: []string{"all"}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := crd.Ensure(ctx, c, crd.EnsureOptions{}, d); err != nil {
			t.Fatal(err)
		}
		type condition struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		}
		type definition struct {
			kube.Meta `json:"metadata"`
			Spec      struct {
				Names crd.Names `json:"names"`
			} `json:"spec"`
		}
		key, definitions := kube.Key{Name: d.Metadata.Name}, client.Of[definition](c, kube.CustomResourceDefinitions)
		report := func(status string) {
			if _, err := definitions.PatchStatus(ctx, key, map[string]any{"conditions": []condition{{"NamesAccepted", status}, {"Established", status}}}); err != nil {
				t.Error(err)
			}
		}
		report("False")
		server := make(chan struct{})
		defer func() { cancel(); <-server }()
		go func() {
			defer close(server)
			for range time.Tick(10 * time.Millisecond) {
				switch o, err := definitions.Get(ctx, key); {
				case err != nil:
					return
				case len(o.Spec.Names.Categories) > 1:
					report("True")
					return
				}
			}
		}()
		if err := crd.Ensure(ctx, c, crd.EnsureOptions{}, d); err != nil {
			t.Error(err)
		}
		if o, err := definitions.Get(ctx, key); err != nil || len(o.Spec.Names.Categories) != 1 {
			t.Errorf("names %+v, error %v", o.Spec.Names, err)
		}
	})
}

// TestEnsureOfADefinitionThatSomebodyDeletes, after it was applied or while Ensure asks whether it
// is served: Ensure fails, and does not wait for what nobody creates.
func TestEnsureOfADefinitionThatSomebodyDeletes(t *testing.T) {
	for name, after := range map[string]string{"applied": http.MethodPatch, "established": http.MethodGet} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := apitest.NewInMemory(t)
				var once sync.Once
				c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial, Trace: &client.Trace{Done: func(rt client.RoundTrip) {
					if rt.Method == after && strings.Contains(rt.Path, "customresourcedefinitions") {
						once.Do(func() { srv.Delete(kube.CustomResourceDefinitions, kube.Key{Name: "lamps.example.com"}) })
					}
				}}})
				if err != nil {
					t.Fatal(err)
				}
				defer c.CloseIdleConnections()
				type lamp struct {
					kube.Meta `json:"metadata"`
				}
				d, err := crd.Of[lamp](kube.Resource{Group: "example.com", Version: "v1", Plural: "lamps", Kind: "Lamp", Namespaced: true}, crd.Options{})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := crd.Ensure(ctx, c, crd.EnsureOptions{}, d); err == nil || !strings.Contains(err.Error(), "it was deleted") {
					t.Errorf("after %d requests: %v", len(srv.Requests()), err)
				}
			})
		})
	}
}

// TestEnsureOfADefinitionThatAnotherReplaces: another process applies its definition of the same
// name, which lacks a version. The last call wins: the first one fails, and does not wait.
func TestEnsureOfADefinitionThatAnotherReplaces(t *testing.T) {
	for name, after := range map[string]string{"applied": http.MethodPatch, "established": http.MethodGet} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := apitest.NewInMemory(t)
				type lamp struct {
					kube.Meta `json:"metadata"`
				}
				lamps := kube.Resource{Group: "example.com", Version: "v1", Plural: "lamps", Kind: "Lamp", Namespaced: true}
				one, err := crd.Of[lamp](lamps, crd.Options{})
				if err != nil {
					t.Fatal(err)
				}
				two, err := crd.Of[lamp](lamps, crd.Options{Also: []crd.Version{crd.VersionOf[lamp]("v2", crd.VersionOptions{})}})
				if err != nil {
					t.Fatal(err)
				}
				other, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
				if err != nil {
					t.Fatal(err)
				}
				defer other.CloseIdleConnections()
				var once sync.Once
				c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial, Trace: &client.Trace{Done: func(rt client.RoundTrip) {
					if rt.Method == after && strings.Contains(rt.Path, "customresourcedefinitions") {
						once.Do(func() {
							if err := crd.Ensure(t.Context(), other, crd.EnsureOptions{}, one); err != nil {
								t.Error(err)
							}
						})
					}
				}}})
				if err != nil {
					t.Fatal(err)
				}
				defer c.CloseIdleConnections()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				const want = "another process has replaced the definition by one that serves v1, not v2"
				if err := crd.Ensure(ctx, c, crd.EnsureOptions{}, two); err == nil || !strings.HasSuffix(err.Error(), want) {
					t.Errorf("after %d requests: %v", len(srv.Requests()), err)
				}
			})
		})
	}
}
