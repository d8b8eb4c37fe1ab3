package queue

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"
)

// ErrClosed is returned by Get when the queue is closed and no key is ready.
var ErrClosed = errors.New("the queue is closed")

// Options are the settings of a Queue; the zero value is the recommended setting.
type Options[K comparable, C any] struct {
	// Backoff sets the delays of AddRateLimited.
	Backoff Backoff

	// Ageing is the wait that equals one level of priority: a key that has waited n times Ageing
	// longer than another precedes it, even if the other has a priority that is n higher. So a key
	// of priority -100 waits only for keys of priority 0 that were added before it or within 100
	// times Ageing after it. Default 100 ms.
	Ageing time.Duration

	// Trace has functions to be called when a worker gets a key, and when it has finished it.
	Trace Trace[K, C]
}

// Trace is a set of hooks, each of which may be nil. Get and Done call them in the
// goroutine of the caller, without a lock of the queue.
type Trace[K comparable, C any] struct {
	Got  func(Item[K, C])       // a worker got a key
	Done func(K, time.Duration) // a worker finished a key, after this time
}

// Queue passes keys to workers. It holds a key once, however often it is added, and never passes it
// to two workers: if it is added while a worker has it, it is passed again, once, after Done. Keys
// of one priority are passed in the order in which they become ready: at the add or the end of the
// delay, or at Done if a worker has the key then. A ready key whose priority rises goes to the end
// of its new priority. If a key is added twice, the earlier time and the higher priority count. C
// is the type of the cause of an add, which the queue passes to the worker.
//
// A Queue has no goroutines. It is safe for concurrent use.
type Queue[K comparable, C any] struct {
	limiter *limiter[K]
	ageing  int64
	trace   Trace[K, C]
	start   time.Time // times are nanoseconds since start

	mu      sync.Mutex
	entries map[K]*entry[K, C]
	free    *entry[K, C]  // recycled entries, linked by next
	slab    []entry[K, C] // new entries
	ready   lanes[K, C]
	later   delayed[K, C]
	running list[K, C]
	getters getters[K, C]
	timer   *time.Timer // fires at or before the time of the first delayed key; nil = was not needed
	alarm   int64       // when it fires; 0 = it is not set
	closed  bool
	drained chan struct{} // closed when a closed queue has no keys any more; nil = nobody waits
	adds    uint64
	retries uint64
}

// Add has the settings of AddWith. The zero value adds a key at once, as Queue.Add does.
// Priorities are meant to be few, such as a dozen: an add and a Get take time in proportion to the
// number of different ones in the queue, with 20,000 of them about 0.1 ms.
type Add[C any] struct {
	After       time.Duration // minimal delay; 0 or less = none
	RateLimited bool          // delay the key at least as AddRateLimited does
	Priority    int           // keys with a higher one come first, within Options.Ageing; default 0
	Cause       C             // the reason, for the worker
}

// Item is a key for a worker.
type Item[K comparable, C any] struct {
	Key      K
	Priority int
	Cause    C             // of the latest add
	Merged   int           // number of further adds, which were merged into the first one
	Waited   time.Duration // since the first add or the end of the delay, also while a worker had the key
}

// New returns an empty queue.
func New[K comparable, C any](o Options[K, C]) *Queue[K, C] {
	q := &Queue[K, C]{limiter: newLimiter[K](o.Backoff), ageing: int64(o.Ageing), trace: o.Trace, start: time.Now(), entries: make(map[K]*entry[K, C])}
	if q.ageing <= 0 {
		q.ageing = int64(100 * time.Millisecond)
	}
	return q
}

// Add adds a key. On a closed queue, Add and the other methods that add a key do nothing.
func (q *Queue[K, C]) Add(k K) { q.AddWith(k, Add[C]{}) }

// AddAfter adds a key after a delay.
func (q *Queue[K, C]) AddAfter(k K, d time.Duration) { q.AddWith(k, Add[C]{After: d}) }

