package cache

import (
	"fmt"
	"sync/atomic"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Budget limits how much memory the objects of informers take together. An
// informer that would go beyond it ends: its Run and WaitSynced return a
// *BudgetError, its store stays as it was and is told nothing more, and the
// others go on. That is the alternative to a kernel that ends the process
// without a word. What an informer took is free again when its Run has returned;
// whoever keeps the store of one that has ended keeps its memory.
//
// What is counted is an estimate: the objects by their strings, slices, maps and
// pointers, and what the store needs to find them. Indexes and what waits in a
// DeltaFIFO are not. It follows every object by reflection, unless that has a
// method MemorySize() int, as codec.Raw has: see codec.SizerOf.
//
// Its methods are safe for concurrent use. It must not be copied.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Limit returns how many bytes there are.
func (b *Budget) Limit() int64 { return b.limit }

// Used returns how many bytes the informers take now.
func (b *Budget) Used() int64 { return b.used.Load() }

// BudgetError says that an informer ended because it would have gone beyond its
// budget.
type BudgetError struct {
	Limit int64    // of the budget, in bytes
	Used  int64    // by all informers of the budget
	Held  int64    // by this one
	Key   kube.Key // the object that was too much
	Needs int64    // what it would have taken besides
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("the memory budget of %d bytes is used up: %d are taken, %d of them by this informer, and %s needs %d more",
		e.Limit, e.Used, e.Held, e.Key, e.Needs)
}

// objectOverhead is what the store takes for an object besides the object: its
// place in the map, at the usual load.
const objectOverhead = 160

// take uses n bytes more, unless there are too few. It returns how many were used.
func (b *Budget) take(n int64) (used int64, ok bool) {
	for {
		used = b.used.Load()
		if used+n > b.limit {
			return used, false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return used, true
		}
	}
}

// account is what an informer takes of a budget. A nil one counts nothing. But
// for held, it is for who has the turn.
type account[T kube.Object] struct {
	budget   *Budget
	size     func(T) int
	held     atomic.Int64
	admitted int64 // taken for an event that is not in the store yet
}

// admit takes what ev adds to s, for enter to count; it fails if there is no room.
func (a *account[T]) admit(s *Store[T], ev watch.Event[T]) error {
	if a == nil || ev.Type != watch.Added && ev.Type != watch.Modified {
		return nil
	}
	needs := a.sizeOf(ev.Object)
	if old, ok := s.entry(ev.Key); ok {
		needs -= a.sizeOf(old.object)
	}
	return a.take(ev.Key, needs)
}

func (a *account[T]) take(key kube.Key, needs int64) error {
	if needs <= 0 {
		return nil
	}
	if used, ok := a.budget.take(needs); !ok {
		return &BudgetError{Limit: a.budget.limit, Used: used, Held: a.held.Load(), Key: key, Needs: needs}
	}
	a.admitted += needs
	return nil
}

// enter counts what was changed.
func (a *account[T]) enter(deltas []Delta[T]) {
	if a == nil {
		return
	}
	var n int64
	for _, d := range deltas {
		switch d.Type {
		case watch.Added:
			n += a.sizeOf(d.New)
		case watch.Modified:
			n += a.sizeOf(d.New) - a.sizeOf(d.Old)
		case watch.Deleted:
			n -= a.sizeOf(d.Old)
		}
	}
	a.hold(n)
}

// load counts what a snapshot held.
func (a *account[T]) load(s *Store[T]) error {
	if a == nil {
		return nil
	}
	for key, o := range s.All() {
		n := a.sizeOf(o)
		if err := a.take(key, n); err != nil {
			return err
		}
		a.hold(n)
	}
	return nil
}

// close gives back what was taken.
func (a *account[T]) close() { a.hold(-a.held.Load()) }

// hold adds n to what is held, for which some was taken by admit.
func (a *account[T]) hold(n int64) {
	a.held.Add(n)
	a.budget.used.Add(n - a.admitted)
	a.admitted = 0
}

func (a *account[T]) sizeOf(o T) int64 { return int64(a.size(o)) + objectOverhead }
