package watch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// TestDecoderOfShard: the decoder tells the objects of a shard from others, whether they come
// alone, as from a server that filters, or mixed, and whether they can be decoded or not.
func TestDecoderOfShard(t *testing.T) {
	t.Run("Partial", decodesShard[kube.Partial])
	t.Run("Raw", decodesShard[codec.Raw])
}

func decodesShard[T kube.Object](t *testing.T) {
	shard, rev, members := kube.EqualShard(0, 3), 0, 0
	c := client.Collection[T]{Resource: kube.ConfigMaps}
	decode, want := decoderOf(c, shard), decoderOf(c, kube.Shard{})
	r := rand.New(rand.NewPCG(1, 2))
	for phase := range 40 {
		others := []float64{0, 0.02, 0.7}[phase%3]
		for range 1 + r.IntN(200) {
			rev++
			uid := uidIn(r, shard, r.Float64() >= others)
			object := fmt.Sprintf(`{"metadata":{"name":"a","namespace":"b","uid":"%s","resourceVersion":"%d"},"data":{}}`, uid, rev)
			if r.IntN(9) == 0 {
				object = fmt.Sprintf(`{"metadata":{"uid":"%s","resourceVersion":"%d","name":"a","namespace":7}}`, uid, rev)
			}
			f := codec.Frame{Type: "MODIFIED", Object: []byte(object)}
			got, err := decode(f)
			if !shard.Has(uid) {
				if got.Type != outside || err != nil || got.Revision != kube.Revision(fmt.Sprint(rev)) {
					t.Fatalf("%s of another shard: %+v, %v", object, got, err)
				}
				continue
			}
			exact, bad := want(f)
			if diff := cmp.Diff(text(exact), text(got)); diff != "" || fmt.Sprint(bad) != fmt.Sprint(err) {
				t.Fatalf("%s (-want +got):\n%s\n%v, want %v", object, diff, err, bad)
			}
			members++
		}
	}
	if members < 1000 {
		t.Errorf("%d objects of the shard", members)
	}
}

// uidIn returns a UID in a shard, or outside of it.
func uidIn(r *rand.Rand, s kube.Shard, in bool) string {
	for {
		if uid := fmt.Sprintf("%016x", r.Uint64()); s.Has(uid) == in {
			return uid
		}
	}
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// counting counts how often it is decoded.
type counting struct{ kube.Partial }

var decoded int

func (c *counting) UnmarshalJSON(b []byte) error {
	decoded++
	return json.Unmarshal(b, &c.Partial)
}

// TestDecoderOfShardDecodesFew: of what a server sends that does not filter, next to nothing is
// decoded.
func TestDecoderOfShardDecodesFew(t *testing.T) {
	r, shard := rand.New(rand.NewPCG(3, 4)), kube.EqualShard(0, 3)
	decode := decoderOf(client.Collection[counting]{Resource: kube.ConfigMaps}, shard)
	decoded = 0
	for i := range 3 * (manyInside + 100) {
		object := fmt.Sprintf(`{"metadata":{"name":"a","uid":"%s","resourceVersion":"1"}}`, uidIn(r, shard, i%(manyInside+100) < manyInside))
		if _, err := decode(codec.Frame{Type: "ADDED", Object: []byte(object)}); err != nil {
			t.Fatal(err)
		}
	}
	if want := 3 * (manyInside + 1); decoded != want {
		t.Errorf("%d of %d objects were decoded, want %d", decoded, 3*(manyInside+100), want)
	}
}
