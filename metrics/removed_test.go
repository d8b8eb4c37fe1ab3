package metrics_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/metrics"
	"github.com/listwatch/listwatch/webhook"
)

func idle(context.Context, string) (controller.Result, error) { return controller.Result{}, nil }

// TestRemovedLeavesTheRegistry: its values are gone, and its name can be used again.
func TestRemovedLeavesTheRegistry(t *testing.T) {
	register := map[string]func(r *metrics.Registry) func(){
		"controller": func(r *metrics.Registry) func() {
			return metrics.Controller(r, controller.New("foo", idle, controller.Options[string]{}))
		},
		"informer": func(r *metrics.Registry) func() { return metrics.Informer(r, "foo", status{}) },
		"leader":   func(r *metrics.Registry) func() { return metrics.Leader(r, "foo", func() bool { return false }) },
		"webhooks": func(r *metrics.Registry) func() {
			s, err := webhook.New(nil, webhook.Options{Name: "foo", Service: kube.Key{Namespace: "a", Name: "b"}, CertFile: "x", KeyFile: "y"})
			if err != nil {
				t.Fatal(err)
			}
			return metrics.Webhooks(r, s)
		},
	}
	for name, f := range register {
		r := metrics.New()
		lines := func() []string {
			return scrape(t, r, "controller_runtime_", "workqueue_", "listwatch_", "leader_")
		}
		remove := f(r)
		want := lines()
		remove()
		if got := lines(); len(want) == 0 || len(got) > 0 {
			t.Errorf("%s: %d lines before, and after the removal %q", name, len(want), got)
		}
		again := f(r)
		remove() // the second time does nothing
		if diff := cmp.Diff(want, lines()); diff != "" {
			t.Errorf("%s: registered again (-want +got):\n%s", name, diff)
		}
		again()
		if got := lines(); len(got) > 0 {
			t.Errorf("%s: removed again, %q", name, got)
		}
	}
}

// TestControllerRemovedDuringARun: the end of the run does not bring the values back.
func TestControllerRemovedDuringARun(t *testing.T) {
	r := metrics.New()
	began, end := make(chan bool), make(chan bool)
	c := controller.New("foo", func(context.Context, string) (controller.Result, error) {
		began <- true
		<-end
		return controller.Result{}, nil
	}, controller.Options[string]{})
	remove := metrics.Controller(r, c)
	c.Queue().Add("x")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	<-began
	remove()
	close(end)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := scrape(t, r, "controller_runtime_", "workqueue_"); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// TestRemovedIsFreed: the registry keeps nothing of it alive, though its function is kept.
func TestRemovedIsFreed(t *testing.T) {
	r := metrics.New()
	in := &status{Name: "foos"}
	c := controller.New("foo", idle, controller.Options[string]{})
	informer, ctl := weak.Make(in), weak.Make(c)
	removes := []func(){metrics.Informer(r, "", in), metrics.Controller(r, c)}
	scrape(t, r)
	for _, remove := range removes {
		remove()
	}
	in, c = nil, nil
	for n := 0; informer.Value() != nil || ctl.Value() != nil; n++ {
		if n == 100 {
			t.Fatal("it is still alive")
		}
		runtime.GC()
		<-time.After(time.Millisecond)
	}
	runtime.KeepAlive(removes)
	runtime.KeepAlive(r)
}

// TestRemoveDuringScrapes looks for races, and for scrapes that fail.
func TestRemoveDuringScrapes(t *testing.T) {
	r := metrics.New()
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for range 50 {
				remove := metrics.Informer(r, fmt.Sprint(n), status{})
				forget := metrics.Controller(r, controller.New(fmt.Sprint(n), idle, controller.Options[string]{}))
				all.Go(remove)
				remove()
				forget()
			}
		})
	}
	for range 50 {
		scrape(t, r)
	}
	all.Wait()
	if got := scrape(t, r, "controller_runtime_", "workqueue_", "listwatch_"); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// synced are the lines of listwatch_informer_synced.
func synced(r *metrics.Registry) []string {
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "listwatch_informer_synced{") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// foos are the caches of one cluster.
type foos struct {
	*cache.SharedInformer[kube.Partial]
	unregister func() // its metrics
}

// The metrics of the informers of a cluster leave with it.
func ExampleInformer_clusters() {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	r := metrics.New()
	clusters := controller.NewClusters(func(cl *controller.Cluster) (foos, error) {
		in := cache.Shared(cl.Group, client.Of[kube.Partial](cl.Client, kube.ConfigMaps), cache.Options[kube.Partial]{})
		return foos{in, metrics.Informer(r, cl.Name, in)}, nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- clusters.Run(ctx) }()
	for range 2 { // the second time, the name is free again
		c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(clusters.Engage("berlin", c))
		own, ok := clusters.Get("berlin")
		for ; !ok; own, ok = clusters.Get("berlin") {
			<-time.After(time.Millisecond)
		}
		fmt.Println(synced(r))
		fmt.Println(clusters.Remove(ctx, "berlin"))
		own.unregister()
		fmt.Println(synced(r))
		c.CloseIdleConnections()
	}
	cancel()
	<-ended
	// Output:
	// <nil>
	// [listwatch_informer_synced{informer="berlin"} 1]
	// <nil>
	// []
	// <nil>
	// [listwatch_informer_synced{informer="berlin"} 1]
	// <nil>
	// []
}
