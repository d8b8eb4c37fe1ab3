package cache_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// tagged is an event of the object "namespace/name" with finalizers, which the
// tests here index by: an object has any number of them.
func tagged(typ watch.Type, key string, rv int, tags ...string) event {
	k, err := kube.ParseKey(key)
	if err != nil {
		panic(err)
	}
	o := kube.Partial{Meta: kube.Meta{
		Namespace: k.Namespace, Name: k.Name, UID: "u-" + key, ResourceVersion: strconv.Itoa(rv), Finalizers: tags,
	}}
	return event{Type: typ, Key: k, UID: o.UID, Revision: kube.Revision(o.ResourceVersion), Object: o}
}

func tags(o kube.Partial) []string { return o.Finalizers }

func name(o kube.Partial) (string, bool) { return o.Name, true }

// contents prints an index: value to keys.
func contents[T kube.Object, K comparable](x *cache.Index[T, K]) map[string]string {
	got := map[string]string{}
	for v := range x.Values() {
		got[fmt.Sprint(v)] = keys(x, v)
	}
	return got
}

func keys[T kube.Object, K comparable](x *cache.Index[T, K], v K) string {
	var s []string
	for _, k := range x.Keys(v) {
		s = append(s, k.String())
	}
	return strings.Join(s, " ")
}

