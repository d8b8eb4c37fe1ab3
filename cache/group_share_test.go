package cache_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// asked is what Shared is asked for.
type asked struct {
	Collection client.Collection[kube.Partial]
	Options    options
}

// TestGroupSharesOnlyWhatIsEqual sets each field of a collection and of its
// options, also those that come later: each makes another informer, but for those
// that do not change what the informer holds.
func TestGroupSharesOnlyWhatIsEqual(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var g cache.Group
		base := asked{Collection: w.maps}
		first := cache.Shared(&g, base.Collection, base.Options)
		if cache.Shared(&g, base.Collection, base.Options).Informer != first.Informer {
			t.Fatal("the same is not shared")
		}
		n := 0
		eachField(t, reflect.ValueOf(&base).Elem(), "", func(path string, v reflect.Value) {
			n++
			shared := cache.Shared(&g, base.Collection, base.Options).Informer == first.Informer
			want := strings.HasPrefix(path, "Collection.Writ") || path == "Collection.Deleted" || path == "Options.Logger"
			if shared != want {
				t.Errorf("with another %s shared is %v, want %v", path, shared, want)
			}
			one := cache.Shared(&g, base.Collection, base.Options)
			other := cache.Shared(&g, base.Collection, base.Options)
			alike := one.Informer == other.Informer
			if hasFunc(v) == alike && !want {
				t.Errorf("two with an equal %s: shared is %v", path, alike)
			}
		})
		if n < 40 {
			t.Errorf("%d fields", n)
		}
	})
}

// TestGroupSharesATransformThatIsNamed: functions cannot be compared.
func TestGroupSharesATransformThatIsNamed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var g cache.Group
		same := func(o kube.Partial) (kube.Partial, error) { return o, nil }
		share := func(name string, transform func(kube.Partial) (kube.Partial, error)) *informer {
			return cache.Shared(&g, w.maps, options{Transform: transform, Snapshot: cache.Snapshot{Projection: name}}).Informer
		}
		v1 := share("v1", same)
		for name, i := range map[string]*informer{"another name": share("v2", same), "no name": share("", same), "no function": share("v1", nil)} {
			if i == v1 {
				t.Errorf("%s: shared", name)
			}
		}
		if share("v1", same) != v1 {
			t.Error("the same name is not shared")
		}
	})
}

// eachField sets each field below v, one after the other.
func eachField(t *testing.T, v reflect.Value, path string, do func(path string, v reflect.Value)) {
	set := func(x any) {
		was := reflect.ValueOf(v.Interface())
		v.Set(reflect.ValueOf(x).Convert(v.Type()))
		do(path, v)
		v.Set(was)
	}
	fields, err := kube.ParseFieldSelector("metadata.name=x")
	if err != nil {
		t.Fatal(err)
	}
	switch v.Interface().(type) {
	case kube.Selector:
		set(kube.LabelsSelector(map[string]string{"v": "1"}))
		return
	case kube.FieldSelector:
		set(fields)
		return
	case kube.Shard:
		set(kube.EqualShard(1, 3))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for n := range v.NumField() {
			name := strings.TrimPrefix(path+"."+v.Type().Field(n).Name, ".")
			eachField(t, v.Field(n), name, do)
		}
	case reflect.String:
		set("another")
	case reflect.Bool:
		set(!v.Bool())
	case reflect.Int, reflect.Int64:
		set(7)
	case reflect.Func:
		set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { panic("not called") }).Interface())
	case reflect.Pointer:
		set(reflect.New(v.Type().Elem()).Interface())
	case reflect.Slice:
		set(reflect.Append(v, reflect.Zero(v.Type().Elem())).Interface())
	case reflect.Map:
		m := reflect.MakeMap(v.Type())
		m.SetMapIndex(reflect.ValueOf("k"), reflect.Zero(v.Type().Elem()))
		set(m.Interface())
	default:
		t.Fatalf("%s is a %s, which this test cannot set", path, v.Kind())
	}
}

func hasFunc(v reflect.Value) bool { return v.Kind() == reflect.Func }

// TestGroupThatEnded: what it hands out says so, whether it ran before or not.
func TestGroupThatEnded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var g cache.Group
		if err := g.Ready(); !errors.Is(err, cache.ErrNotRunning) {
			t.Errorf("before Run: %v", err)
		}
		before := cache.Shared(&g, w.maps, options{})
		over := errors.New("over")
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() { ended <- g.Run(ctx) }()
		if err := g.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := g.Ready(); err != nil {
			t.Errorf("not ready: %v", err)
		}
		cancel(over)
		if err := <-ended; err != over {
			t.Errorf("Run returns %v", err)
		}
		for name, s := range map[string]*cache.SharedInformer[kube.Partial]{
			"held": before, "handed out again": cache.Shared(&g, w.maps, options{}), "new": cache.Shared(&g, w.maps.In("a"), options{}),
		} {
			if err := s.WaitSynced(t.Context()); !errors.Is(err, over) {
				t.Errorf("%s: WaitSynced returns %v", name, err)
			}
			if err := s.Ready(); !errors.Is(err, over) {
				t.Errorf("%s: ready: %v", name, err)
			}
		}
		if err := g.Ready(); !errors.Is(err, over) {
			t.Errorf("ready: %v", err)
		}
		if err := g.Run(t.Context()); !errors.Is(err, cache.ErrRunning) {
			t.Errorf("a second Run returns %v", err)
		}
	})
}

// TestGroupReportsItsInformers: one is refused, one has ended by itself, one works.
func TestGroupReportsItsInformers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fields, err := kube.ParseFieldSelector("no.such=field")
		if err != nil {
			t.Fatal(err)
		}
		w.srv.On(apitest.Match{Resource: "secrets"}, faults.Answer(forbidden()))
		var log lines
		g := cache.Group{Logger: log.logger()}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- g.Run(ctx) }()
		cache.Shared(&g, w.maps, options{})
		cache.Shared(&g, client.Of[kube.Partial](w.client, kube.Secrets).In("a"), options{})
		w.pass(time.Minute)
		log.are(t, `level=WARN msg="requests are refused; trying again" informer="secrets in a" reason=forbidden`)
		cache.Shared(&g, w.maps.In("a").Where(kube.Selector{}, fields), options{})
		w.pass(time.Minute)
		log.are(t, `level=ERROR msg="the informer ended; its objects are no longer updated" informer="configmaps in a (no.such=field)"`)
		var got []string
		for _, s := range g.Status() {
			line := s.Name
			if s.Synced {
				line += ": synced"
			}
			if s.Ended != nil {
				line += ": ended"
			}
			if errors.Is(s.Err, kube.ErrForbidden) {
				line += ": forbidden"
			}
			got = append(got, line)
		}
		want := []string{"configmaps: synced", "secrets in a: forbidden", "configmaps in a (no.such=field): ended"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
		err = g.Ready()
		if err == nil || !strings.HasPrefix(err.Error(), "secrets in a: not synced: ") || !strings.Contains(err.Error(), "; configmaps in a (no.such=field): ended: ") {
			t.Errorf("ready: %v, want the two that are not", err)
		}
		if err := g.WaitSynced(func() context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			t.Cleanup(cancel)
			return ctx
		}()); !errors.Is(err, kube.ErrForbidden) {
			t.Errorf("WaitSynced: %v", err)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || !errors.Is(err, kube.ErrInvalid) {
			t.Errorf("Run returns %v, want canceled and invalid", err)
		}
		synctest.Wait()
	})
}
