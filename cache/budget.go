package cache

import (
	"fmt"
	"sync/atomic"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Budget limits the memory of the objects of several informers together. An informer that
// would exceed it ends: its Run and WaitSynced return a *BudgetError, its store keeps its
// state and gets no more events, and the other informers continue. Without a Budget the
// kernel may kill the process. When the Run of an informer has returned, the budget no
// longer counts its memory, even if the caller keeps the store.
//
// The count is an estimate: the strings, slices, maps and pointers of the objects, the keys
// of those that could not be decoded, and the overhead of the store. Indexes and the queue
// of a DeltaFIFO are not counted. Each object is measured by reflection, unless it has a
// method MemorySize() int, as codec.Raw has; see codec.SizerOf.
//
// Its methods are safe for concurrent use. It must not be copied.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Limit returns the limit in bytes.
func (b *Budget) Limit() int64 { return b.limit }

// Used returns how many bytes the informers use now.
func (b *Budget) Used() int64 { return b.used.Load() }

// BudgetError reports that an informer ended because it would have exceeded its budget.
type BudgetError struct {
	Limit int64    // of the budget, in bytes
	Used  int64    // by all informers of the budget
	Held  int64    // by this one
	Key   kube.Key // of the object that did not fit
	Needs int64    // additional bytes that it would have used
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("the memory budget of %d bytes is used up: %d are used, %d of them by this informer, and %s needs %d more",
		e.Limit, e.Used, e.Held, e.Key, e.Needs)
}

// objectOverhead is the memory of the store's map for one object, at the usual load, in
// bytes.
const objectOverhead = 160

// take uses n more bytes, unless that exceeds the limit. It returns the use before.
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

// account is the share of one informer in a budget. A nil account counts nothing.
// Except held, it is guarded by Informer.exclusive.
type account[T kube.Object] struct {
	budget   *Budget
	size     func(T) int
	held     atomic.Int64
	unread   int64 // the part of held for what could not be decoded
	admitted int64 // reserved for an event that is not in the store yet
}

// admit reserves what ev adds to s, for enter to count. It fails if the budget is used up.
func (a *account[T]) admit(s *Store[T], ev watch.Event[T], unreadable bool) error {
	if a == nil || ev.Type != watch.Added && ev.Type != watch.Modified {
		return nil
	}
	if unreadable {
		return a.take(ev.Key, s.unreadNeeds(ev))
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

// enter counts the changes of s.
func (a *account[T]) enter(s *Store[T], deltas []Delta[T]) {
	if a == nil {
		return
	}
	unread := s.unreadBytes()
	n := unread - a.unread
	a.unread = unread
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

// load counts the objects of a snapshot.
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

// close releases the whole share.
func (a *account[T]) close() { a.hold(-a.held.Load()) }

// hold adds n to the share, of which admit has reserved a part.
func (a *account[T]) hold(n int64) {
	a.held.Add(n)
	a.budget.used.Add(n - a.admitted)
	a.admitted = 0
}

func (a *account[T]) sizeOf(o T) int64 { return int64(a.size(o)) + objectOverhead }
