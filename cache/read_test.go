package cache_test

import (
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// shop is a store of objects with labels in two namespaces, and one in none.
func shop(t *testing.T) *cache.RWStore[codec.Raw] {
	t.Helper()
	s := cache.NewStore[codec.Raw]()
	for i, j := range []string{
		`{"metadata":{"namespace":"n2","name":"c","labels":{"app":"web"}}}`,
		`{"metadata":{"namespace":"n1","name":"b","labels":{"app":"db","new":"yes"}}}`,
		`{"metadata":{"namespace":"n1","name":"a","labels":{"app":"web"}}}`,
		`{"metadata":{"name":"z"}}`,
	} {
		o, err := codec.ParseRaw([]byte(j))
		if err != nil {
			t.Fatal(err)
		}
		s.Apply(watch.Event[codec.Raw]{Type: watch.Added, Key: kube.KeyOf(o), Revision: kube.Revision(strconv.Itoa(i)), Object: o})
	}
	return s
}

func TestSelect(t *testing.T) {
	tests := []struct {
		namespace, selector string
		want                []string
	}{
		{"", "", []string{"z", "n1/a", "n1/b", "n2/c"}},
		{"n1", "", []string{"n1/a", "n1/b"}},
		{"none", "", nil},
		{"", "app=web", []string{"n1/a", "n2/c"}},
		{"", "!app", []string{"z"}},
		{"n1", "app=web", []string{"n1/a"}},
		{"n1", "app in (web,db),new", []string{"n1/b"}},
		{"n2", "app=db", nil},
	}
	s := shop(t)
	for _, indexed := range []bool{false, true, false} {
		if indexed {
			defer cache.ByNamespace(s.Store).Close()
		}
		for _, test := range tests {
			sel, err := kube.ParseSelector(test.selector)
			if err != nil {
				t.Fatal(err)
			}
			var got, listed []string
			for k, o := range s.Select(test.namespace, cache.MatchLabels[codec.Raw](sel)) {
				if k != kube.KeyOf(o) {
					t.Errorf("%s is delivered as %s", kube.KeyOf(o), k)
				}
				got = append(got, k.String())
			}
			for _, o := range s.List(test.namespace, cache.MatchLabels[codec.Raw](sel)) {
				listed = append(listed, kube.KeyOf(o).String())
			}
			if diff := cmp.Diff(test.want, got) + cmp.Diff(test.want, listed); diff != "" {
				t.Errorf("%q %q, indexed %t (-want +got):\n%s", test.namespace, test.selector, indexed, diff)
			}
		}
	}
}

func TestSelectWhileTheStoreChanges(t *testing.T) {
	s := shop(t)
	n := 0
	for k := range s.Select("n1", func(codec.Raw) bool { return s.Len() > 0 }) { // may use the store
		s.Apply(watch.Event[codec.Raw]{Type: watch.Deleted, Key: k, Revision: "9"})
		n++
	}
	if n != 2 || s.Len() != 2 {
		t.Errorf("the loop saw %d objects, %d are left; want 2 and 2", n, s.Len())
	}
	for range s.Select("", nil) {
		break
	}
}

func ExampleMatchLabels() {
	pods := cache.NewStore[kube.Partial]()
	for _, app := range []string{"web", "db"} {
		pod := kube.Partial{Meta: kube.Meta{Namespace: "prod", Name: app + "-0", Labels: map[string]string{"app": app}}}
		pods.Apply(watch.Event[kube.Partial]{Type: watch.Added, Key: kube.KeyOf(pod), Object: pod})
	}
	sel, err := kube.ParseSelector("app in (web,api)")
	if err != nil {
		fmt.Println(err)
		return
	}
	for key := range pods.Select("prod", cache.MatchLabels[kube.Partial](sel)) {
		fmt.Println(key)
	}
	// Output: prod/web-0
}

// What an informer hands out has no methods that change it.
func TestStoreIsForReading(t *testing.T) {
	var s any = cache.From[kube.Partial](cache.Options[kube.Partial]{}).Store()
	for _, name := range []string{"Apply", "Quarantine", "Load", "LoadFile"} {
		if reflect.ValueOf(s).MethodByName(name).IsValid() {
			t.Errorf("the store of an informer has the method %s", name)
		}
		if !reflect.ValueOf(cache.NewStore[kube.Partial]()).MethodByName(name).IsValid() {
			t.Errorf("a store of one's own has no method %s", name)
		}
	}
}

// TestEventsDoNotWaitForReadersThatDoNotRun: one that found the store locked does not
// have the lock while it waits for a processor.
func TestEventsDoNotWaitForReadersThatDoNotRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := shop(t)
	locked := func() {}
	cache.NewIndex(s.Store, func(codec.Raw) []string { // is called under the lock
		locked()
		return nil
	})
	o, _ := s.Get(kube.Key{Name: "z"})
	waits, revision := 0, 10
	const rounds = 20
	for range rounds {
		var read atomic.Bool
		done := make(chan struct{})
		locked = func() {
			locked = func() {}
			go func() {
				defer close(done)
				s.List("", nil)
				read.Store(true)
			}()
			for i := 0; i < 3; i++ {
				runtime.Gosched() // until the reader has found it locked
			}
		}
		for range 2 {
			revision++
			s.Apply(watch.Event[codec.Raw]{Type: watch.Modified, Key: kube.KeyOf(o), Revision: kube.Revision(strconv.Itoa(revision)), Object: o})
		}
		if read.Load() {
			waits++
		}
		<-done
	}
	if waits == rounds { // the scheduler may have preempted this goroutine in some of them
		t.Errorf("each of %d events waited for the reader", rounds)
	}
}
