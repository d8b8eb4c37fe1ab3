package kube_test

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/listwatch/listwatch/kube"
)

func TestShardString(t *testing.T) {
	joined := func(ranges ...kube.HashRange) kube.Shard {
		s, err := kube.NewShard(ranges...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		shard kube.Shard
		want  string
	}{
		{kube.Shard{}, ""},
		{kube.EqualShard(0, 1), ""},
		{kube.EqualShard(0, 2), "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"},
		{kube.EqualShard(1, 2), "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"},
		{kube.EqualShard(1, 3), "shardRange(object.metadata.uid, '0x5555555555555556', '0xaaaaaaaaaaaaaaab')"},
		{joined(kube.HashRange{First: 0x20, Last: 0x2f}, kube.HashRange{First: 0, Last: 0xf}),
			"shardRange(object.metadata.uid, '0x0000000000000000', '0x0000000000000010') || shardRange(object.metadata.uid, '0x0000000000000020', '0x0000000000000030')"},
		{joined(kube.HashRange{First: 0x10, Last: 0x1f}, kube.HashRange{First: 0, Last: 0xf}, kube.HashRange{First: 5, Last: 7}),
			"shardRange(object.metadata.uid, '0x0000000000000000', '0x0000000000000020')"},
		{joined(kube.HashRange{First: 0, Last: 7}, kube.HashRange{First: 8, Last: math.MaxUint64}, kube.HashRange{First: 9, Last: 9}), ""},
	} {
		if got := c.shard.String(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	for _, bad := range [][]kube.HashRange{nil, {{First: 2, Last: 1}}} {
		if s, err := kube.NewShard(bad...); err == nil {
			t.Errorf("the ranges %v make %q", bad, s)
		}
	}
}

// TestShardsPartition compares shards with the hash of package fnv: each UID is in one of
// n shards, the same that floor(hash * n / 2^64) is.
func TestShardsPartition(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		uid, n := fmt.Sprintf("%x", dice.Uint64()), 1+dice.IntN(300)
		h := fnv.New64a()
		h.Write([]byte(uid))
		want, _ := bits.Mul64(h.Sum64(), uint64(n))
		for i := range n {
			if got := kube.EqualShard(i, n).Has(uid); got != (uint64(i) == want) {
				t.Fatalf("UID %s: shard %d of %d has it: %v, want it in %d", uid, i, n, got, want)
			}
		}
	}
}

func TestShardEnds(t *testing.T) {
	r := kube.EqualShard(1, 3).Ranges()
	if diff := cmp.Diff([]kube.HashRange{{First: 0x5555555555555556, Last: 0xaaaaaaaaaaaaaaaa}}, r); diff != "" {
		t.Errorf("ranges of the second third (-want +got):\n%s", diff)
	}
	s := kube.EqualShard(1, 3)
	for h, want := range map[uint64]bool{r[0].First - 1: false, r[0].First: true, r[0].Last: true, r[0].Last + 1: false} {
		if s.HasHash(h) != want {
			t.Errorf("%s has hash %#x: %v", s, h, !want)
		}
	}
	if kube.HashUID("") != 0xcbf29ce484222325 { // as kube-apiserver hashes it
		t.Errorf("the hash of no UID is %#x", kube.HashUID(""))
	}
}
