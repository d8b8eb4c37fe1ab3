package cache_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

type (
	informer = cache.Informer[kube.Partial]
	options  = cache.Options[kube.Partial]
	delta    = cache.Delta[kube.Partial]
)

// world is a fake apiserver and clients of it, in virtual time.
type world struct {
	t      *testing.T
	srv    *apitest.Server
	client *client.Client
	maps   client.Collection[kube.Partial]
	ctx    context.Context // of what runs
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// inWorld runs a test in a bubble of virtual time. Whatever was run in it has
// ended when it returns, or the test fails.
func inWorld(t *testing.T, act func(*testing.T, *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, apitest.Options{InMemory: true})
		act(t, w)
		w.end()
	})
}

// newWorld is for a bubble, and must be ended in it.
func newWorld(t *testing.T, o apitest.Options) *world {
	t.Helper()
	srv := apitest.NewWith(t, o)
	c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, srv: srv, client: c, maps: client.Of[kube.Partial](c, kube.ConfigMaps)}
	w.ctx, w.cancel = context.WithCancel(t.Context())
	return w
}

func (w *world) end() {
	w.cancel()
	w.wg.Wait()
	w.client.CloseIdleConnections()
}

// run runs f in the background until the world ends.
func (w *world) run(f func(context.Context) error) {
	w.wg.Go(func() { f(w.ctx) })
}

// pass lets virtual time go by, and settles.
func (w *world) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (w *world) put(ns, name, value string) {
	w.srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"labels":{"v":%q}}}`, ns, name, value))
}

func (w *world) delete(ns, name string) {
	w.srv.Delete(kube.ConfigMaps, kube.Key{Namespace: ns, Name: name})
}

// truth returns the server's state, as view.state returns a consumer's.
func (w *world) truth(namespaces ...string) []string {
	w.t.Helper()
	var s []string
	objects, _ := w.srv.List(kube.ConfigMaps)
	for _, b := range objects {
		o, err := codec.Decode[kube.Partial](b)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(namespaces) == 0 || slices.Contains(namespaces, o.Namespace) {
			s = append(s, describe(o))
		}
	}
	slices.Sort(s)
	return s
}

func describe(o kube.Partial) string {
	return o.Namespace + "/" + o.Name + "@" + o.ResourceVersion + " " + o.UID
}

// view is what a consumer of deltas has come to believe, and it complains of
// deltas that do not follow from it.
type view struct {
	t *testing.T

	mu      sync.Mutex
	objects map[kube.Key]kube.Partial
	log     []string
	calls   int
	busy    bool
}

func newView(t *testing.T) *view { return &view{t: t, objects: map[kube.Key]kube.Partial{}} }

func (v *view) take(d delta) {
	v.mu.Lock()
	if v.busy {
		v.t.Error("two calls at a time")
	}
	v.busy = true
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.busy = false
	}()

	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls++
	old, known := v.objects[d.Key]
	line := fmt.Sprintf("%s %s", d.Type, d.Key)
	for _, note := range []struct {
		set  bool
		text string
	}{{d.Initial, " initial"}, {d.Inferred, " inferred"}, {d.Resync, " resync"}} {
		if note.set {
			line += note.text
		}
	}
	v.log = append(v.log, line)
	if known == (d.Type == "ADDED") {
		v.t.Errorf("%s, but known is %v", line, known)
	}
	if known && d.Old.ResourceVersion != old.ResourceVersion {
		v.t.Errorf("%s from %s, but the last was %s", line, d.Old.ResourceVersion, old.ResourceVersion)
	}
	if d.Type == "DELETED" {
		delete(v.objects, d.Key)
		return
	}
	v.objects[d.Key] = d.New
}

// count returns the number of calls so far.
func (v *view) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.calls
}

func (v *view) state() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var s []string
	for _, o := range v.objects {
		s = append(s, describe(o))
	}
	slices.Sort(s)
	return s
}

// delivered wants exactly these deltas since the last call.
func (v *view) delivered(want ...string) {
	v.t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if diff := cmp.Diff(want, v.log); diff != "" {
		v.t.Errorf("delivered (-want +got):\n%s", diff)
	}
	v.log = nil
}

// is wants the view to be the given state.
func (v *view) is(want []string) {
	v.t.Helper()
	if diff := cmp.Diff(want, v.state()); diff != "" {
		v.t.Errorf("the view differs from the truth (-truth +view):\n%s", diff)
	}
}

// stateOf is the state of a store.
func stateOf(s *cache.Store[kube.Partial]) []string {
	var state []string
	for _, o := range s.All() {
		state = append(state, describe(o))
	}
	slices.Sort(state)
	return state
}
