package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// A collection is what a map with sorted keys is, and earlier ones stay as they
// were.
func TestCollectionEqualsASortedMap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var c Collection
	model := map[kube.Key]*object.Object{}
	names := func(objects map[kube.Key]*object.Object) (list []string) {
		for _, k := range slices.SortedFunc(maps.Keys(objects), kube.Key.Compare) {
			list = append(list, fmt.Sprint(k, objects[k].Revision))
		}
		return list
	}
	yielded := func(c Collection, from kube.Key) (list []string) {
		for o := range c.from(from) {
			list = append(list, fmt.Sprint(o.Key, o.Revision))
		}
		return list
	}
	type kept struct {
		c    Collection
		want []string
		at   int
	}
	var earlier []kept
	var log []Event
	for n := range 6000 {
		key := kube.Key{Namespace: fmt.Sprint("ns", rnd.IntN(3)), Name: fmt.Sprint("o", rnd.IntN(700))}
		if n < 600 {
			key = kube.Key{Namespace: "ns1", Name: fmt.Sprintf("p%03d", n)} // in order
		}
		e := Event{rv: uint64(n), prev: model[key]}
		if e.prev != nil && rnd.IntN(100) < 45+n/150 { // more and more deletions
			c = c.without(key)
			delete(model, key)
		} else {
			e.next = &object.Object{Key: key, Revision: uint64(n)}
			c = c.with(e.next)
			model[key] = e.next
		}
		if e.prev != nil || e.next != nil {
			log = append(log, e)
		}
		if n%500 == 0 {
			earlier = append(earlier, kept{c, names(model), len(log)})
		}
		if n%97 != 0 {
			continue
		}
		want := names(model)
		if diff := cmp.Diff(want, yielded(c, kube.Key{})); diff != "" || c.size != len(model) {
			t.Fatalf("after %d: %d of %d (-want +got):\n%s", n, c.size, len(model), diff)
		}
		rank := c.rank(key)
		if diff := cmp.Diff(want[rank:], yielded(c, key)); diff != "" {
			t.Fatalf("after %d, from %v: %s", n, key, diff)
		}
		for _, chunk := range c.chunks {
			if len(chunk) == 0 || len(chunk) > chunkSize {
				t.Fatalf("after %d a chunk has %d objects", n, len(chunk))
			}
		}
	}
	for i, k := range earlier {
		if diff := cmp.Diff(k.want, yielded(k.c, kube.Key{})); diff != "" {
			t.Errorf("collection %d has changed:\n%s", i, diff)
		}
		if diff := cmp.Diff(k.want, yielded(c.back(log[k.at:]), kube.Key{})); diff != "" {
			t.Errorf("back to %d:\n%s", i, diff)
		}
	}
	for key := range model {
		c = c.without(key).without(key)
	}
	if c.size != 0 || len(c.chunks) != 0 || c.rank(kube.Key{Name: "x"}) != 0 {
		t.Errorf("%d are left in %d chunks", c.size, len(c.chunks))
	}
}
