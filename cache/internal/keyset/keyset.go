// Package keyset has sets of keys, most of them small.
package keyset

import (
	"iter"
	"maps"
	"slices"

	"github.com/listwatch/listwatch/kube"
)

// Set is a set of keys. Most sets are small, for which a map takes too much memory.
// A nil set is empty.
type Set struct {
	few  []kube.Key
	many map[kube.Key]struct{} // replaces few once there are more than fewKeys
}

const fewKeys = 8

// Add adds k.
func (s *Set) Add(k kube.Key) {
	if s.many != nil {
		s.many[k] = struct{}{}
		return
	}
	if slices.Contains(s.few, k) {
		return
	}
	s.few = append(s.few, k)
	if len(s.few) <= fewKeys {
		return
	}
	s.many = make(map[kube.Key]struct{}, 2*len(s.few))
	for _, k := range s.few {
		s.many[k] = struct{}{}
	}
	s.few = nil
}

// Remove removes k, if s has it.
func (s *Set) Remove(k kube.Key) {
	if s.many != nil {
		delete(s.many, k)
		return
	}
	if i := slices.Index(s.few, k); i >= 0 {
		s.few = slices.Delete(s.few, i, i+1)
	}
}

// Len returns the number of keys.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.few) + len(s.many)
}

// All yields the keys, in no order. s must not change meanwhile.
func (s *Set) All() iter.Seq[kube.Key] {
	if s != nil && s.many != nil {
		return maps.Keys(s.many)
	}
	return slices.Values(s.Keys())
}

// Keys returns a copy, in no order.
func (s *Set) Keys() []kube.Key {
	switch {
	case s == nil:
		return nil
	case s.many == nil:
		return slices.Clone(s.few)
	}
	return slices.AppendSeq(make([]kube.Key, 0, len(s.many)), maps.Keys(s.many))
}