func TestIndexFollowsTheStore(t *testing.T) {
	tests := []struct {
		name   string
		events []event
		want   map[string]string
	}{
		{"one value", []event{tagged(watch.Added, "d/a", 1, "x")}, map[string]string{"x": "d/a"}},
		{"none", []event{tagged(watch.Added, "d/a", 1)}, map[string]string{}},
		{"the empty value", []event{tagged(watch.Added, "d/a", 1, "")}, map[string]string{"": "d/a"}},
		{"several values", []event{tagged(watch.Added, "d/a", 1, "x", "y"), tagged(watch.Added, "d/b", 2, "y", "z")},
			map[string]string{"x": "d/a", "y": "d/a d/b", "z": "d/b"}},
		{"the same value twice", []event{tagged(watch.Added, "d/a", 1, "x", "x")}, map[string]string{"x": "d/a"}},
		{"one of two equal values goes", []event{tagged(watch.Added, "d/a", 1, "x", "x"), tagged(watch.Modified, "d/a", 2, "x")}, map[string]string{"x": "d/a"}},
		{"values come and go", []event{tagged(watch.Added, "d/a", 1, "x", "y"), tagged(watch.Modified, "d/a", 2, "y", "z")},
			map[string]string{"y": "d/a", "z": "d/a"}},
		{"values change places", []event{tagged(watch.Added, "d/a", 1, "x", "y"), tagged(watch.Modified, "d/a", 2, "y", "x")},
			map[string]string{"x": "d/a", "y": "d/a"}},
		{"all values go", []event{tagged(watch.Added, "d/a", 1, "x", "y"), tagged(watch.Modified, "d/a", 2)}, map[string]string{}},
		{"a deletion removes an empty set", []event{tagged(watch.Added, "d/a", 1, "x"), tagged(watch.Deleted, "d/a", 2, "x")}, map[string]string{}},
		{"a deletion keeps a set that is not empty", []event{tagged(watch.Added, "d/a", 1, "x"), tagged(watch.Added, "d/b", 2, "x"), tagged(watch.Deleted, "d/a", 3, "x")},
			map[string]string{"x": "d/b"}},
		{"an addition after a deletion", []event{tagged(watch.Added, "d/a", 1, "x"), tagged(watch.Deleted, "d/a", 2, "x"), tagged(watch.Added, "d/a", 3, "x")},
			map[string]string{"x": "d/a"}},
		{"the final state has other values than the last one known", []event{tagged(watch.Added, "d/a", 1, "x"), tagged(watch.Deleted, "d/a", 3, "y")}, map[string]string{}},
		{"a stale event", []event{tagged(watch.Added, "d/a", 5, "x"), tagged(watch.Modified, "d/a", 4, "y")}, map[string]string{"x": "d/a"}},
		{"a sweep", []event{tagged(watch.Added, "d/a", 1, "x"), tagged(watch.Added, "d/b", 2, "x", "y"), restart(nil), tagged(watch.Added, "d/a", 1, "x"), synced("9")},
			map[string]string{"x": "d/a"}},
		{"namesakes", []event{live(watch.Added, "a", "u1", "1"), tagged(watch.Added, "d/a", 2, "x")}, map[string]string{"x": "d/a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := cache.NewStore[kube.Partial]()
			early := cache.NewIndex(s.Store, tags)
			for _, ev := range test.events {
				s.Apply(ev)
			}
			for what, x := range map[string]*cache.Index[kube.Partial, string]{"early": early, "late": cache.NewIndex(s.Store, tags)} {
				if diff := cmp.Diff(test.want, contents(x)); diff != "" {
					t.Errorf("%s index (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

func TestIndexReads(t *testing.T) {
	s := cache.NewStore[kube.Partial]()
	x := cache.NewIndex(s.Store, tags)
	var want []kube.Key
	for i := range 30 { // more than a small set
		ev := tagged(watch.Added, fmt.Sprintf("d/o%02d", i), i+1, "x")
		s.Apply(ev)
		want = append(want, ev.Key)
	}
	if diff := cmp.Diff(want, x.Keys("x")); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	got := map[kube.Key]kube.Partial{}
	for k, o := range x.Get("x") {
		s.Apply(tagged(watch.Deleted, k.String(), 99)) // the loop sees the moment it began
		got[k] = o
	}
	if len(got) != 30 || s.Len() != 0 || x.Len("x") != 0 {
		t.Errorf("the loop saw %d objects, %d are left, %d in the index", len(got), s.Len(), x.Len("x"))
	}
	for range x.Get("x") {
		t.Error("a value that nothing has")
	}
	s.Apply(tagged(watch.Added, "d/a", 1, "x", "y"))
	s.Apply(tagged(watch.Added, "d/b", 2, "x"))
	for range x.Get("x") {
		break
	}
	for range x.Values() {
		break
	}
	if x.Len("x") != 2 || x.Len("none") != 0 || x.Keys("none") != nil {
		t.Errorf("%d have x, %d none, %v", x.Len("x"), x.Len("none"), x.Keys("none"))
	}
}

func TestIndexesOfDifferentTypes(t *testing.T) {
	s := cache.NewStore[kube.Partial]()
	type shape struct{ namespace, tag string }
	byTag := cache.NewIndex(s.Store, tags)
	byCount := cache.By(s.Store, func(o kube.Partial) (int, bool) { return len(o.Finalizers), len(o.Finalizers) > 0 })
	byShape := cache.NewIndex(s.Store, func(o kube.Partial) []shape {
		var all []shape
		for _, tag := range o.Finalizers {
			all = append(all, shape{o.Namespace, tag})
		}
		return all
	})
	again := cache.NewIndex(s.Store, tags)
	for i, tags := range [][]string{{"x"}, {"x", "y"}, nil} {
		s.Apply(tagged(watch.Added, fmt.Sprintf("n%d/a", i), i+1, tags...))
	}
	want := []map[string]string{
		{"x": "n0/a n1/a", "y": "n1/a"},
		{"1": "n0/a", "2": "n1/a"},
		{"{n0 x}": "n0/a", "{n1 x}": "n1/a", "{n1 y}": "n1/a"},
		{"x": "n0/a n1/a", "y": "n1/a"},
	}
	got := []map[string]string{contents(byTag), contents(byCount), contents(byShape), contents(again)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("indexes (-want +got):\n%s", diff)
	}

	byTag.Close()
	byTag.Close()
	s.Apply(tagged(watch.Deleted, "n0/a", 9))
	if diff := cmp.Diff([]map[string]string{{}, {"2": "n1/a"}}, []map[string]string{contents(byTag), contents(byCount)}); diff != "" {
		t.Errorf("a closed and an open index (-want +got):\n%s", diff)
	}
	if byTag.Len("x") != 0 || byTag.Keys("x") != nil {
		t.Error("a closed index has objects")
	}
}

// panics calls f and returns what it panics with.
func panics(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func TestPanicOfAnIndexFunctionChangesNothing(t *testing.T) {
	s := cache.NewStore[kube.Partial]()
	before := cache.NewIndex(s.Store, tags)
	bad := cache.NewIndex(s.Store, func(o kube.Partial) []string {
		if slices.Contains(o.Finalizers, "bad") {
			panic("bad object")
		}
		return o.Finalizers
	})
	after := cache.NewIndex(s.Store, tags)
	s.Apply(tagged(watch.Added, "d/a", 1, "x"))

	check := func(when string, want map[string]string) {
		t.Helper()
		for i, x := range []*cache.Index[kube.Partial, string]{before, bad, after} {
			if diff := cmp.Diff(want, contents(x)); diff != "" {
				t.Errorf("%s: index %d (-want +got):\n%s", when, i, diff)
			}
		}
	}
	for _, ev := range []event{tagged(watch.Modified, "d/a", 2, "bad", "y"), tagged(watch.Added, "d/b", 3, "bad")} {
		if v := panics(func() { s.Apply(ev) }); v != "bad object" {
			t.Errorf("Apply of %s panics with %v", ev.Key, v)
		}
		check("after the panic", map[string]string{"x": "d/a"})
	}
	if o, _ := s.Get(kube.Key{Namespace: "d", Name: "a"}); s.Len() != 1 || o.ResourceVersion != "1" {
		t.Errorf("the store has %d objects, a at %s", s.Len(), o.ResourceVersion)
	}
	s.Apply(tagged(watch.Modified, "d/a", 4, "y"))
	check("and then", map[string]string{"y": "d/a"})

	if v := panics(func() { cache.NewIndex(s.Store, func(kube.Partial) []int { panic("backfill") }) }); v != "backfill" {
		t.Errorf("NewIndex panics with %v", v)
	}
	s.Apply(tagged(watch.Added, "d/c", 5, "y")) // the index that failed is not there
	check("after a failed index", map[string]string{"y": "d/a d/c"})
}

func TestIndexOfValuesThatCannotBeFound(t *testing.T) {
	s := cache.NewStore[kube.Partial]()
	numbers := cache.NewIndex(s.Store, func(o kube.Partial) []float64 { return []float64{math.NaN(), 1} })
	s.Apply(tagged(watch.Added, "d/a", 1))
	s.Apply(tagged(watch.Modified, "d/a", 2))
	if diff := cmp.Diff(map[string]string{"1": "d/a"}, contents(numbers)); diff != "" {
		t.Errorf("NaN (-want +got):\n%s", diff)
	}
	mixed := cache.NewIndex(s.Store, func(o kube.Partial) []any {
		if len(o.Finalizers) > 0 {
			return []any{"a", o.Finalizers}
		}
		return []any{len(o.Name)}
	})
	if v := panics(func() { s.Apply(tagged(watch.Modified, "d/a", 3, "x")) }); v == nil {
		t.Error("a slice is taken as a value")
	}
	if diff := cmp.Diff(map[string]string{"1": "d/a"}, contents(mixed)); diff != "" {
		t.Errorf("after the panic (-want +got):\n%s", diff)
	}
}

func TestReadyMadeIndexes(t *testing.T) {
	objects := []string{
		`{"metadata":{"namespace":"n1","name":"a","labels":{"app":"web"},"ownerReferences":[{"apiVersion":"v1","kind":"Foo","name":"f","uid":"u1"}]}}`,
		`{"metadata":{"namespace":"n1","name":"b","labels":{"app":"","tier":"db"},"ownerReferences":[{"apiVersion":"v1","kind":"Foo","name":"f","uid":"u1"},{"apiVersion":"v1","kind":"Foo","name":"g","uid":"u2"}]}}`,
		`{"metadata":{"namespace":"n2","name":"c","labels":{"tier":"db"}}}`,
		`{"metadata":{"name":"cluster"}}`,
	}
	want := []map[string]string{
		{"n1": "n1/a n1/b", "n2": "n2/c", "": "cluster"},
		{"web": "n1/a", "": "n1/b"},
		{"u1": "n1/a n1/b", "u2": "n1/b"},
	}
	t.Run("Partial", func(t *testing.T) { readyMade[kube.Partial](t, objects, want) })
	t.Run("Raw", func(t *testing.T) { readyMade[codec.Raw](t, objects, want) })
	t.Run("RawFull", func(t *testing.T) { readyMade[codec.RawFull](t, objects, want) })
	t.Run("pointer", func(t *testing.T) { readyMade[*kube.Partial](t, objects, want) })
}

func readyMade[T interface {
	cache.Labeled
	cache.Owned[kube.OwnerReference]
}](t *testing.T, objects []string, want []map[string]string) {
	s := cache.NewStore[T]()
	namespaces, apps, owners := cache.ByNamespace(s.Store), cache.ByLabel(s.Store, "app"), cache.ByOwner(s.Store)
	for i, j := range objects {
		o, err := codec.Decode[T]([]byte(j))
		if err != nil {
			t.Fatal(err)
		}
		s.Apply(watch.Event[T]{Type: watch.Added, Key: kube.KeyOf(o), Revision: kube.Revision(strconv.Itoa(i)), Object: o})
	}
	if diff := cmp.Diff(want, []map[string]string{contents(namespaces), contents(apps), contents(owners)}); diff != "" {
		t.Errorf("indexes (-want +got):\n%s", diff)
	}
}

// TestIndexEqualsItsDefinition compares indexes that are made and closed at
// random moments of random histories with what they ought to be.
func TestIndexEqualsItsDefinition(t *testing.T) {
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		s := cache.NewStore[kube.Partial]()
		var indexes []*cache.Index[kube.Partial, string]
		for rv := 1; rv < 400; rv++ {
			key := fmt.Sprintf("n%d/o%d", rnd.IntN(3), rnd.IntN(12))
			var some []string
			for range rnd.IntN(4) {
				some = append(some, string(rune('a'+rnd.IntN(5))))
			}
			switch n := rnd.IntN(100); {
			case n < 70:
				s.Apply(tagged(watch.Modified, key, rv, some...))
			case n < 90:
				s.Apply(tagged(watch.Deleted, key, rv, some...))
			case n < 93:
				s.Apply(restart(kube.ErrGone))
			case n < 96:
				s.Apply(synced(strconv.Itoa(rv)))
			case n < 98:
				indexes = append(indexes, cache.NewIndex(s.Store, tags))
			case len(indexes) > 0:
				indexes[0].Close()
				indexes = indexes[1:]
			}
			if rv%7 != 0 {
				continue
			}
			want := map[string]string{}
			for k, o := range s.Select("", nil) {
				slices.Sort(o.Finalizers)
				for _, tag := range slices.Compact(slices.Clone(o.Finalizers)) {
					want[tag] = strings.TrimPrefix(want[tag]+" "+k.String(), " ")
				}
			}
			for _, x := range indexes {
				if diff := cmp.Diff(want, contents(x)); diff != "" {
					t.Fatalf("seed %d at %d (-want +got):\n%s", seed, rv, diff)
				}
				for v := range want {
					if got := maps.Collect(x.Get(v)); len(got) != x.Len(v) || len(got) != len(x.Keys(v)) {
						t.Fatalf("seed %d: %s has %d objects, Len %d, %d keys", seed, v, len(got), x.Len(v), len(x.Keys(v)))
					}
				}
			}
		}
	}
}

// TestIndexAgreesWithTheStoreAtEveryMoment has one writer and eight readers, of
// which some make indexes of their own meanwhile.
func TestIndexAgreesWithTheStoreAtEveryMoment(t *testing.T) {
	s := cache.NewStore[kube.Partial]()
	x := cache.NewIndex(s.Store, tags)
	y := cache.By(s.Store, name)
	var wg sync.WaitGroup
	for reader := range 8 {
		wg.Go(func() {
			for i := range 300 {
				tag := strconv.Itoa(i % 5)
				for k, o := range x.Get(tag) {
					if !slices.Contains(o.Finalizers, tag) || kube.KeyOf(o) != k {
						t.Errorf("%s, found under %s, has %v", k, tag, o.Finalizers)
					}
				}
				if keys := x.Keys(tag); !slices.IsSortedFunc(keys, kube.Key.Compare) {
					t.Errorf("not sorted: %v", keys)
				}
				for v := range y.Values() {
					if n := y.Len(v); n > 1 {
						t.Errorf("%d objects are named %s", n, v)
					}
				}
				if reader == 0 {
					late := cache.NewIndex(s.Store, tags)
					late.Len(tag)
					late.Close()
				}
			}
		})
	}
	for rv := range 3000 {
		typ := watch.Modified
		if rv%4 == 3 {
			typ = watch.Deleted
		}
		s.Apply(tagged(typ, "d/"+strconv.Itoa(rv%37), rv+1, strconv.Itoa(rv%5), strconv.Itoa(rv%3)))
	}
	wg.Wait()
}

func TestApplyWithIndexesDoesNotAllocate(t *testing.T) {
	s := cache.NewStore[kube.Partial]()
	cache.ByNamespace(s.Store)
	cache.By(s.Store, name)
	cache.ByOwner(s.Store)
	a, b := tagged(watch.Modified, "d/a", 1), tagged(watch.Modified, "d/a", 2)
	a.Revision, b.Revision = "x", "y"
	s.Apply(a)
	if n := testing.AllocsPerRun(100, func() { s.Apply(b); s.Apply(a) }); n != 0 {
		t.Errorf("%v allocations for two events, want 0", n)
	}
}

// TestIndexKeepsNoOldObject: the strings of a Raw are parts of it, so an index
// that kept one of the first state would keep all of that in memory.
func TestIndexKeepsNoOldObject(t *testing.T) {
	const objects, size = 40, 64 << 10
	for _, values := range []int{1, objects} { // a set of many, sets of one
		s := cache.NewStore[codec.Raw]()
		cache.ByNamespace(s.Store)
		cache.ByLabel(s.Store, "l")
		padding := strings.Repeat("x", size)
		put := func(i, rv int) {
			o, err := codec.ParseRaw(fmt.Appendf(nil, `{"metadata":{"namespace":"n%d","name":"o%d","labels":{"l":"%d"}},"data":%q}`, i%values, i, i%values, padding))
			if err != nil {
				t.Fatal(err)
			}
			s.Apply(watch.Event[codec.Raw]{Type: watch.Modified, Key: kube.KeyOf(o), Revision: kube.Revision(strconv.Itoa(rv)), Object: o})
		}
		heap := func() int {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int(m.HeapAlloc)
		}
		before := heap()
		for rv := range 3 {
			for i := range objects {
				put(i, rv+1)
			}
		}
		if held := heap() - before; held > (objects+objects/4)*size {
			t.Errorf("%d values: %d bytes in memory for %d objects of %d", values, held, objects, size)
		}
		runtime.KeepAlive(s)
	}
}

func ExampleIndex() {
	pods := cache.NewStore[kube.Partial]()
	byApp := cache.ByLabel(pods.Store, "app")
	byOwnerKind := cache.NewIndex(pods.Store, func(p kube.Partial) []string {
		var kinds []string
		for _, owner := range p.OwnerReferences {
			kinds = append(kinds, owner.Kind)
		}
		return kinds
	})
	for i, app := range []string{"web", "web", "db"} {
		pod := kube.Partial{Meta: kube.Meta{
			Namespace: "prod", Name: app + "-" + strconv.Itoa(i), Labels: map[string]string{"app": app},
			OwnerReferences: []kube.OwnerReference{{Kind: "ReplicaSet", Name: app}},
		}}
		pods.Apply(watch.Event[kube.Partial]{Type: watch.Added, Key: kube.KeyOf(pod), Object: pod})
	}
	fmt.Println(byApp.Keys("web"))
	fmt.Println(byOwnerKind.Len("ReplicaSet"))
	// Output:
	// [prod/web-0 prod/web-1]
	// 3
}
