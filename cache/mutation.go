package cache

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// MutationDetector detects changes of objects that the store shares with all its readers. It
// is for tests: it encodes every object twice. All methods are safe for concurrent use.
type MutationDetector[T kube.Object] struct {
	store *Store[T]
	seed  maphash.Seed

	// Guarded by the store's mu.
	sums  map[kube.Key]uint64
	found map[kube.Key]bool

	// State of the change being prepared.
	sum     uint64
	changed bool // the old object was changed
	has     bool
}

// DetectMutations begins to check the objects of s, present and future ones, each until
// it is replaced or deleted. Changes that encoding/json does not write, such as those
// of unexported fields, are not detected. If an object cannot be encoded,
// DetectMutations or Apply panics.
//
//	mutations := cache.DetectMutations(informer.Store())
//	t.Cleanup(func() {
//		if keys := mutations.Check(); keys != nil {
//			t.Errorf("changed in the cache: %v", keys)
//		}
//	})
func DetectMutations[T kube.Object](s *Store[T]) *MutationDetector[T] {
	d := &MutationDetector[T]{
		store: s, seed: maphash.MakeSeed(),
		sums: map[kube.Key]uint64{}, found: map[kube.Key]bool{},
	}
	s.attach(d)
	return d
}

// Check returns the keys of all objects whose change was detected since the detector
// began, sorted; nil if there is none.
func (d *MutationDetector[T]) Check() []kube.Key {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	for key, sum := range d.sums {
		if now, err := d.sumOf(d.store.objects[key].object); now != sum || err != nil {
			d.found[key] = true
		}
	}
	return slices.SortedFunc(maps.Keys(d.found), kube.Key.Compare)
}

// Close ends the detection. Check returns what was detected until then.
func (d *MutationDetector[T]) Close() {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	d.store.detach(d)
	clear(d.sums)
}

func (d *MutationDetector[T]) prepare(key kube.Key, old T, had bool, object T, has bool) (keeps bool) {
	d.has = has
	if d.changed = false; had {
		now, err := d.sumOf(old)
		d.changed = now != d.sums[key] || err != nil
	}
	if has {
		var err error
		if d.sum, err = d.sumOf(object); err != nil {
			panic(fmt.Errorf("detect mutations of %s: %w", key, err))
		}
	}
	return false // extra memory for a key does not matter in tests
}

func (d *MutationDetector[T]) commit(key kube.Key) {
	if d.changed {
		d.found[key] = true
	}
	if d.has {
		d.sums[key] = d.sum
	} else {
		delete(d.sums, key)
	}
}

func (d *MutationDetector[T]) reset() { clear(d.sums) }

// sumOf returns a fingerprint of o.
func (d *MutationDetector[T]) sumOf(o T) (uint64, error) {
	b, err := codec.Encode(o)
	return maphash.Bytes(d.seed, b), err
}
