package cache

import (
	"strings"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// unreadable are the objects of a store whose latest state could not be decoded. The
// stored state of each, if there is one, is an earlier one.
type unreadable struct {
	states map[kube.Key]unreadState // nil = there was none
	bytes  int64                    // of states, as an estimate
}

// unreadState is what is known of a state that could not be decoded.
type unreadState struct {
	revision kube.Revision
	mark
}

// size returns how many bytes a state takes.
func (u unreadState) size(k kube.Key) int64 {
	return objectOverhead + int64(len(k.Namespace)+len(k.Name)+len(u.revision))
}

// add adds or replaces the state of k. The strings of an event may share memory with a
// larger one.
func (u *unreadable) add(k kube.Key, now unreadState) {
	if u.states == nil {
		u.states = map[kube.Key]unreadState{}
	}
	if old, ok := u.states[k]; ok {
		u.bytes -= old.size(k)
	} else {
		k = kube.Key{Namespace: strings.Clone(k.Namespace), Name: strings.Clone(k.Name)}
	}
	now.revision = kube.Revision(strings.Clone(string(now.revision)))
	u.states[k] = now
	u.bytes += now.size(k)
}

// remove removes the state of k, if there is one.
func (u *unreadable) remove(k kube.Key) {
	if old, ok := u.states[k]; ok {
		u.bytes -= old.size(k)
		delete(u.states, k)
	}
}

// sweep removes the states that the last list of a source did not contain.
func (u *unreadable) sweep(last mark) {
	for k, state := range u.states {
		if state.part == last.part && state.generation != last.generation {
			u.remove(k)
		}
	}
}

// unreadBytes returns how many bytes the objects that could not be decoded take.
func (s *Store[T]) unreadBytes() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.unread.bytes
}

// unreadNeeds returns how many more they take with the object of ev, at most.
func (s *Store[T]) unreadNeeds(ev watch.Event[T]) int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	needs := unreadState{revision: ev.Revision}.size(ev.Key)
	if old, ok := s.unread.states[ev.Key]; ok {
		needs -= old.size(ev.Key)
	}
	return needs
}
