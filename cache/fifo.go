package cache

import (
	"container/list"
	"context"
	"iter"
	"sync"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// DeltaFIFO is the queue of a slow consumer. Its size is bounded by the number of objects: a
// further delta of a queued object is merged into the queued ones. The consumer may miss
// intermediate states, but not the latest one, and not the deletion of an object that it received.
// Of the objects that were added and deleted before the consumer received them, the queue keeps at
// most 4096, and at most 64 MiB; beyond that it drops both deltas of the oldest. It does not drop
// initial objects. Pop returns objects in the order in which they were first queued. It is safe
// for concurrent use.
type DeltaFIFO[T kube.Object] struct {
	cancel bool
	ready  chan struct{} // of size 1

	mu      sync.Mutex
	waiting map[kube.Key]*list.Element
	order   *list.List // of *backlog[T], the oldest at the front
	unseen  unseen[T]
	popped  []Delta[T] // returned by the last Pop
}

// backlog holds the queued deltas of one key: the initial additions and their
// deletions, which are few, and at most two more of each.
type backlog[T kube.Object] struct {
	deltas []Delta[T]
	since  time.Time

	unseen *list.Element // in unseen.order; nil = not in it
	bytes  int           // size in unseen, if it is in it
}

// FIFOOptions of a DeltaFIFO.
type FIFOOptions struct {
	// Cancel drops an object that was added and deleted before the consumer received
	// it. By default the consumer gets both deltas, within the limit of the DeltaFIFO.
	// An initial object may be known from an earlier process, and is not dropped.
	Cancel bool

	// Transient is for a consumer that begins with the current state at each start, such as
	// a browser: the informer's [Snapshot] does not keep the deletions that the consumer has
	// not acknowledged. It applies to Changes only.
	Transient bool
}

// NewDeltaFIFO returns an empty FIFO.
func NewDeltaFIFO[T kube.Object](o FIFOOptions) *DeltaFIFO[T] {
	return &DeltaFIFO[T]{
		cancel: o.Cancel, ready: make(chan struct{}, 1), waiting: map[kube.Key]*list.Element{}, order: list.New(),
		unseen: unseen[T]{order: list.New(), size: codec.SizerOf[T]()},
	}
}

// Push adds d. It never blocks.
func (q *DeltaFIFO[T]) Push(d Delta[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	el := q.waiting[d.Key]
	if el == nil {
		el = q.order.PushBack(&backlog[T]{since: time.Now()})
		q.waiting[d.Key] = el
	}
	b := el.Value.(*backlog[T])
	q.unseen.leave(b)
	if b.add(d, q.cancel); len(b.deltas) == 0 {
		delete(q.waiting, d.Key)
		q.order.Remove(el)
	} else if b.endsUnseen() {
		q.unseen.enter(b)
	}
	for q.unseen.tooMany() {
		q.forget(q.unseen.oldest())
	}
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// add merges d into the queued deltas.
func (b *backlog[T]) add(d Delta[T], cancel bool) {
	n := len(b.deltas)
	if n == 0 {
		b.deltas = append(b.deltas, d)
		return
	}
	last := &b.deltas[n-1]
	switch {
	case d.Resync:
		// The queued deltas already show a change.
	case d.Type == watch.Modified && last.Type != watch.Deleted:
		// Added or Modified, with a newer state.
		last.New, last.UID, last.Revision = d.New, d.UID, d.Revision
		last.Inferred, last.Resync = last.Inferred || d.Inferred, false
	case d.Type == watch.Deleted && last.Type == watch.Modified:
		d.Old = last.Old
		*last = d
	case d.Type == watch.Deleted && last.Type == watch.Added && cancel && !last.Initial:
		b.deltas = b.deltas[:n-1] // the consumer does not know the object
	case d.Type == watch.Added && n > 2 && !b.deltas[n-2].Initial:
		// The consumer received neither the previous addition nor its deletion; earlier
		// ones remain. An initial one may be known from an earlier process.
		b.deltas = append(b.deltas[:n-2], d)
	default:
		b.deltas = append(b.deltas, d)
	}
}

// Pop waits for deltas and returns those of one object, in order, valid until the next
// Pop. When ctx is done and the queue is empty, it returns the cause.
func (q *DeltaFIFO[T]) Pop(ctx context.Context) ([]Delta[T], error) {
	q.done()
	for {
		if d := q.take(); d != nil {
			return d, nil
		}
		select {
		case <-q.ready:
		case <-ctx.Done():
			if d := q.take(); d != nil { // queued at the same time
				return d, nil
			}
			return nil, context.Cause(ctx)
		}
	}
}

func (q *DeltaFIFO[T]) take() []Delta[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	el := q.order.Front()
	if el == nil {
		return nil
	}
	b := q.order.Remove(el).(*backlog[T])
	q.unseen.leave(b)
	q.popped = b.deltas
	delete(q.waiting, q.popped[0].Key)
	return q.popped
}

// done acknowledges the deltas that Pop returned last.
func (q *DeltaFIFO[T]) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.popped = nil
}

// deletions returns the deletions that the consumer has not acknowledged.
func (q *DeltaFIFO[T]) deletions() []Delta[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	var deleted []Delta[T]
	note := func(deltas []Delta[T]) {
		for _, d := range deltas {
			if d.Type == watch.Deleted {
				deleted = append(deleted, d)
			}
		}
	}
	note(q.popped)
	for el := q.order.Front(); el != nil; el = el.Next() {
		note(el.Value.(*backlog[T]).deltas)
	}
	return deleted
}

// Len returns the number of queued objects.
func (q *DeltaFIFO[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// Age returns how long the oldest object has been queued; 0 if the queue is empty.
func (q *DeltaFIFO[T]) Age() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if el := q.order.Front(); el != nil {
		return time.Since(el.Value.(*backlog[T]).since)
	}
	return 0
}

// Changes is for slow consumers: it yields the existing objects, then the changes, from a
// [DeltaFIFO] of its own, which merges them if the loop is slow. It delays no other
// handler. It ends when ctx is done, even if deltas are queued, or when the loop is left. It does
// not end with the informer.
//
// A change is acknowledged when the loop asks for the next object. With a [Snapshot], the next
// process delivers the deletions that were not acknowledged when this process or the loop ended,
// and those that occur after the end of the loop, for up to twice Snapshot.Every. For loops that
// have ended only the last 4096 deletions are kept; OnError gets the number of the others.
func (i *Informer[T]) Changes(ctx context.Context, o FIFOOptions) iter.Seq[Delta[T]] {
	return func(yield func(Delta[T]) bool) {
		q := NewDeltaFIFO[T](o)
		h := &Handler[T]{f: q.Push}
		if !o.Transient {
			h.unacked = q.deletions
		}
		i.handle(h)
		defer h.abandon()
		for {
			deltas, err := q.Pop(ctx)
			if err != nil {
				return
			}
			for _, d := range deltas {
				if ctx.Err() != nil || !yield(d) {
					return
				}
			}
		}
	}
}
