package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// scripted is an informer whose source is the test, which sends event after event.
type scripted struct {
	*informer
	t      *testing.T
	source delivered
}

// inScript runs an informer in a bubble.
func inScript(t *testing.T, act func(*testing.T, *scripted)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		source := make(delivered)
		s := &scripted{cache.From(options{}, cache.Source[kube.Partial](source)), t, source}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		act(t, s)
		cancel()
		<-ended
	})
}

// send delivers an event about the collection.
func (s *scripted) send(typ watch.Type, rev kube.Revision, cause error) {
	s.source <- watch.Event[kube.Partial]{Type: typ, Revision: rev, Cause: cause}
	synctest.Wait()
}

// object delivers an event of an object.
func (s *scripted) object(typ watch.Type, o kube.Partial) {
	s.source <- watch.Event[kube.Partial]{Type: typ, Key: kube.KeyOf(o), UID: o.UID, Object: o, Revision: kube.Revision(o.ResourceVersion)}
	synctest.Wait()
}

// returns runs f in the background, and returns whether it has returned.
func (s *scripted) returns(f func(context.Context) error) (has func() bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f(s.t.Context()); err != nil {
			s.t.Error(err)
		}
	}()
	return func() bool {
		synctest.Wait()
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
}

// TestAwaitDeletedOfAnObjectThatWasNotSeen: that the store lacks it says nothing while
// the source is behind: its creation, and its deletion, are still to come.
func TestAwaitDeletedOfAnObjectThatWasNotSeen(t *testing.T) {
	inScript(t, func(t *testing.T, s *scripted) {
		s.send(watch.Restart, "", nil)
		s.send(watch.Synced, "3", nil)
		o := kube.Partial{Meta: kube.Meta{Namespace: "a", Name: "x", UID: "u", ResourceVersion: "5"}}
		earlier := o
		earlier.UID, earlier.ResourceVersion = "before", "4"
		returned := s.returns(func(ctx context.Context) error { return s.AwaitDeleted(ctx, o) })
		if returned() {
			t.Error("it returned before the informer saw the object")
		}
		s.object(watch.Added, earlier)
		s.object(watch.Deleted, earlier)
		if returned() {
			t.Error("it returned when an earlier namesake went")
		}
		s.object(watch.Added, o)
		if returned() {
			t.Error("it returned when the object came")
		}
		o.ResourceVersion = "6"
		s.object(watch.Deleted, o)
		if !returned() {
			t.Error("it did not return when the object went")
		}
	})
}

// TestAwaitOfAMarkedObjectThatStays: a finalizer that is left, or a grace period, keeps
// it, so Await waits for the state that was written, and not for the end.
func TestAwaitOfAMarkedObjectThatStays(t *testing.T) {
	inScript(t, func(t *testing.T, s *scripted) {
		s.send(watch.Restart, "", nil)
		s.send(watch.Synced, "3", nil)
		now, grace := time.Now(), int64(30)
		for _, meta := range []kube.Meta{ // in the order of their revisions
			{UID: "finalizer", ResourceVersion: "5", Finalizers: []string{"example.com/f"}},
			{UID: "grace period", ResourceVersion: "6", DeletionGracePeriodSeconds: &grace},
		} {
			o, name := kube.Partial{Meta: meta}, meta.UID
			o.Namespace, o.Name, o.DeletionTimestamp = "a", "x", &now
			returned := s.returns(func(ctx context.Context) error { return s.Await(ctx, o) })
			if returned() {
				t.Errorf("%s: it returned before the informer saw the write", name)
			}
			s.object(watch.Modified, o)
			if !returned() {
				t.Errorf("%s: it did not return when the informer saw the write", name)
			}
			s.object(watch.Deleted, o)
		}
	})
}

// bare is an object whose JSON says nothing: it has what its methods return.
type bare struct{ o kube.Partial }

func (b bare) GetNamespace() string         { return b.o.Namespace }
func (b bare) GetName() string              { return b.o.Name }
func (b bare) GetUID() string               { return b.o.UID }
func (b bare) GetResourceVersion() string   { return b.o.ResourceVersion }
func (b bare) GetLabels() map[string]string { return b.o.Labels }

