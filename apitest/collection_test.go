package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

// A collection is what a map with sorted keys is, and earlier ones stay as they
// were.
func TestCollectionEqualsASortedMap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var c collection
	model := map[kube.Key]*object{}
	names := func(objects map[kube.Key]*object) (list []string) {
		for _, k := range slices.SortedFunc(maps.Keys(objects), kube.Key.Compare) {
			list = append(list, fmt.Sprint(k, objects[k].rv))
		}
		return list
	}
	told := func(c collection, from kube.Key) (list []string) {
		for o := range c.from(from) {
			list = append(list, fmt.Sprint(o.key, o.rv))
		}
		return list
	}
	type kept struct {
		c    collection
		want []string
		at   int
	}
	var earlier []kept
	var log []event
	for n := range 6000 {
		key := kube.Key{Namespace: fmt.Sprint("ns", rnd.IntN(3)), Name: fmt.Sprint("o", rnd.IntN(700))}
		if n < 600 {
			key = kube.Key{Namespace: "ns1", Name: fmt.Sprintf("p%03d", n)} // in order
		}
		e := event{rv: uint64(n), prev: model[key]}
		if e.prev != nil && rnd.IntN(100) < 45+n/150 { // more and more deletions
			c = c.without(key)
			delete(model, key)
		} else {
			e.next = &object{key: key, rv: uint64(n)}
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
		if diff := cmp.Diff(want, told(c, kube.Key{})); diff != "" || c.size != len(model) {
			t.Fatalf("after %d: %d of %d (-want +got):\n%s", n, c.size, len(model), diff)
		}
		rank := c.rank(key)
		if diff := cmp.Diff(want[rank:], told(c, key)); diff != "" {
			t.Fatalf("after %d, from %v: %s", n, key, diff)
		}
		for _, chunk := range c.chunks {
			if len(chunk) == 0 || len(chunk) > chunkSize {
				t.Fatalf("after %d a chunk has %d objects", n, len(chunk))
			}
		}
	}
	for i, k := range earlier {
		if diff := cmp.Diff(k.want, told(k.c, kube.Key{})); diff != "" {
			t.Errorf("collection %d has changed:\n%s", i, diff)
		}
		if diff := cmp.Diff(k.want, told(c.back(log[k.at:]), kube.Key{})); diff != "" {
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

// Metadata is written as json.Marshal writes it, or sorted.
func TestMetadataIsWrittenAsJSONIs(t *testing.T) {
	for _, m := range []objectMeta{
		{},
		{Name: "a", Namespace: "b", UID: "c", ResourceVersion: "7", CreationTimestamp: "t"},
		{GenerateName: "g-", Generation: 3, DeletionTimestamp: "d", DeletionGracePeriodSeconds: new(int64(0)), Labels: map[string]string{"z": "1", "a": "<&>\u2028\"\\é"},
			Annotations: map[string]string{"": "\x00\n"}, Finalizers: []string{"b", "a"}, OwnerReferences: json.RawMessage(`[{"uid": "u",  "name":"<"}]`),
			ManagedFields: json.RawMessage(`[{"time":"t","manager":"m"}]`)},
	} {
		if diff := cmp.Diff(string(marshal(m)), string(m.append(nil))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(string(sortedJSON(marshal(m))), string(m.appendSorted(nil))); diff != "" {
			t.Errorf("sorted (-want +got):\n%s", diff)
		}
	}
}

// FuzzMembers: an object falls into its members, with the values that encoding/json
// finds, and what is canonical stays as it is.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, ` { "a" : [1, {"b":"]}\""}] , "a":2,"\u0063":null}`, `{"a":1}x`, `[]`, `1`, ``, `{"a`, `{"\ud800":true,"b":-1.5e3 }`, "{\"\xff\":0}", `{"a":"<\u2028 ` + "\u2028" + `"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want map[string]json.RawMessage
		err := json.Unmarshal([]byte(s), &want)
		ms, got := members([]byte(s))
		if (err == nil && want != nil) != (got == nil) {
			t.Fatalf("%q: %v, not %v", s, got, err)
		}
		have := map[string]json.RawMessage{}
		for _, m := range ms {
			have[m.name] = m.value
			if isCanonical(m.value) {
				if again := marshal(m.value); string(again) != string(m.value) {
					t.Errorf("%q is not canonical: %q", m.value, again)
				}
			}
		}
		if got == nil {
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("%q: %s", s, diff)
			}
		}
	})
}
