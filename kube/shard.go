package kube

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// Shard is a part of the objects of a collection: those whose UID has a hash in one of
// its ranges. The hash is 64-bit FNV-1a, as in kube-apiserver (KEP-5866), so shards are
// the same in every process. The zero Shard is all objects. A Shard is immutable and
// safe for concurrent use.
type Shard struct {
	ranges []HashRange // sorted, with a gap between each two; nil = all
}

// HashRange is a range of hashes, both ends included.
type HashRange struct{ First, Last uint64 }

// NewShard returns the shard of the objects whose hash is in one of the ranges. It
// fails without a range, or if a Last is below its First.
func NewShard(ranges ...HashRange) (Shard, error) {
	if len(ranges) == 0 {
		return Shard{}, errors.New("a shard needs a range of hashes")
	}
	sorted := slices.SortedFunc(slices.Values(ranges), func(a, b HashRange) int { return cmp.Compare(a.First, b.First) })
	var merged []HashRange
	for _, r := range sorted {
		if r.First > r.Last {
			return Shard{}, fmt.Errorf("the range of hashes from %#016x ends before it, at %#016x", r.First, r.Last)
		}
		if n := len(merged); n > 0 && (merged[n-1].Last == math.MaxUint64 || r.First <= merged[n-1].Last+1) {
			merged[n-1].Last = max(merged[n-1].Last, r.Last)
			continue
		}
		merged = append(merged, r)
	}
	if merged[0] == (HashRange{0, math.MaxUint64}) {
		return Shard{}, nil
	}
	return Shard{merged}, nil
}

// EqualShard returns shard i of n shards that together hold all objects: one range of
// hashes, of the same size for each. It panics unless 0 <= i < n.
func EqualShard(i, n int) Shard {
	if i < 0 || i >= n {
		panic(fmt.Sprintf("kube: shard %d of %d", i, n))
	}
	if n == 1 {
		return Shard{}
	}
	first := func(i int) uint64 { // the smallest hash h with h*n/2^64 >= i
		quotient, rest := bits.Div64(uint64(i), 0, uint64(n))
		if rest > 0 {
			quotient++
		}
		return quotient
	}
	r := HashRange{first(i), math.MaxUint64}
	if i+1 < n {
		r.Last = first(i+1) - 1
	}
	return Shard{[]HashRange{r}}
}

// HashUID returns the hash of a UID, which decides to which [Shard] its object belongs.
func HashUID[S string | []byte](uid S) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(uid) {
		h = (h ^ uint64(uid[i])) * 1099511628211
	}
	return h
}

// All reports whether the shard contains all objects.
func (s Shard) All() bool { return s.ranges == nil }

// Has reports whether the object with the UID is in the shard. Objects without a UID
// have the hash of "".
func (s Shard) Has(uid string) bool { return s.HasHash(HashUID(uid)) }

// HasHash reports whether objects whose UID has the hash are in the shard.
func (s Shard) HasHash(h uint64) bool {
	for _, r := range s.ranges {
		if r.First <= h && h <= r.Last {
			return true
		}
	}
	return s.ranges == nil
}

// Ranges returns a copy of the ranges, sorted, with gaps between them.
func (s Shard) Ranges() []HashRange {
	if s.All() {
		return []HashRange{{0, math.MaxUint64}}
	}
	return slices.Clone(s.ranges)
}

// String returns the shard as the parameter shardSelector of a list or watch, "" for
// all objects. See https://kubernetes.io/docs/reference/using-api/api-concepts/.
func (s Shard) String() string {
	var terms []string
	for _, r := range s.ranges {
		end := "0x10000000000000000" // the only bound with 17 digits
		if r.Last != math.MaxUint64 {
			end = fmt.Sprintf("0x%016x", r.Last+1)
		}
		terms = append(terms, fmt.Sprintf("shardRange(object.metadata.uid, '0x%016x', '%s')", r.First, end))
	}
	return strings.Join(terms, " || ")
}
