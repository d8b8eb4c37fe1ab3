package cache_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// draft is what the tests of Await write.
type draft struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		NodeName string `json:"nodeName"`
	} `json:"spec,omitzero"`
}

// create creates a config map or a pod with a label v.
func create(t *testing.T, c client.Collection[draft], ns, name, v string) draft {
	t.Helper()
	o, err := c.Create(t.Context(), draft{Meta: kube.Meta{Namespace: ns, Name: name, Labels: map[string]string{"v": v}}})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// takes returns how long f takes, in virtual time, and fails the test if f fails.
func takes(t *testing.T, f func(ctx context.Context) error) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	begin := time.Now()
	if err := f(ctx); err != nil {
		t.Error(err)
	}
	return time.Since(begin)
}

// TestAwaitNeedsOnlyTheObject: it waits for no bookmark, whatever else the informer
// watches and selects.
func TestAwaitNeedsOnlyTheObject(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		maps := client.Of[draft](w.client, kube.ConfigMaps)
		fields, err := kube.ParseFieldSelector("metadata.name!=x")
		if err != nil {
			t.Fatal(err)
		}
		for name, tt := range map[string]struct {
			i      *informer
			in     string // the namespace of the write
			stored bool
		}{
			"two namespaces":        {cache.New(w.maps, options{Namespaces: []string{"a", "b"}}), "a", true},
			"two, the other one":    {cache.New(w.maps, options{Namespaces: []string{"b", "a"}}), "a", true},
			"another namespace":     {cache.New(w.maps.In("b"), options{}), "a", false},
			"not selected by label": {cache.New(w.maps.Where(kube.LabelsSelector(map[string]string{"v": "1"}), kube.FieldSelector{}), options{}), "a", false},
			"selected by label":     {cache.New(w.maps.Where(kube.LabelsSelector(map[string]string{"v": "2"}), kube.FieldSelector{}), options{}), "a", true},
			"not selected by field": {cache.New(w.maps.Where(kube.Selector{}, fields), options{}), "a", false},
		} {
			w.run(tt.i.Run)
			if err := tt.i.WaitSynced(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.pass(time.Second)
			o := create(t, maps, tt.in, "x", "2")
			if d := takes(t, func(ctx context.Context) error { return tt.i.Await(ctx, o) }); d != 0 {
				t.Errorf("%s: it took %v", name, d)
			}
			got, ok := tt.i.Store().Get(kube.KeyOf(o))
			if ok != tt.stored || ok && got.ResourceVersion != o.ResourceVersion {
				t.Errorf("%s: stored is %v, at revision %q, want %v at %q", name, ok, got.ResourceVersion, tt.stored, o.ResourceVersion)
			}
			w.delete("a", "x")
		}
	})
}

// TestAwaitWaitsForWhatItCannotKnow: the selected field is not in the struct that was
// written, so the object may be selected.
func TestAwaitWaitsForWhatItCannotKnow(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fields, err := kube.ParseFieldSelector("spec.nodeName=n1")
		if err != nil {
			t.Fatal(err)
		}
		i := cache.New(client.Of[kube.Partial](w.client, kube.Pods).Where(kube.Selector{}, fields), options{})
		hold := make(chan struct{})
		i.Handle(func(delta) { <-hold })
		w.run(i.Run)
		if err := i.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.srv.Put(kube.Pods, `{"metadata":{"namespace":"a","name":"before"},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}]}}`)
		synctest.Wait() // the informer is held up
		rev := w.srv.Put(kube.Pods, `{"metadata":{"namespace":"a","name":"x"},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}]}}`)
		partial, err := client.Of[kube.Partial](w.client, kube.Pods).Get(t.Context(), kube.Key{Namespace: "a", Name: "x"})
		if err != nil || partial.ResourceVersion != string(rev) {
			t.Fatal(err, partial.ResourceVersion)
		}
		whole, err := client.Of[draft](w.client, kube.Pods).Get(t.Context(), kube.Key{Namespace: "a", Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		elsewhere := whole
		elsewhere.Spec.NodeName = "n2"
		for name, tt := range map[string]struct {
			o     kube.Object
			waits bool
		}{"not in the struct": {partial, true}, "selected": {whole, true}, "not selected": {elsewhere, false}} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := i.Await(ctx, tt.o); (err != nil) != tt.waits {
				t.Errorf("%s: got %v", name, err)
			}
			cancel()
		}
		close(hold)
		takes(t, func(ctx context.Context) error { return i.Await(ctx, partial) })
		if _, ok := i.Store().Get(kube.Key{Namespace: "a", Name: "x"}); !ok {
			t.Error("it returned, and the object is not in the store")
		}
	})
}