// TestAwaitTakesLabelsFromTheMethod: and not from the JSON of the object, which a type
// of one's own may not have.
func TestAwaitTakesLabelsFromTheMethod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		i := cache.New(w.maps.Where(kube.LabelsSelector(map[string]string{"v": "1"}), kube.FieldSelector{}), options{})
		i.Handle(func(delta) { <-time.After(time.Second) })
		w.run(i.Run)
		if err := i.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		for _, v := range []string{"1", "2"} {
			o := create(t, client.Of[draft](w.client, kube.ConfigMaps), "a", "x"+v, v)
			takes(t, func(ctx context.Context) error { return i.Await(ctx, bare{kube.Partial{Meta: o.Meta}}) })
			if _, ok := i.Store().Get(kube.KeyOf(o)); ok != (v == "1") {
				t.Errorf("v=%s: it returned, and stored is %v", v, ok)
			}
		}
	})
}

// TestWaitRevisionAmidARestore: the revision that was reached belongs to the history
// that the server lost.
func TestWaitRevisionAmidARestore(t *testing.T) {
	inScript(t, func(t *testing.T, s *scripted) {
		s.send(watch.Restart, "", nil)
		s.send(watch.Synced, "1000", nil)
		s.send(watch.Restart, "", watch.ErrAhead)
		returned := s.returns(func(ctx context.Context) error { return s.WaitRevision(ctx, "905") })
		if returned() {
			t.Error("it returned before the list")
		}
		s.send(watch.Synced, "906", nil)
		if !returned() {
			t.Error("it did not return after the list")
		}
	})
}

// TestAwaitOfAnObjectThatVanished: it was written and deleted while the informer had to
// list again, so that no handler is called.
func TestAwaitOfAnObjectThatVanished(t *testing.T) {
	inScript(t, func(t *testing.T, s *scripted) {
		s.send(watch.Restart, "", nil)
		s.send(watch.Synced, "3", nil)
		o := kube.Partial{Meta: kube.Meta{Namespace: "a", Name: "x", UID: "u", ResourceVersion: "5"}}
		seen := o
		seen.Name, seen.UID, seen.ResourceVersion = "seen", "other", "4"
		await := func(o kube.Partial) (returned func() bool, err *error) {
			err = new(error)
			return s.returns(func(ctx context.Context) error { *err = s.Await(ctx, o); return nil }), err
		}
		first, vanished := await(o)
		second, shown := await(seen)
		s.object(watch.Added, seen)
		s.send(watch.Restart, "", nil)
		s.send(watch.Synced, "9", nil)
		if !first() || !second() {
			t.Fatal("it did not return after the list")
		}
		if !errors.Is(*vanished, cache.ErrVanished) {
			t.Errorf("of the object that was not seen: %v, want ErrVanished", *vanished)
		}
		if *shown != nil {
			t.Errorf("of the object that was seen: %v", *shown)
		}
	})
}

// TestAwaitOfAnObjectThatIsNoLongerSelected: the store does not have it any more, but a handler
// is being called with its deletion.
func TestAwaitOfAnObjectThatIsNoLongerSelected(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		selected := w.maps.Where(kube.LabelsSelector(map[string]string{"v": "1"}), kube.FieldSelector{})
		i := cache.New(selected, options{})
		var handled []watch.Type
		i.Handle(func(d delta) {
			<-time.After(time.Second)
			handled = append(handled, d.Type)
		})
		w.run(i.Run)
		if err := i.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		maps := client.Of[draft](w.client, kube.ConfigMaps)
		o := create(t, maps, "a", "x", "1")
		takes(t, func(ctx context.Context) error { return i.Await(ctx, o) })
		o.Labels["v"] = "2"
		o, err := maps.Update(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the handler is running
		if _, ok := i.Store().Get(kube.KeyOf(o)); ok {
			t.Fatal("the store has the object")
		}
		takes(t, func(ctx context.Context) error { return i.Await(ctx, o) })
		if len(handled) != 2 || handled[1] != watch.Deleted {
			t.Errorf("it returned when the handler had returned for %v", handled)
		}
	})
}