// AddRateLimited adds a key after the delay of the limiter, which grows until Forget.
func (q *Queue[K, C]) AddRateLimited(k K) { q.AddWith(k, Add[C]{RateLimited: true}) }

// AddWith adds a key with a delay, a priority and a cause.
func (q *Queue[K, C]) AddWith(k K, a Add[C]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if a.RateLimited {
		a.After = max(a.After, q.limiter.When(k))
		q.retries++
	}
	q.adds++
	e := q.entries[k]
	if e == nil {
		e = q.newEntry(k)
		q.entries[k] = e
	}
	e.cause = a.Cause
	if e.state == idle && !e.again { // it is not in the queue
		e.priority, e.merged = a.Priority, 0
	} else {
		e.merged++
	}
	if a.Priority > e.priority {
		e.priority = a.Priority
		if e.state == ready { // to the end of its new lane
			q.ready.remove(e)
			q.ready.push(e)
		}
	}
	switch {
	case a.After > 0:
		now := q.now()
		q.delay(e, now+min(int64(a.After), math.MaxInt64-now), now)
	case e.state == ready || e.again: // it is ready or becomes so anyway
	default:
		if e.state == waiting {
			q.later.remove(e)
			e.state = idle
		}
		q.markReady(e, q.now())
	}
}

// now returns the time since the start. It is a large part of the cost of an add, so it
// is called only if needed.
func (q *Queue[K, C]) now() int64 { return int64(time.Since(q.start)) }

// markReady passes e to a waiting worker, or makes it ready, or marks it to be passed
// again when its worker is done.
func (q *Queue[K, C]) markReady(e *entry[K, C], now int64) {
	e.added = now
	if e.processing {
		e.again = true
		return
	}
	q.pass(e, now)
}

// pass passes e, which became ready at e.added, to a waiting worker, or to a lane.
func (q *Queue[K, C]) pass(e *entry[K, C], now int64) {
	if g := q.getters.pop(); g != nil {
		g.give(q.handOut(e, now))
		return
	}
	e.state = ready
	q.ready.push(e)
}

// handOut marks e as taken by a worker, and returns its Item.
func (q *Queue[K, C]) handOut(e *entry[K, C], now int64) Item[K, C] {
	e.state, e.processing, e.taken = idle, true, now
	q.running.push(e)
	return Item[K, C]{Key: e.key, Priority: e.priority, Cause: e.cause, Merged: e.merged, Waited: time.Duration(now - e.added)}
}

// Get waits for the next key; the caller must call Done with it. If ctx ends, Get fails with the
// cause of ctx; if the queue is closed and no key is ready, with ErrClosed, even if a worker has a
// key that will be ready again at Done. If ctx ends while a key is being passed to Get, the key
// returns to the front of its priority; but if the queue is closed too, Get returns the key,
// because there may be no other worker.
func (q *Queue[K, C]) Get(ctx context.Context) (Item[K, C], error) {
	if ctx.Err() != nil {
		return Item[K, C]{}, context.Cause(ctx)
	}
	q.mu.Lock()
	var item Item[K, C]
	if e := q.ready.pop(q.ageing); e != nil {
		item = q.handOut(e, q.now())
		q.mu.Unlock()
	} else if q.closed {
		q.mu.Unlock()
		return Item[K, C]{}, ErrClosed
	} else {
		g := q.getters.wait()
		q.mu.Unlock()
		var err error
		if item, err = q.await(ctx, g); err != nil {
			return Item[K, C]{}, err
		}
	}
	if q.trace.Got != nil {
		q.trace.Got(item)
	}
	return item, nil
}

