package controller_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// configMap and secret are the parent and the child of these tests.
type configMap struct {
	kube.Meta `json:"metadata"`
	Data      map[string]string `json:"data,omitempty"`
}

type secret struct {
	kube.Meta `json:"metadata"`
}

// world is a fake API server, a client, and two informers that run.
type world struct {
	*apitest.Server
	client  *client.Client
	maps    *cache.Informer[configMap]
	secrets *cache.Informer[secret]

	mu  sync.Mutex
	ran []string

	seen bool // by TestAwaitedCoversEachVerb
}

// run plays a story in virtual time.
func run(t *testing.T, story func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{Server: apitest.NewInMemory(t)}
		c, err := client.New(client.Config{Server: w.URL, Dial: w.Dial})
		if err != nil {
			t.Fatal(err)
		}
		w.client = c
		w.maps = cache.New(client.Of[configMap](c, kube.ConfigMaps), cache.Options[configMap]{})
		w.secrets = cache.New(client.Of[secret](c, kube.Secrets), cache.Options[secret]{})
		story(t, w)
		c.CloseIdleConnections()
	})
}

func (w *world) put(name, value string) {
	w.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":%q},"data":{"v":%q}}`, name, value))
}

// note writes down what a reconciler did, and when.
func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ran = append(w.ran, fmt.Sprintf(format, args...))
}

// notes returns what was written down since the last time.
func (w *world) notes() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.ran
	w.ran = nil
	return all
}

// run runs the informers and r, and returns what stops them and returns the error
// of r.
func (w *world) run(t *testing.T, r interface{ Run(context.Context) error }) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var err error
	running.Go(func() { err = r.Run(ctx) })
	synctest.Wait() // its handlers are there, so that the objects come in the order of the list
	running.Go(func() { _ = w.maps.Run(ctx) })
	running.Go(func() { _ = w.secrets.Run(ctx) })
	stop = sync.OnceValue(func() error {
		cancel()
		running.Wait()
		return err
	})
	t.Cleanup(func() { _ = stop() })
	synctest.Wait()
	return stop
}
