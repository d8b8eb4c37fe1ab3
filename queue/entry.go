package queue

import (
	"math/bits"
	"slices"
)

// state is the place of an entry.
type state uint8

const (
	idle    state = iota // in neither; a worker may have it
	ready                // in a lane
	waiting              // in the heap of the delayed
)

// entry is a key that is in the queue or with a worker. It is in at most one list, and
// may also be in the heap.
type entry[K comparable, C any] struct {
	key      K
	priority int
	cause    C
	merged   int

	state      state
	processing bool  // a worker has it
	again      bool  // and it was added again since
	at         int64 // when it is due, if waiting
	added      int64 // when it became ready, or was added while a worker had it
	taken      int64 // when the worker got it

	lane       *lane[K, C]  // if ready
	prev, next *entry[K, C] // in the lane, or among the running
	slot       int          // in the heap
}

// newEntry returns a recycled entry, or one of a slab of new ones.
func (q *Queue[K, C]) newEntry(k K) *entry[K, C] {
	if e := q.free; e != nil {
		q.free, e.next = e.next, nil
		e.key = k
		return e
	}
	if len(q.slab) == 0 {
		q.slab = make([]entry[K, C], 64)
	}
	e := &q.slab[0]
	q.slab = q.slab[1:]
	e.key = k
	return e
}

func (q *Queue[K, C]) recycle(e *entry[K, C]) {
	*e = entry[K, C]{next: q.free}
	q.free = e
}

// list is a doubly linked list of entries.
type list[K comparable, C any] struct {
	head, tail *entry[K, C]
	len        int
}

func (l *list[K, C]) push(e *entry[K, C]) {
	e.prev, e.next = l.tail, nil
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
	l.len++
}

func (l *list[K, C]) pushFront(e *entry[K, C]) {
	e.prev, e.next = nil, l.head
	if l.head == nil {
		l.tail = e
	} else {
		l.head.prev = e
	}
	l.head = e
	l.len++
}

func (l *list[K, C]) remove(e *entry[K, C]) {
	if e.prev == nil {
		l.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
	l.len--
}

// lane holds the ready entries of one priority, in their order.
type lane[K comparable, C any] struct {
	priority int
	list[K, C]
}

// lanes holds the ready entries. There are few priorities, so lanes are searched
// linearly; an empty one is kept unless there are many.
type lanes[K comparable, C any] struct {
	lanes []*lane[K, C]
	len   int
}

const manyLanes = 8

func (r *lanes[K, C]) of(priority int) *lane[K, C] {
	for _, l := range r.lanes {
		if l.priority == priority {
			return l
		}
	}
	l := &lane[K, C]{priority: priority}
	r.lanes = append(r.lanes, l)
	return l
}

func (r *lanes[K, C]) push(e *entry[K, C]) {
	e.lane = r.of(e.priority)
	e.lane.push(e)
	r.len++
}

func (r *lanes[K, C]) pushFront(e *entry[K, C]) {
	e.lane = r.of(e.priority)
	e.lane.pushFront(e)
	r.len++
}

func (r *lanes[K, C]) remove(e *entry[K, C]) {
	l := e.lane
	l.remove(e)
	e.lane = nil
	r.len--
	if l.head == nil && len(r.lanes) > manyLanes {
		r.lanes = slices.DeleteFunc(r.lanes, func(o *lane[K, C]) bool { return o == l })
	}
}

// pop removes the next entry: among the first of each lane the one that became ready
// the earliest, where one level of priority equals a wait of ageing.
func (r *lanes[K, C]) pop(ageing int64) *entry[K, C] {
	if r.len == 0 {
		return nil
	}
	var best *entry[K, C]
	for _, l := range r.lanes {
		if l.head != nil && (best == nil || l.head.before(best, ageing)) {
			best = l.head
		}
	}
	r.remove(best)
	return best
}

// before reports whether e comes before o, which has another priority. The result is
// exact for all priorities: if the product of levels and ageing overflows, it exceeds
// every wait.
func (e *entry[K, C]) before(o *entry[K, C], ageing int64) bool {
	if e.priority < o.priority {
		return !o.before(e, ageing)
	}
	levels := uint64(e.priority) - uint64(o.priority)
	overflow, worth := bits.Mul64(levels, uint64(ageing))
	longer := e.added - o.added // how much longer o has waited
	return longer <= 0 || overflow > 0 || uint64(longer) <= worth
}

// getter is a worker that waits for a key.
type getter[K comparable, C any] struct {
	got  chan bool  // has room for one; false = the queue is closed
	item Item[K, C] // valid after true
	slot int        // among the getters; -1 = it got something
}

func (g *getter[K, C]) give(item Item[K, C]) {
	g.item = item
	g.got <- true
}

// getters are the waiting workers, and recycled ones. The last to come is served first:
// its memory is still in the CPU cache.
type getters[K comparable, C any] struct {
	waiting, free []*getter[K, C]
}

func (w *getters[K, C]) wait() *getter[K, C] {
	var g *getter[K, C]
	if n := len(w.free); n > 0 {
		g, w.free = w.free[n-1], w.free[:n-1]
	} else {
		g = &getter[K, C]{got: make(chan bool, 1)}
	}
	g.slot = len(w.waiting)
	w.waiting = append(w.waiting, g)
	return g
}

// pop returns the getter to serve, nil if none waits. The caller must give it
// something.
func (w *getters[K, C]) pop() *getter[K, C] {
	n := len(w.waiting)
	if n == 0 {
		return nil
	}
	g := w.waiting[n-1]
	w.waiting = w.waiting[:n-1]
	g.slot = -1
	return g
}

// leave removes g from the waiting ones; false = it was served already.
func (w *getters[K, C]) leave(g *getter[K, C]) bool {
	if g.slot < 0 {
		return false
	}
	last := len(w.waiting) - 1
	w.waiting[g.slot] = w.waiting[last]
	w.waiting[g.slot].slot = g.slot
	w.waiting = w.waiting[:last]
	return true
}

func (w *getters[K, C]) recycle(g *getter[K, C]) {
	g.item = Item[K, C]{}
	w.free = append(w.free, g)
}
