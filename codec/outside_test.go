package codec_test

import (
	"testing"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// TestOutside: whether an object is in a shard is read from its bytes, as the object that
// is decoded from them has its UID.
func TestOutside(t *testing.T) {
	in := map[bool]kube.Shard{}
	for i := range 2 {
		s := kube.EqualShard(i, 2)
		in[s.Has("u-1")] = s
	}
	empty := kube.EqualShard(1, 2) // the hash of "" is in the upper half
	for _, c := range []struct {
		name, object string
		shard        kube.Shard
		rv           kube.Revision
		outside      bool
	}{
		{"all objects", `{"metadata":{"uid":"u-1","resourceVersion":"7"}}`, kube.Shard{}, "", false},
		{"inside", `{"metadata":{"uid":"u-1","resourceVersion":"7"}}`, in[true], "", false},
		{"outside", `{"metadata":{"uid":"u-1","resourceVersion":"7"}}`, in[false], "7", true},
		{"the UID after a long spec", `{"spec":{"uid":"x"},"metadata":{"uid":"u-1"}}`, in[false], "", true},
		{"escaped", `{"metadata":{"uid":"\u0075-1","resourceVersion":"\u0037"}}`, in[false], "7", true},
		{"escaped, inside", `{"metadata":{"uid":"\u0075-1"}}`, in[true], "", false},
		{"the last of two counts", `{"metadata":{"uid":"x","uid":"u-1"}}`, in[true], "", false},
		{"a row of a Table", `{"kind":"Table","metadata":{"resourceVersion":"8"},"rows":[{"object":{"metadata":{"uid":"u-1","resourceVersion":"7"}}}]}`, in[false], "7", true},
		{"without a UID", `{"metadata":{"name":"a"}}`, empty, "", false},
		{"without a UID, outside", `{"metadata":{"name":"a","resourceVersion":"7"}}`, kube.EqualShard(0, 2), "7", true},
		{"no JSON", `{"metadata":{`, in[false], "", false},
		{"no JSON after the UID", `{"metadata":{"uid":"u-1"`, in[false], "", true},
		{"a UID that is a number", `{"metadata":{"uid":7}}`, in[false], "", false},
		{"protobuf", "k8s\x00\x12\x07\x0a\x05\x2a\x03u-1", in[false], "", true},
		{"protobuf, inside", "k8s\x00\x12\x07\x0a\x05\x2a\x03u-1", in[true], "", false},
	} {
		if rv, outside := codec.Outside(c.shard, []byte(c.object)); rv != c.rv || outside != c.outside {
			t.Errorf("%s: got %q %v, want %q %v", c.name, rv, outside, c.rv, c.outside)
		}
	}
	object := []byte(`{"metadata":{"uid":"u-1"}}`)
	if n := testing.AllocsPerRun(100, func() { codec.Outside(in[true], object) }); n > 0 {
		t.Errorf("%v allocations for an object that is inside", n)
	}
}
