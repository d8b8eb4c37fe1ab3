package cache

import (
	"container/list"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Limits of a DeltaFIFO for objects that were added and deleted before the consumer
// received them.
const (
	maxUnseen      = 4096
	maxUnseenBytes = 64 << 20
)

// unseen is the list of the backlogs that end with an object that the consumer never
// received. Unlike the others, their number is not bounded by the number of objects.
type unseen[T kube.Object] struct {
	order *list.List // of *backlog[T], the oldest at the front
	bytes int
	size  func(T) int
}

// endsUnseen reports whether the last object of b was added and deleted while it was
// queued. An initial one may be known from an earlier process.
func (b *backlog[T]) endsUnseen() bool {
	n := len(b.deltas)
	return n >= 2 && b.deltas[n-1].Type == watch.Deleted && b.deltas[n-2].Type == watch.Added && !b.deltas[n-2].Initial
}

func (u *unseen[T]) enter(b *backlog[T]) {
	b.bytes = 0
	for _, d := range b.deltas {
		b.bytes += u.size(d.New)
	}
	u.bytes += b.bytes
	b.unseen = u.order.PushBack(b)
}

// leave removes b, if it is in the list.
func (u *unseen[T]) leave(b *backlog[T]) {
	if b.unseen == nil {
		return
	}
	u.order.Remove(b.unseen)
	u.bytes -= b.bytes
	b.unseen = nil
}

func (u *unseen[T]) tooMany() bool {
	return u.order.Len() > maxUnseen || u.bytes > maxUnseenBytes && u.order.Len() > 0
}

func (u *unseen[T]) oldest() *backlog[T] { return u.order.Front().Value.(*backlog[T]) }

// forget removes the objects that the consumer never received from the end of b.
func (q *DeltaFIFO[T]) forget(b *backlog[T]) {
	q.unseen.leave(b)
	key := b.deltas[0].Key
	for b.endsUnseen() {
		n := len(b.deltas) - 2
		clear(b.deltas[n:]) // release the objects
		b.deltas = b.deltas[:n]
	}
	if len(b.deltas) == 0 {
		q.order.Remove(q.waiting[key])
		delete(q.waiting, key)
	}
}
