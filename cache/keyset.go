package cache

import (
	"iter"
	"maps"
	"slices"

	"github.com/listwatch/listwatch/kube"
)

// keySet is a set of keys. Most sets are small, for which a map takes too much memory.
// A nil set is empty.
type keySet struct {
	few  []kube.Key
	many map[kube.Key]struct{} // replaces few once there are more than fewKeys
}

const fewKeys = 8

func (s *keySet) add(k kube.Key) {
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

func (s *keySet) remove(k kube.Key) {
	if s.many != nil {
		delete(s.many, k)
		return
	}
	if i := slices.Index(s.few, k); i >= 0 {
		s.few = slices.Delete(s.few, i, i+1)
	}
}

func (s *keySet) len() int {
	if s == nil {
		return 0
	}
	return len(s.few) + len(s.many)
}

func (s *keySet) all() iter.Seq[kube.Key] {
	if s != nil && s.many != nil {
		return maps.Keys(s.many)
	}
	return slices.Values(s.keys())
}

// keys returns a copy, in no order.
func (s *keySet) keys() []kube.Key {
	switch {
	case s == nil:
		return nil
	case s.many == nil:
		return slices.Clone(s.few)
	}
	return slices.AppendSeq(make([]kube.Key, 0, len(s.many)), maps.Keys(s.many))
}
