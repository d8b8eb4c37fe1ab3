package manager_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
)

// ConfigMap and secret are the parent and the child of these tests.
type ConfigMap struct {
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
	maps    *cache.Informer[ConfigMap]
	secrets *cache.Informer[secret]

	mu  sync.Mutex
	ran []string
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
		w.maps = cache.New(client.Of[ConfigMap](c, kube.ConfigMaps), cache.Options[ConfigMap]{})
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

var errBroken = errors.New("broken")

// noting returns a controller that notes the keys it gets and what the cache holds
// of them.
func noting(w *world, o controller.Options[kube.Key]) *controller.Controller[kube.Key] {
	return controller.New("maps", func(_ context.Context, k kube.Key) (controller.Result, error) {
		if o, ok := w.maps.Store().Get(k); ok {
			w.note("%s=%s", k.Name, o.Data["v"])
		} else {
			w.note("%s is gone", k.Name)
		}
		return controller.Result{}, nil
	}, o)
}

func wantNotes(t *testing.T, w *world, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, w.notes()); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}