// TestAwaitDeleted: gone, replaced, or marked; and the removal of the last finalizer.
func TestAwaitDeleted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		maps := client.Of[draft](w.client, kube.ConfigMaps).In("a")
		i := cache.New(w.maps, options{})
		var lag time.Duration
		i.Handle(func(delta) { <-time.After(lag) })
		w.run(i.Run)
		if err := i.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		lag = time.Second
		stored := func() (kube.Partial, bool) { return i.Store().Get(kube.Key{Namespace: "a", Name: "x"}) }
		remove := func() {
			if err := maps.Delete(t.Context(), kube.Key{Name: "x"}, client.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}

		o := create(t, maps, "a", "x", "1")
		remove() // before the informer has seen it
		if d := takes(t, func(ctx context.Context) error { return i.AwaitDeleted(ctx, o) }); d != 2*time.Second {
			t.Errorf("a creation and a deletion of one second each took %v", d)
		}
		if o, ok := stored(); ok {
			t.Errorf("%v is not gone", o)
		}

		o = create(t, maps, "a", "x", "1")
		remove()
		again := create(t, maps, "a", "x", "1")
		takes(t, func(ctx context.Context) error { return i.AwaitDeleted(ctx, o) })
		if got, ok := stored(); ok && got.UID == o.UID {
			t.Error("it is not gone")
		}
		takes(t, func(ctx context.Context) error { return i.Await(ctx, again) })
		if got, _ := stored(); got.UID != again.UID {
			t.Errorf("stored is %q, want the new one", got.UID)
		}

		held, err := maps.Edit(t.Context(), kube.Key{Name: "x"}, func(o *draft) error { o.Finalizers = []string{"example.com/f"}; return nil })
		if err != nil {
			t.Fatal(err)
		}
		remove()
		takes(t, func(ctx context.Context) error { return i.AwaitDeleted(ctx, held) })
		if got, ok := stored(); !ok || got.DeletionTimestamp == nil {
			t.Errorf("stored is %v, %v, want the mark", got, ok)
		}
		released, err := maps.Edit(t.Context(), kube.Key{Name: "x"}, func(o *draft) error { o.Finalizers = nil; return nil })
		if err != nil {
			t.Fatal(err)
		}
		if d := takes(t, func(ctx context.Context) error { return i.Await(ctx, released) }); d != time.Second {
			t.Errorf("the last finalizer: it took %v, want the second of the handler", d)
		}
		if got, ok := stored(); ok {
			t.Errorf("%v is not gone", got)
		}
	})
}

// TestAwaitSaysWhyNot: no object, no contact, no Run, an end.
func TestAwaitSaysWhyNot(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		o := create(t, client.Of[draft](w.client, kube.ConfigMaps), "a", "x", "1")
		i := cache.New(w.maps, options{})
		if err := i.Await(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "nil") {
			t.Errorf("nil: %v", err)
		}
		if err := i.AwaitDeleted(t.Context(), draft{}); err == nil || !strings.Contains(err.Error(), "no resourceVersion") {
			t.Errorf("no revision: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := i.Await(ctx, o); !errors.Is(err, cache.ErrNotRunning) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("not running: %v", err)
		}
		over := errors.New("over")
		ended, end := context.WithCancelCause(t.Context())
		end(over)
		i.Run(ended)
		if err := i.Await(t.Context(), o); !errors.Is(err, over) {
			t.Errorf("ended: %v", err)
		}
	})
}

// delivered is a source of events that the test makes.
type delivered chan watch.Event[kube.Partial]

func (c delivered) Events(ctx context.Context) iter.Seq2[watch.Event[kube.Partial], error] {
	return func(yield func(watch.Event[kube.Partial], error) bool) {
		for {
			select {
			case ev := <-c:
				if !yield(ev, nil) {
					return
				}
			case <-ctx.Done():
				yield(watch.Event[kube.Partial]{}, context.Cause(ctx))
				return
			}
		}
	}
}

