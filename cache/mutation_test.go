package cache_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// box is an object that readers share by pointer.
type box struct {
	kube.Meta `json:"metadata"`
	Data      map[string]string
	Any       any
}

func boxed(typ watch.Type, name, rv string) watch.Event[*box] {
	o := &box{Meta: kube.Meta{Name: name, ResourceVersion: rv}, Data: map[string]string{"k": rv}}
	return watch.Event[*box]{Type: typ, Key: kube.KeyOf(o), Revision: kube.Revision(rv), Object: o}
}

func TestMutationDetector(t *testing.T) {
	tests := []struct {
		name   string
		mutate func(s *cache.RWStore[*box], get func(name string) *box)
		want   string
	}{
		{"nothing", func(*cache.RWStore[*box], func(string) *box) {}, "[]"},
		{"changes as they should be", func(s *cache.RWStore[*box], get func(string) *box) {
			s.Apply(boxed(watch.Modified, "a", "5"))
			s.Apply(boxed(watch.Deleted, "b", "6"))
			s.Apply(boxed(watch.Added, "d", "7"))
			s.Apply(watch.Event[*box]{Type: watch.Restart})
			s.Apply(watch.Event[*box]{Type: watch.Synced, Revision: "8"})
		}, "[]"},
		{"an object that was there before", func(s *cache.RWStore[*box], get func(string) *box) { get("a").Data["x"] = "y" }, "[a .Data.x]"},
		{"two objects", func(s *cache.RWStore[*box], get func(string) *box) {
			get("c").Labels, get("b").Name = map[string]string{"x": ""}, "x"
		}, "[b .metadata.name c .metadata.labels]"},
		{"then replaced", func(s *cache.RWStore[*box], get func(string) *box) {
			get("c").Data["k"] = "changed"
			s.Apply(boxed(watch.Modified, "c", "5"))
		}, "[c .Data.k]"},
		{"then deleted", func(s *cache.RWStore[*box], get func(string) *box) {
			delete(get("b").Data, "k")
			s.Apply(boxed(watch.Deleted, "b", "5"))
		}, "[b .Data.k]"},
		{"then swept", func(s *cache.RWStore[*box], get func(string) *box) {
			get("b").Data = nil
			s.Apply(watch.Event[*box]{Type: watch.Restart})
			s.Apply(watch.Event[*box]{Type: watch.Synced, Revision: "8"})
		}, "[b .Data]"},
		{"so that it cannot be encoded", func(s *cache.RWStore[*box], get func(string) *box) { get("a").Any = func() {} }, "[a .]"},
		{"twice", func(s *cache.RWStore[*box], get func(string) *box) {
			get("a").Data["x"] = "y"
			get("a").Any = 1
		}, "[a .Any a .Data.x]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := cache.NewStore[*box]()
			s.Apply(boxed(watch.Added, "a", "1"))
			s.Apply(boxed(watch.Added, "b", "2"))
			d := cache.DetectMutations(s.Store)
			s.Apply(boxed(watch.Added, "c", "3"))
			test.mutate(s, func(name string) *box {
				o, _ := s.Get(kube.Key{Name: name})
				return o
			})
			for range 2 {
				if got := fmt.Sprint(d.Check()); got != test.want {
					t.Errorf("found %s, want %s", got, test.want)
				}
			}
			d.Close()
			s.Apply(boxed(watch.Modified, "a", "9"))
			if o, ok := s.Get(kube.Key{Name: "a"}); ok {
				o.Data["x"] = "after Close"
			}
			if got := fmt.Sprint(d.Check()); got != test.want {
				t.Errorf("found %s after Close, want %s", got, test.want)
			}
		})
	}
}

func TestMutationDetectorOfWhatCannotBeEncoded(t *testing.T) {
	s := cache.NewStore[*box]()
	cache.DetectMutations(s.Store)
	ev := boxed(watch.Added, "a", "1")
	ev.Object.Any = make(chan int)
	if v := panics(func() { s.Apply(ev) }); v == nil || s.Len() != 0 {
		t.Errorf("panic %v, %d objects; want a panic and none", v, s.Len())
	}
}

func TestMutationDetectorBesideAnIndex(t *testing.T) {
	s := cache.NewStore[*box]()
	d := cache.DetectMutations(s.Store)
	x := cache.NewIndex(s.Store, func(o *box) []string { return strings.Split(o.Data["k"], "") })
	s.Apply(boxed(watch.Added, "a", "12"))
	o, _ := s.Get(kube.Key{Name: "a"})
	o.Data["k"] = "3" // x cannot know
	if got := fmt.Sprint(d.Check(), x.Keys("1"), x.Keys("3")); got != "[a .Data.k] [a] []" {
		t.Errorf("got %s", got)
	}
}
