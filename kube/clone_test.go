package kube_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

type inside struct{ Names []string }

type withCopy struct {
	N      int
	copied *bool
}

func (w withCopy) DeepCopy() withCopy { return withCopy{N: w.N, copied: new(true)} }

// behindPointer has the DeepCopy of a pointer, as the types of k8s.io/api have.
type behindPointer struct{ hidden map[string]int }

func (b *behindPointer) DeepCopy() *behindPointer {
	return &behindPointer{map[string]int{"copied": b.hidden["n"]}}
}

func TestCloneCallsTheDeepCopyOfAPointer(t *testing.T) {
	type holder struct {
		Value   behindPointer
		Pointer *behindPointer
		List    []behindPointer
		Map     map[string]behindPointer
		Any     any
	}
	b := behindPointer{map[string]int{"n": 1}}
	c := kube.Clone(holder{b, &b, []behindPointer{b}, map[string]behindPointer{"a": b}, b})
	for _, got := range []behindPointer{kube.Clone(b), c.Value, *c.Pointer, c.List[0], c.Map["a"], c.Any.(behindPointer)} {
		if got.hidden["copied"] != 1 {
			t.Errorf("%v was not copied by DeepCopy", got)
		}
	}
}

type cloned struct {
	kube.Meta
	inside
	Pointer  *inside
	Slice    []inside
	Array    [2]map[string]int
	Map      map[string]*inside
	Any      any
	Bytes    []byte
	Nil      *inside
	NilMap   map[string]int
	NilAny   any
	Empty    []string
	Time     time.Time
	Own      withCopy
	OwnAt    map[string]withCopy
	hidden   []string
	Func     func()
	Quantity kube.Quantity
}

func newCloned() cloned {
	return cloned{
		Meta:   kube.Meta{Name: "a", Labels: map[string]string{"a": "b"}, OwnerReferences: []kube.OwnerReference{{Controller: new(true)}}},
		inside: inside{[]string{"x"}}, Pointer: &inside{[]string{"p"}}, Slice: []inside{{[]string{"s"}}},
		Array: [2]map[string]int{{"a": 1}, nil}, Map: map[string]*inside{"m": {[]string{"v"}}},
		Any: map[string]any{"l": []any{map[string]any{"x": 1}}}, Bytes: []byte("b"), Empty: []string{},
		Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Own: withCopy{N: 1}, OwnAt: map[string]withCopy{"a": {N: 2}},
		hidden: []string{"h"}, Quantity: kube.MustParseQuantity("1Gi"),
	}
}

func TestCloneSharesNothing(t *testing.T) {
	o := newCloned()
	c := kube.Clone(o)
	if c.Own.copied == nil || c.OwnAt["a"].copied == nil {
		t.Error("DeepCopy was not called")
	}
	same := cmp.Options{cmp.AllowUnexported(cloned{}, inside{}), cmp.Comparer(func(a, b withCopy) bool { return a.N == b.N })}
	if diff := cmp.Diff(o, c, same); diff != "" {
		t.Errorf("the copy differs (-want +got):\n%s", diff)
	}
	if c.Empty == nil || c.NilMap != nil || c.Nil != nil {
		t.Error("nil and empty are confused")
	}
	c.Labels["a"], *c.OwnerReferences[0].Controller, c.Names[0], c.Pointer.Names[0], c.Slice[0].Names[0] = "z", false, "z", "z", "z"
	c.Array[0]["a"], c.Map["m"].Names[0], c.Bytes[0] = 9, "z", 'z'
	c.Any.(map[string]any)["l"].([]any)[0].(map[string]any)["x"] = 9
	if diff := cmp.Diff(newCloned(), o, same); diff != "" {
		t.Errorf("the original has changed (-want +got):\n%s", diff)
	}
	if &c.hidden[0] != &o.hidden[0] {
		t.Error("an unexported field was copied")
	}
}

func TestCloneOfPointersAndInterfaces(t *testing.T) {
	o := &inside{[]string{"a"}}
	if c := kube.Clone(o); c == o || &c.Names[0] == &o.Names[0] || !reflect.DeepEqual(c, o) {
		t.Errorf("%v is shared", c)
	}
	if c := kube.Clone[any](o); c == any(o) || !reflect.DeepEqual(c, any(o)) {
		t.Errorf("%v is shared", c)
	}
	if kube.Clone[any](nil) != nil || kube.Clone[*inside](nil) != nil || kube.Clone(3) != 3 {
		t.Error("nil or a number is changed")
	}
}

// A program that changes an object of a cache changes a clone.
func ExampleClone() {
	cached := kube.Meta{Name: "web", Labels: map[string]string{"app": "web"}}
	changed := kube.Clone(cached)
	changed.Labels["app"] = "other"
	fmt.Println(cached.Labels, changed.Labels)
	// Output: map[app:web] map[app:other]
}

func ExampleParseQuantity() {
	total := kube.Quantity{}
	for _, request := range []string{"1.5Gi", "512Mi", "1073741824"} {
		q, err := kube.ParseQuantity(request)
		if err != nil {
			fmt.Println(err)
			return
		}
		total = total.Add(q)
	}
	fmt.Println(total, total.Value(), total.Cmp(kube.MustParseQuantity("4Gi")))
	// Output: 3Gi 3221225472 -1
}