// await waits for the item of g.
func (q *Queue[K, C]) await(ctx context.Context, g *getter[K, C]) (Item[K, C], error) {
	given, got := false, false // given: g is no longer among the getters
	select {
	case got = <-g.got:
		given = true
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.getters.recycle(g)
	if !given && !q.getters.leave(g) { // at the moment when ctx ended
		given, got = true, <-g.got
	}
	switch {
	case !given:
		return Item[K, C]{}, context.Cause(ctx)
	case !got:
		return Item[K, C]{}, ErrClosed
	case ctx.Err() == nil || q.closed: // closed: the other workers may have ended
		return g.item, nil
	}
	q.giveBack(g.item)
	return Item[K, C]{}, context.Cause(ctx)
}

// giveBack reverts handOut: the key is the first of its priority again.
func (q *Queue[K, C]) giveBack(item Item[K, C]) {
	e := q.entries[item.Key]
	q.running.remove(e)
	if e.state == waiting {
		q.later.remove(e)
	}
	e.priority = max(e.priority, item.Priority)
	e.state, e.processing, e.again = idle, false, false
	if g := q.getters.pop(); g != nil {
		g.give(q.handOut(e, q.now()))
		return
	}
	e.state = ready
	q.ready.pushFront(e)
}

// Done ends the processing of a key that Get returned. If the key was added meanwhile,
// it is ready again. For a key that no worker has it does nothing.
func (q *Queue[K, C]) Done(k K) {
	if took, had := q.finish(k); had && q.trace.Done != nil {
		q.trace.Done(k, took)
	}
}

// finish ends the processing of k, and returns how long that took; false = no worker has k.
func (q *Queue[K, C]) finish(k K) (took time.Duration, had bool) {
	now := q.now()
	q.mu.Lock()
	defer q.mu.Unlock() // also if k cannot be hashed
	e := q.taken(k)
	if e == nil {
		return 0, false
	}
	took = time.Duration(now - e.taken)
	q.running.remove(e)
	e.processing = false
	switch {
	case e.again:
		e.again = false
		q.pass(e, now)
	case e.state == idle:
		delete(q.entries, k)
		q.recycle(e)
	}
	q.checkDrained()
	return took, true
}

// taken returns the entry of a key that a worker has, nil if none has it. With few
// workers it is found faster among theirs than in a large map.
func (q *Queue[K, C]) taken(k K) *entry[K, C] {
	n := 0
	for e := q.running.head; e != nil; e = e.next {
		if e.key == k {
			return e
		}
		if n++; n == 8 {
			if e := q.entries[k]; e != nil && e.processing {
				return e
			}
			return nil
		}
	}
	return nil
}

// Forget resets the limiter's delay of a key.
func (q *Queue[K, C]) Forget(k K) { q.limiter.Forget(k) }

// NumRequeues returns how often the limiter has delayed a key since the last
// Forget.
func (q *Queue[K, C]) NumRequeues(k K) int { return q.limiter.NumRequeues(k) }

// Len returns the number of ready keys, without those that are delayed or with a
// worker.
func (q *Queue[K, C]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ready.len
}

// Close ends the queue: later adds do nothing, delayed keys are dropped, and Get fails
// when all ready keys have been passed.
func (q *Queue[K, C]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed = true
	if q.timer != nil {
		q.timer.Stop()
	}
	for e := q.later.first(); e != nil; e = q.later.first() {
		q.later.remove(e)
		e.state = idle
		if !e.processing {
			delete(q.entries, e.key)
		}
	}
	for g := q.getters.pop(); g != nil; g = q.getters.pop() {
		g.got <- false
	}
	q.checkDrained()
}

// Drain closes the queue and waits until workers have finished all its keys, or ctx
// ends.
func (q *Queue[K, C]) Drain(ctx context.Context) error {
	q.Close()
	q.mu.Lock()
	if q.drained == nil {
		q.drained = make(chan struct{})
		q.checkDrained()
	}
	done := q.drained
	q.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (q *Queue[K, C]) checkDrained() {
	if q.closed && q.drained != nil && len(q.entries) == 0 {
		select {
		case <-q.drained:
		default:
			close(q.drained)
		}
	}
}
