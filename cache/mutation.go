package cache

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/listwatch/listwatch/cache/internal/mutation"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
)

// Mutation is a change of an object in a store that the store did not make.
type Mutation struct {
	Informer string // its name; empty if MutationDetector.Check found it
	Key      kube.Key
	Path     string // of the changed member, such as ".spec.replicas"; "." = the object cannot be encoded any more
}

// String returns key and path: "default/web .spec.replicas".
func (m Mutation) String() string { return m.Key.String() + " " + m.Path }

// MutationDetector detects changes of objects that the store shares with all its readers. It
// is for tests: it keeps an encoded copy of every object. All methods are safe for
// concurrent use.
type MutationDetector[T kube.Object] struct {
	store *Store[T]

	// Guarded by the store's mu.
	stored map[kube.Key]*original[T]
	found  map[Mutation]bool

	// State of the change being prepared.
	paths []string     // where the old object was changed
	next  *original[T] // the new object; nil = none
}

// original is an object and its encoding when it was stored, or found to be changed.
type original[T kube.Object] struct {
	object T
	json   []byte
}

// DetectMutations begins to check the objects of s, present and future ones, each until
// it is replaced or deleted. Changes in what encoding/json does not write, such as unexported
// fields, are not detected. If an object cannot be encoded, DetectMutations or Apply panics.
//
//	mutations := cache.DetectMutations(informer.Store())
//	t.Cleanup(func() {
//		if found := mutations.Check(); found != nil {
//			t.Errorf("changed in the cache: %v", found)
//		}
//	})
func DetectMutations[T kube.Object](s *Store[T]) *MutationDetector[T] {
	d := &MutationDetector[T]{store: s, stored: map[kube.Key]*original[T]{}, found: map[Mutation]bool{}}
	s.attach(d)
	return d
}

// Check returns the changes that were detected since the detector began, sorted, each
// once; nil if there is none. It finds at most 16 members of an object at a time.
func (d *MutationDetector[T]) Check() []Mutation {
	d.store.mu.Lock() // so that what a reader did before it used the store is seen
	stored := maps.Clone(d.stored)
	d.store.mu.Unlock()
	for key, o := range stored {
		now, _ := codec.Encode(o.object) // not under the lock: readers would wait
		d.store.mu.Lock()
		if d.stored[key] == o { // else it was checked when it was replaced
			d.note(key, mutation.Paths(o.json, now))
			o.json = now
		}
		d.store.mu.Unlock()
	}
	d.store.mu.RLock()
	defer d.store.mu.RUnlock()
	return slices.SortedFunc(maps.Keys(d.found), func(a, b Mutation) int {
		return cmp.Or(a.Key.Compare(b.Key), cmp.Compare(a.Path, b.Path))
	})
}

// Close ends the detection. Check returns what was detected until then.
func (d *MutationDetector[T]) Close() {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	d.store.detach(d)
	clear(d.stored)
}

func (d *MutationDetector[T]) note(key kube.Key, paths []string) {
	for _, path := range paths {
		d.found[Mutation{Key: key, Path: path}] = true
	}
}

func (d *MutationDetector[T]) prepare(key kube.Key, old T, had bool, object T, has bool) (keeps bool) {
	if d.paths = nil; had {
		now, _ := codec.Encode(old)
		d.paths = mutation.Paths(d.stored[key].json, now)
	}
	if d.next = nil; has {
		json, err := codec.Encode(object)
		if err != nil {
			panic(fmt.Errorf("detect mutations of %s: %w", key, err))
		}
		d.next = &original[T]{object, json}
	}
	return false // extra memory for a key does not matter in tests
}

func (d *MutationDetector[T]) commit(key kube.Key) {
	d.note(key, d.paths)
	if d.next != nil {
		d.stored[key] = d.next
	} else {
		delete(d.stored, key)
	}
}

func (d *MutationDetector[T]) reset() { clear(d.stored) }

// DetectMutations makes Run compare the objects of the store with copies, each second and
// when it ends, and call report once for each change that the program made to an object in
// place: see [MutationDetector]. It must be called before Run. It is for tests and for
// debugging: if the program changes an object while Run reads it, Go's race detector reports
// that too.
func (i *Informer[T]) DetectMutations(report func(Mutation)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.mutated = report
}

// detectMutations begins to report mutations, if that was requested. The function that it
// returns looks for them once more, and ends that.
func (i *Informer[T]) detectMutations() (end func()) {
	i.mu.Lock()
	report := i.mutated
	i.mu.Unlock()
	if report == nil {
		return func() {}
	}
	d, reported := DetectMutations(i.store), map[Mutation]bool{}
	check := func() {
		for _, m := range d.Check() {
			if m.Informer = i.name; !reported[m] {
				reported[m] = true
				report(m)
			}
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	var checking sync.WaitGroup
	checking.Go(func() {
		for wait.For(ctx, time.Second) == nil {
			check()
		}
	})
	return func() {
		stop()
		checking.Wait()
		check()
		d.Close()
	}
}
