package controller_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
)

// TestEnsureAsksTheCacheFirst: the requests of Ensure, by what the cache and the server
// have.
func TestEnsureAsksTheCacheFirst(t *testing.T) {
	refused, exists := errors.New("no"), fmt.Errorf("another one: %w", kube.ErrExists)
	x := kube.Key{Namespace: "a", Name: "x"}
	for name, tt := range map[string]struct {
		cached, stored string // the value; empty = there is no object
		err            error  // of the function
		want           client.Outcome
		requests       []string
	}{
		"nothing to change":        {"new", "new", nil, client.Unchanged, nil},
		"a change":                 {"old", "old", nil, client.Updated, []string{"get", "update"}},
		"no object":                {"", "", nil, client.Created, []string{"create"}},
		"the cache lacks it":       {"", "old", nil, client.Updated, []string{"create", "get", "update"}},
		"the cache lacks the same": {"", "new", nil, client.Unchanged, []string{"create", "get"}},
		"the server lacks it":      {"old", "", nil, client.Created, []string{"get", "create"}},
		"the function fails":       {"old", "old", refused, client.Unchanged, nil},
		"it fails for a new one":   {"", "", refused, client.Unchanged, nil},
		"as if the server had it":  {"", "old", exists, client.Unchanged, nil},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				if tt.cached != "" {
					w.put("x", tt.cached)
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- w.maps.Run(ctx) }()
				if err := w.maps.WaitSynced(ctx); err != nil {
					t.Fatal(err)
				}
				stop() // what follows does not reach the cache
				<-ended
				switch {
				case tt.stored == "" && tt.cached != "":
					w.Delete(kube.ConfigMaps, x)
				case tt.stored != tt.cached:
					w.put("x", tt.stored)
				}
				w.ForgetRequests()
				got, outcome, err := controller.Ensure(t.Context(), client.Of[configMap](w.client, kube.ConfigMaps), w.maps.Store(), x, func(o *configMap) error {
					if o.Data == nil {
						o.Data = map[string]string{}
					}
					o.Data["v"] = "new" // in place
					return tt.err
				})
				if outcome != tt.want || !errors.Is(err, tt.err) || tt.err == nil && (err != nil || got.Data["v"] != "new" || got.UID == "") {
					t.Errorf("%s, %v: %+v", outcome, err, got)
				}
				var requests []string
				for _, r := range w.Requests() {
					requests = append(requests, r.Verb)
				}
				if diff := cmp.Diff(tt.requests, requests); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				if o, ok := w.maps.Store().Get(x); ok && o.Data["v"] != tt.cached {
					t.Error("the object of the cache was changed")
				}
			})
		})
	}
}

// TestEnsureOfTheSameJSON: what JSON does not show, such as an empty map in place of none, and
// the unit of a quantity, is no change.
func TestEnsureOfTheSameJSON(t *testing.T) {
	type limited struct {
		kube.Meta `json:"metadata"`
		Data      map[string]string `json:"data,omitempty"`
		Spec      struct {
			CPU   kube.Quantity `json:"cpu"`
			Names []string      `json:"names,omitempty"`
		} `json:"spec"`
	}
	run(t, func(t *testing.T, w *world) {
		limits := kube.Resource{Group: "example.com", Version: "v1", Plural: "limits", Kind: "Limit", Namespaced: true}
		w.AddResource(apitest.ResourceInfo{Resource: limits})
		all := client.Of[limited](w.client, limits)
		in := cache.New(all, cache.Options[limited]{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- in.Run(ctx) }()
		x := kube.Key{Namespace: "a", Name: "x"}
		for _, want := range []client.Outcome{client.Created, client.Unchanged, client.Unchanged} {
			if err := in.WaitSynced(ctx); err != nil {
				t.Fatal(err)
			}
			w.ForgetRequests()
			_, outcome, err := controller.Ensure(ctx, all, in.Store(), x, func(o *limited) error {
				o.Data, o.Spec.Names, o.Spec.CPU = map[string]string{}, []string{}, kube.MustParseQuantity("0.1")
				return nil
			})
			if n := len(w.Requests()); err != nil || outcome != want || outcome == client.Unchanged && n != 0 {
				t.Errorf("%s, %v, with %d requests, want %s", outcome, err, n, want)
			}
			time.Sleep(time.Second)
		}
		stop()
		<-ended
	})
}

// TestEnsureIsAwaited: the run after Ensure sees what it created, so that each object is
// created once, and then sends nothing.
func TestEnsureIsAwaited(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "old")
		var ctl *controller.Controller[kube.Key]
		ctl = controller.New("maps", func(ctx context.Context, k kube.Key) (controller.Result, error) {
			writes := controller.Awaited(ctl, k, client.Of[secret](w.client, kube.Secrets), w.secrets)
			_, outcome, err := controller.Ensure(ctx, writes, w.secrets.Store(), k, func(*secret) error { return nil })
			w.note("%s %v", outcome, err)
			return controller.Result{Requeue: outcome != client.Unchanged}, err
		}, controller.Options[kube.Key]{})
		controller.For(ctl, w.maps)
		w.run(t, ctl)
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"created <nil>", "unchanged <nil>"}, w.notes()); diff != "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
	})
}
