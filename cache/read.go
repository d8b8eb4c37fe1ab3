package cache

import (
	"iter"
	"runtime"
	"slices"

	"github.com/listwatch/listwatch/kube"
)

type pair[T kube.Object] struct {
	key    kube.Key
	object T
}

// Select yields the objects of a namespace, or of all if it is empty, for which match
// returns true, or all if match is nil. It yields them as they are when the loop begins, in the
// order of a LIST: see [kube.Key.Compare]. The store may change meanwhile.
//
// It visits every object of the store, or, if ByNamespace was called, those of the
// namespace.
func (s *Store[T]) Select(namespace string, match func(T) bool) iter.Seq2[kube.Key, T] {
	return func(yield func(kube.Key, T) bool) {
		for _, p := range s.selected(namespace, match) {
			if !yield(p.key, p.object) {
				return
			}
		}
	}
}

// List returns the objects that Select yields. The caller owns the slice.
func (s *Store[T]) List(namespace string, match func(T) bool) []T {
	pairs := s.selected(namespace, match)
	objects := make([]T, len(pairs))
	for i, p := range pairs {
		objects[i] = p.object
	}
	return objects
}

func (s *Store[T]) selected(namespace string, match func(T) bool) []pair[T] {
	pairs := s.within(namespace)
	if match != nil { // not under the lock
		pairs = slices.DeleteFunc(pairs, func(p pair[T]) bool { return !match(p.object) })
	}
	slices.SortFunc(pairs, func(a, b pair[T]) int { return a.key.Compare(b.key) })
	return pairs
}

// within returns the objects of a namespace, or all, in no order.
func (s *Store[T]) within(namespace string) []pair[T] {
	s.runningRLock()
	defer s.mu.RUnlock()
	if namespace == "" {
		pairs := make([]pair[T], 0, len(s.objects))
		for k, e := range s.objects {
			pairs = append(pairs, pair[T]{k, e.object})
		}
		return pairs
	}
	for _, x := range s.indexes {
		if x, ok := x.(*Index[T, string]); ok && x.namespaces {
			return x.pairs(namespace)
		}
	}
	var pairs []pair[T]
	for k, e := range s.objects {
		if k.Namespace == namespace {
			pairs = append(pairs, pair[T]{k, e.object})
		}
	}
	return pairs
}

// runningRLock locks mu for reading, and as a rule only at a moment when this goroutine runs. A
// goroutine that waits in RLock has the lock as soon as the writer releases it, also
// while it waits for a processor behind others that read and sort: the next event would
// wait for them all.
func (s *Store[T]) runningRLock() {
	for range 100 {
		if s.mu.TryRLock() {
			return
		}
		runtime.Gosched()
	}
	s.mu.RLock() // the writer takes long
}
