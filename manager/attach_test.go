package manager_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/manager"
)

// A standby keeps no queue. When it begins to lead, it gets every object that
// exists once, as an initial one, and how long a key waited counts from then.
func TestStandbyQueuesNothing(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		var got []string
		c := controller.New("maps", func(context.Context, kube.Key) (controller.Result, error) { return controller.Result{}, nil },
			controller.Options[kube.Key]{Trace: controller.Trace[kube.Key]{Ran: func(r controller.Run[kube.Key]) {
				got = append(got, fmt.Sprint(r.Key.Name, " priority ", r.Priority, " merged ", r.Merged, " waited ", r.Waited))
			}}})
		controller.For(c, w.maps)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		standby := &part{w: w, name: "standby"}
		standby.f = func(ctx context.Context) error {
			<-time.After(3 * time.Hour)
			return c.Run(ctx)
		}
		m := manager.New(manager.Options{Elector: &elector{w: w}})
		m.Add(w.maps)
		m.AddLed(standby)
		go func() { done <- m.Run(ctx) }()
		for _, name := range []string{"x", "y", "gone"} {
			w.put(name, "1")
			<-time.After(time.Hour / 2)
			w.put(name, "2")
		}
		w.Delete(kube.ConfigMaps, kube.Key{Namespace: "a", Name: "gone"})
		synctest.Wait()
		if s := c.Stats().Queue; s.Depth+s.Delayed != 0 || s.Adds != 0 {
			t.Errorf("queue of a standby: %+v", s)
		}
		<-time.After(2 * time.Hour)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if len(got) == 2 && got[0] > got[1] {
			got[0], got[1] = got[1], got[0]
		}
		if diff := cmp.Diff([]string{"x priority -100 merged 0 waited 0s", "y priority -100 merged 0 waited 0s"}, got); diff != "" {
			t.Errorf("runs at takeover (-want +got):\n%s", diff)
		}
	})
}

// notedInput notes when a handler is added to an informer, and when that begins.
type notedInput struct {
	*cache.Informer[ConfigMap]
	w *world
}

func (n *notedInput) Handle(f func(cache.Delta[ConfigMap])) *cache.Handler[ConfigMap] {
	n.w.note("handler added")
	return n.Informer.Handle(f)
}

func (n *notedInput) Run(ctx context.Context) error {
	n.w.note("informer begins")
	return n.Informer.Run(ctx)
}

// lateController begins to run a second late.
type lateController struct {
	*controller.Controller[kube.Key]
}

func (c lateController) Run(ctx context.Context) error {
	<-time.After(time.Second)
	return c.Controller.Run(ctx)
}

// Without an election a controller has its handlers before the informers begin, so
// that it gets the deletions that a warm start finds.
func TestManagerAddsHandlersBeforeInformersBegin(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		in := &notedInput{w.maps, w}
		c := noting(w, controller.Options[kube.Key]{})
		controller.For(c, in)
		m := manager.New(manager.Options{})
		m.Add(in)
		m.AddLed(lateController{c})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := m.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
		wantNotes(t, w, "handler added", "informer begins")
	})
}
