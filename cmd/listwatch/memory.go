package main

import (
	"fmt"
	"sync/atomic"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/watch"
)

// defaultMemory is the limit of memory in MiB. A pod without managedFields takes some
// 3 KiB: 300,000 pods fit.
const defaultMemory = 1024

// maxMemory is the largest limit in MiB, a petabyte.
const maxMemory = 1 << 30

// storeOverhead is what the store takes for one object besides its text, in bytes.
const storeOverhead = 160

// memory limits what all streams of a run hold: a server may send objects without end,
// and the last state of each is printed when it is deleted. It counts the text of the
// objects, and what the store and a selector take for each; a garbage collector needs
// up to as much again. It is safe for concurrent use.
type memory struct {
	limit int64 // bytes; 0 = none
	used  atomic.Int64
}

// apply applies an event to the store and counts what it holds then.
func (s *stream[T]) apply(ev watch.Event[T]) []cache.Delta[T] {
	deltas := s.store.Apply(ev)
	s.count(deltas)
	return deltas
}

// count counts changes of the store.
func (s *stream[T]) count(deltas []cache.Delta[T]) {
	for _, d := range deltas {
		switch d.Type {
		case watch.Added:
			s.held += storeOverhead + int64(d.New.MemorySize())
		case watch.Modified:
			s.held += int64(d.New.MemorySize()) - int64(d.Old.MemorySize())
		case watch.Deleted:
			s.held -= storeOverhead + int64(d.Old.MemorySize())
		}
	}
}

// fits returns an error if the streams hold more than the limit.
func (s *stream[T]) fits() error {
	if s.memory == nil || s.memory.limit == 0 {
		return nil
	}
	n := s.held + s.selector.Bytes()
	used := s.memory.used.Add(n - s.counted)
	s.counted = n
	if used <= s.memory.limit {
		return nil
	}
	return exit.Failed(fmt.Errorf("watch %s%s: the objects take more than %d MiB (--memory): watch fewer by -l, -n or names, or set a higher limit",
		s.Label(), s.Where(), s.memory.limit>>20))
}