// TestAwaitOpaqueRevisions: they have no order, so the very one counts, and the second
// list from then on.
func TestAwaitOpaqueRevisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := make(delivered)
		i := cache.From(options{}, cache.Source[kube.Partial](source))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- i.Run(ctx) }()
		object := func(rev string) kube.Partial {
			return kube.Partial{Meta: kube.Meta{Namespace: "a", Name: "x", UID: "u", ResourceVersion: rev}}
		}
		send := func(typ watch.Type, rev string) {
			ev := watch.Event[kube.Partial]{Type: typ, Revision: kube.Revision(rev)}
			if typ != watch.Restart && typ != watch.Synced {
				ev.Key, ev.UID, ev.Object = kube.Key{Namespace: "a", Name: "x"}, "u", object(rev)
			}
			source <- ev
			synctest.Wait()
		}
		returned := 0
		await := func(rev string) {
			go func() {
				if err := i.Await(t.Context(), object(rev)); err != nil {
					t.Error(err)
				}
				returned++
			}()
			synctest.Wait()
		}
		is := func(want int, when string) {
			t.Helper()
			if returned != want {
				t.Errorf("%s: %d have returned, want %d", when, returned, want)
			}
		}
		send(watch.Restart, "")
		send(watch.Added, "x1")
		send(watch.Synced, "x2")
		await("x1")
		is(1, "it is there")
		await("x7")
		send(watch.Modified, "x6")
		is(1, "an earlier one")
		send(watch.Modified, "x7")
		is(2, "the very one")
		await("x8") // and the informer sees a later one only
		send(watch.Modified, "x9")
		send(watch.Restart, "")
		send(watch.Added, "x9")
		send(watch.Synced, "x9")
		is(2, "a list that may have been requested before")
		send(watch.Restart, "")
		is(2, "amid the second list")
		send(watch.Added, "x9")
		send(watch.Synced, "x9")
		is(3, "the second list")
		cancel()
		<-ended
	})
}

// TestAwaitAmidARestore: the revisions of the history that the server lost say nothing
// of a write that came after it.
func TestAwaitAmidARestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := make(delivered)
		i := cache.From(options{}, cache.Source[kube.Partial](source))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- i.Run(ctx) }()
		object := func(name, rev string) kube.Partial {
			return kube.Partial{Meta: kube.Meta{Namespace: "a", Name: name, UID: name, ResourceVersion: rev}}
		}
		send := func(typ watch.Type, name, rev string, cause error) {
			ev := watch.Event[kube.Partial]{Type: typ, Revision: kube.Revision(rev), Cause: cause}
			if name != "" {
				ev.Key, ev.UID, ev.Object = kube.Key{Namespace: "a", Name: name}, name, object(name, rev)
			}
			source <- ev
			synctest.Wait()
		}
		send(watch.Restart, "", "", nil)
		send(watch.Added, "old", "1000", nil)
		send(watch.Added, "again", "907", nil)
		send(watch.Synced, "", "1000", nil)
		send(watch.Restart, "", "", watch.ErrAhead)
		returned := 0
		for _, o := range []kube.Partial{object("old", "905"), object("new", "906"), object("again", "907")} {
			go func() {
				if err := i.Await(t.Context(), o); err != nil {
					t.Error(err)
				}
				returned++
			}()
		}
		synctest.Wait()
		if returned != 0 {
			t.Errorf("%d have returned before the list", returned)
		}
		send(watch.Added, "old", "905", nil)
		send(watch.Added, "new", "906", nil)
		if returned != 2 {
			t.Errorf("%d have returned amid the list, which has shown 2", returned)
		}
		send(watch.Added, "again", "907", nil)
		send(watch.Synced, "", "907", nil)
		if returned != 3 {
			t.Errorf("%d have returned after the list, want 3", returned)
		}
		cancel()
		<-ended
	})
}

// TestAwaitOfARawObject: the object may be of any type.
func TestAwaitOfARawObject(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		i := cache.New(w.maps.Where(kube.LabelsSelector(map[string]string{"v": "1"}), kube.FieldSelector{}), options{})
		w.run(i.Run)
		if err := i.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, v := range []string{"1", "2"} {
			o := create(t, client.Of[draft](w.client, kube.ConfigMaps), "a", "x"+v, v)
			raw, err := client.Of[codec.Raw](w.client, kube.ConfigMaps).Get(t.Context(), kube.KeyOf(o))
			if err != nil {
				t.Fatal(err)
			}
			takes(t, func(ctx context.Context) error { return i.Await(ctx, raw) })
			if _, ok := i.Store().Get(kube.KeyOf(o)); ok != (v == "1") {
				t.Errorf("v=%s: stored is %v", v, ok)
			}
		}
	})
}
