package cache

import (
	"iter"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/cache/internal/keyset"
	"github.com/listwatch/listwatch/kube"
)

// Index finds the objects of a store by values that a function returns for them: pods
// by node, ingresses by the secrets they use. It is always consistent with the store.
// All methods are safe for concurrent use.
type Index[T kube.Object, K comparable] struct {
	store  *Store[T]
	values func(dst []K, o T) []K

	// Guarded by the store's mu, like the methods of indexer.
	sets       map[K]*keyset.Set // no set is empty
	before     []K               // of the change being prepared: values of the old object
	after      []K               // and of the new one
	namespaces bool              // made by ByNamespace
}

// indexer is an Index of any key type. It is changed under the lock, in two steps, so that a
// panic changes nothing.
type indexer[T kube.Object] interface {
	// prepare prepares a change: either object may be missing. It calls the user's
	// function and changes nothing. It reports whether commit will keep the key.
	prepare(key kube.Key, old T, had bool, object T, has bool) (keeps bool)
	// commit makes the prepared change. It cannot fail.
	commit(key kube.Key)
	// reset empties the index.
	reset()
}

// reindex changes the indexes. The caller holds mu and has not changed the store yet.
func (s *Store[T]) reindex(key kube.Key, old T, had bool, object T, has bool) {
	keeps := false
	for _, x := range s.indexes {
		if x.prepare(key, old, had, object, has) {
			keeps = true
		}
	}
	if keeps {
		key = clone(key)
	}
	for _, x := range s.indexes {
		x.commit(key)
	}
}

// attach adds an index and fills it.
func (s *Store[T]) attach(x indexer[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none T
	for key, e := range s.objects {
		if x.prepare(key, none, false, e.object, true) {
			key = clone(key)
		}
		x.commit(key)
	}
	s.indexes = append(s.indexes, x)
}

// detach removes an index. The caller holds mu.
func (s *Store[T]) detach(x indexer[T]) {
	s.indexes = slices.DeleteFunc(s.indexes, func(o indexer[T]) bool { return o == x })
}

// NewIndex adds an index to s: an object is found under each value that f returns for it.
// The store may hold objects already and be in use; it is locked while they are indexed.
//
// Use By if an object has one value: it does not allocate.
//
// f must be pure: the same object always has the same values, in any order; a value may
// occur twice. It is called with a lock held, so it must not use the store. If it
// panics, the panic passes through Apply, or NewIndex, and the store and all its
// indexes are as before that object.
//
// A value must equal itself: NaN does not, and is left out.
func NewIndex[T kube.Object, K comparable](s *Store[T], f func(T) []K) *Index[T, K] {
	return newIndex(s, func(dst []K, o T) []K { return append(dst, f(o)...) }, false)
}

// By adds an index by a single value; f returns false for an object without one.
// Otherwise it is like NewIndex.
func By[T kube.Object, K comparable](s *Store[T], f func(T) (K, bool)) *Index[T, K] {
	return newIndex(s, one(f), false)
}

func one[T kube.Object, K comparable](f func(T) (K, bool)) func([]K, T) []K {
	return func(dst []K, o T) []K {
		if k, ok := f(o); ok {
			dst = append(dst, k)
		}
		return dst
	}
}

func newIndex[T kube.Object, K comparable](s *Store[T], values func([]K, T) []K, namespaces bool) *Index[T, K] {
	x := &Index[T, K]{store: s, values: values, sets: map[K]*keyset.Set{}, namespaces: namespaces}
	s.attach(x)
	return x
}

// Close removes the index from its store and empties it. It may be called more than once.
func (x *Index[T, K]) Close() {
	x.store.mu.Lock()
	defer x.store.mu.Unlock()
	x.store.detach(x)
	x.sets = nil
}

func (x *Index[T, K]) prepare(_ kube.Key, old T, had bool, object T, has bool) (keeps bool) {
	x.before, x.after = x.before[:0], x.after[:0]
	if had {
		x.before = x.values(x.before, old)
	}
	if has {
		x.after = x.values(x.after, object)
	}
	// The comparison drops NaN. If K is an interface that holds an incomparable value,
	// it panics here and not in commit.
	x.after = slices.DeleteFunc(x.after, func(k K) bool { same := k; return k != same })
	return len(x.after) > 0 && !slices.Equal(x.before, x.after)
}

func (x *Index[T, K]) commit(key kube.Key) {
	if !slices.Equal(x.before, x.after) {
		for _, k := range x.before {
			x.remove(k, key)
		}
		for _, k := range x.after {
			x.add(k, key)
		}
	}
	clear(x.before)
	clear(x.after)
}

func (x *Index[T, K]) reset() { clear(x.sets) }

func (x *Index[T, K]) add(k K, key kube.Key) {
	set := x.sets[k]
	if set == nil {
		set = &keyset.Set{}
		x.sets[clone(k)] = set
	}
	set.Add(key)
}

func (x *Index[T, K]) remove(k K, key kube.Key) {
	set := x.sets[k]
	if set == nil {
		return
	}
	if set.Remove(key); set.Len() == 0 {
		delete(x.sets, k)
	}
}

// clone copies a string or key, which may share memory with an object, as the strings
// of codec.Raw do, and would keep it in memory.
func clone[K comparable](k K) K {
	switch p := any(&k).(type) {
	case *string:
		*p = strings.Clone(*p)
	case *kube.Key:
		both := p.Namespace + p.Name // one allocation
		p.Namespace, p.Name = both[:len(p.Namespace)], both[len(p.Namespace):]
	}
	return k
}

// Keys returns the keys of the objects that have the value k, sorted.
func (x *Index[T, K]) Keys(k K) []kube.Key {
	x.store.mu.RLock()
	keys := x.sets[k].Keys()
	x.store.mu.RUnlock()
	slices.SortFunc(keys, kube.Key.Compare)
	return keys
}

// Get yields the objects that have the value k, in no order, as they are when the loop
// begins. The store may change meanwhile.
func (x *Index[T, K]) Get(k K) iter.Seq2[kube.Key, T] {
	return func(yield func(kube.Key, T) bool) {
		x.store.mu.RLock()
		pairs := x.pairs(k)
		x.store.mu.RUnlock()
		for _, p := range pairs {
			if !yield(p.key, p.object) {
				return
			}
		}
	}
}

// pairs returns the objects that Get yields. The caller holds mu.
func (x *Index[T, K]) pairs(k K) []pair[T] {
	set := x.sets[k]
	pairs := make([]pair[T], 0, set.Len())
	for key := range set.All() {
		pairs = append(pairs, pair[T]{key, x.store.objects[key].object})
	}
	return pairs
}

// Len returns how many objects have the value k.
func (x *Index[T, K]) Len(k K) int {
	x.store.mu.RLock()
	defer x.store.mu.RUnlock()
	return x.sets[k].Len()
}

// Values yields the values of all objects, each once, in no order, as they are when the
// loop begins.
func (x *Index[T, K]) Values() iter.Seq[K] {
	return func(yield func(K) bool) {
		x.store.mu.RLock()
		values := make([]K, 0, len(x.sets))
		for k := range x.sets {
			values = append(values, k)
		}
		x.store.mu.RUnlock()
		for _, k := range values {
			if !yield(k) {
				return
			}
		}
	}
}
