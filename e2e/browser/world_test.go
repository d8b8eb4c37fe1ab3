package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/internal/jq"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui"
)

// world is a fake apiserver with a live page of it.
type world struct {
	t       *testing.T
	api     *apitest.Server
	ui      *ui.UI
	web     *httptest.Server
	path    string       // below which the page is
	streams atomic.Int32 // that were opened
	resumed atomic.Int32 // of these, that named the last event

	subscribed atomic.Int32 // subscriptions that were answered
	refuse     atomic.Bool  // requests of browsers
	forget     atomic.Bool  // what a browser says that it has
	play       sync.Once
}

// start starts a world, which ends with the test.
func start(t *testing.T) *world {
	t.Helper()
	api := apitest.NewWith(t, apitest.Options{CollectGarbage: true, NoValidation: true, Seed: 7})
	c, err := client.New(client.Config{Server: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	w := show(t, ui.Options{Client: c, Name: "test", Filter: jq.Condition})
	w.api = api
	return w
}

// show serves a page until the test ends.
func show(t *testing.T, o ui.Options) *world {
	t.Helper()
	w := &world{t: t}
	var err error
	if w.ui, err = ui.New(o); err != nil {
		t.Fatal(err)
	}
	w.web = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.refuse.Load() {
			panic(http.ErrAbortHandler)
		}
		if r.URL.Path == "/api/stream" {
			w.streams.Add(1)
			if r.Header.Get("Last-Event-ID") != "" {
				w.resumed.Add(1)
			}
			if w.forget.Load() && r.Header.Get("Last-Event-ID") != "" {
				r.Header.Set("Last-Event-ID", "another.1")
			}
		}
		w.ui.ServeHTTP(rw, r)
		if r.URL.Path == "/api/subscribe" {
			w.subscribed.Add(1)
		}
	}))
	w.run(func(ctx context.Context) { _ = w.ui.Run(ctx) }) // the end of the test is its error
	t.Cleanup(func() {
		w.web.CloseClientConnections()
		w.web.Close()
	})
	return w
}

// run runs f until the test ends.
func (w *world) run(f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { f(ctx) })
	w.t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
}

// until waits for something that the page does.
func (w *world) until(what string, done func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !done(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// open opens the page with a view such as "type=pods&ns=shop".
func (w *world) open(view string, l look) *page {
	w.t.Helper()
	return open(w.t, w.web.URL+"/#token="+w.ui.Token()+"&"+view, l)
}

// cut ends the connections of all browsers.
func (w *world) cut() { w.web.CloseClientConnections() }

// rollout plays a deployment of namespace shop.
func (w *world) rollout(name string, replicas int, image string) {
	w.play.Do(func() {
		w.run(func(ctx context.Context) {
			_ = simulate.New(w.api, simulate.Options{Nodes: 3, Speed: 10}).Run(ctx) // the end of the test is its error
		})
	})
	w.api.Put(kube.Deployments, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%[1]q},"spec":{"replicas":%[2]d,"selector":{"matchLabels":{"app":%[1]q}},
		"template":{"metadata":{"labels":{"app":%[1]q}},"spec":{"containers":[{"name":"app","image":%[3]q}]}}}}`, name, replicas, image))
}

// down lets the apiserver be away until back is called.
func (w *world) down() (back func()) {
	f := w.api.On(apitest.Match{}, func(rw http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	w.api.CutWatches()
	return f.Remove
}

// pod creates or changes a pod of namespace shop.
func (w *world) pod(name, phase string, restarts int) {
	w.api.Put(kube.Pods, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q,"labels":{"app":%q}},"spec":{"containers":[{"name":"app","image":"web:1"}]},
		"status":{"phase":%q,"containerStatuses":[{"name":"app","ready":true,"restartCount":%d,"state":{"running":{}}}]}}`, name, name, phase, restarts))
}

func (w *world) delete(name string) {
	w.api.Delete(kube.Pods, kube.Key{Namespace: "shop", Name: name})
}

// row is the selector of a pod's row.
func row(name string) string { return fmt.Sprintf(`tr[data-key="shop/%s"]`, name) }
