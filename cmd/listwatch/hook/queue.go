package hook

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// queue holds the events that are not finished, in a lane for each object. An
// event stands in its lane, or in the one job that the lane has. It is for one
// goroutine.
type queue struct {
	every bool
	batch bool
	lanes map[laneKey]*lane
	ready []*lane // that have events and may run; FIFO
	open  numbers // not finished
	rests rests   // jobs that failed
	count int     // events in lanes
	held  int     // bytes of what is charged
}

type laneKey struct{ cluster, resource, namespace, name string }

type lane struct {
	key     laneKey
	waiting []*entry
	newest  *entry // that is not finished
	job     *job
	queued  bool // in ready
}

// entry is an event, or what several have become. It keeps the number of the first.
type entry struct {
	Event
	first int64
	index int // in numbers
	lane  *lane
	cost  int // bytes, where it is charged
}

// charge counts the bytes of e: nobody but e holds the state that it is about, which is
// deleted or was replaced.
func (q *queue) charge(e *entry) {
	q.release(e)
	e.cost = e.Size
	q.held += e.cost
}

func (q *queue) release(e *entry) {
	q.held -= e.cost
	e.cost = 0
}

// job is what one run gets.
type job struct {
	entries []*entry
	resting bool
	runs    int // that failed
	due     time.Time
}

// newest is the event that the job is named after.
func (j *job) newest() Event { return j.entries[len(j.entries)-1].Event }

func newQueue(every, batch bool) *queue {
	return &queue{every: every, batch: batch, lanes: map[laneKey]*lane{}}
}

// add puts e where it belongs.
func (q *queue) add(e Event) {
	key := laneKey{e.Cluster, e.Resource, e.Namespace, e.Name}
	l := q.lanes[key]
	if l == nil {
		l = &lane{key: key}
		q.lanes[key] = l
	}
	if last := l.replaceable(); last != nil && q.absorb(last, e) {
		return
	}
	en := &entry{Event: e, first: e.Seq, lane: l}
	heap.Push(&q.open, en)
	if l.newest != nil {
		q.charge(l.newest)
	}
	if l.newest = en; e.Type == "DELETED" {
		q.charge(en)
	}
	l.waiting = append(l.waiting, en)
	q.count++
	q.offer(l)
}

// replaceable is the last entry of l that no run has yet; nil = none.
func (l *lane) replaceable() *entry {
	if n := len(l.waiting); n > 0 {
		return l.waiting[n-1]
	}
	if l.job != nil && l.job.resting {
		return l.job.last(l)
	}
	return nil
}

// last is the last entry of l in j.
func (j *job) last(l *lane) (last *entry) {
	for _, e := range j.entries {
		if e.lane == l {
			last = e
		}
	}
	return last
}

// absorb replaces the waiting entry old by e, if it may. A deletion is not replaced by
// an event of another object of the same name. An object that is modified while its
// addition waits stays added.
func (q *queue) absorb(old *entry, e Event) bool {
	switch {
	case q.every, old.Object != e.Object:
		return false
	case !e.Object && old.Type != e.Type:
		return false
	case e.Object && old.Type == "DELETED" && old.UID != e.UID:
		return false
	}
	if old.Type == "ADDED" && e.Type == "MODIFIED" && old.UID == e.UID {
		e.Type, e.Initial = old.Type, old.Initial
	}
	old.Event = e
	if q.release(old); e.Type == "DELETED" || old.lane.newest != old {
		q.charge(old)
	}
	return true
}

// offer makes l ready, if it is.
func (q *queue) offer(l *lane) {
	if len(l.waiting) > 0 && !l.queued && l.job == nil {
		l.queued = true
		q.ready = append(q.ready, l)
	}
}

// take returns a job of up to n events, nil if none can run. Batches are serial:
// a lane that has more stays in ready until the next one.
func (q *queue) take(n int) *job {
	j := &job{}
	for len(j.entries) < n && len(q.ready) > 0 {
		l := q.ready[0]
		q.ready[0] = nil
		q.ready = q.ready[1:]
		l.queued = false
		if len(l.waiting) == 0 { // a retry has taken it
			q.forget(l)
			continue
		}
		e := l.waiting[0]
		l.waiting[0] = nil
		l.waiting = l.waiting[1:]
		q.count--
		j.entries = append(j.entries, e)
		l.job = j
		if q.batch && len(l.waiting) > 0 { // behind the others
			l.queued = true
			q.ready = append(q.ready, l)
		}
	}
	if len(j.entries) == 0 {
		return nil
	}
	slices.SortFunc(j.entries, func(a, b *entry) int { return cmp.Compare(a.Seq, b.Seq) })
	return j
}

// forget removes a lane that has nothing.
func (q *queue) forget(l *lane) {
	if l.job == nil && !l.queued && len(l.waiting) == 0 {
		delete(q.lanes, l.key)
	}
}

// rest keeps j for a retry, with what has come meanwhile.
func (q *queue) rest(j *job, due time.Time) {
	j.resting, j.due = true, due
	for _, e := range j.entries {
		l := e.lane
		if e != j.last(l) {
			continue
		}
		for len(l.waiting) > 0 && q.absorb(e, l.waiting[0].Event) {
			gone := l.waiting[0]
			q.release(gone)
			if l.newest == gone {
				if l.newest = e; e.Type != "DELETED" {
					q.release(e)
				}
			}
			heap.Remove(&q.open, gone.index)
			l.waiting = l.waiting[1:]
			q.count--
		}
	}
	heap.Push(&q.rests, j)
}

// due returns a job whose rest is over, or when the next one's is; zero = never.
func (q *queue) due(now time.Time) (j *job, next time.Time) {
	if len(q.rests) == 0 {
		return nil, time.Time{}
	}
	if j = q.rests[0]; j.due.After(now) {
		return nil, j.due
	}
	heap.Pop(&q.rests)
	j.resting = false
	return j, time.Time{}
}

// finish forgets the events of j.
func (q *queue) finish(j *job) {
	for _, e := range j.entries {
		heap.Remove(&q.open, e.index)
		l := e.lane
		if q.release(e); l.newest == e {
			l.newest = nil
		}
		if l.job == j {
			l.job = nil
			q.offer(l)
			q.forget(l)
		}
	}
}

// surplus counts the events that wait though their object has one waiting or
// running: what a bound must hold back. Where each event counts, that is all.
func (q *queue) surplus() int {
	if q.every {
		return len(q.open)
	}
	return len(q.open) - len(q.lanes)
}

// drop forgets what no run has, and returns how many events that are.
func (q *queue) drop() int {
	n := q.count
	for _, j := range q.rests {
		n += len(j.entries)
	}
	q.ready, q.rests, q.count = nil, nil, 0
	for _, l := range q.lanes {
		l.waiting, l.queued = nil, false
	}
	return n
}

// numbers are entries, the smallest number first; see container/heap.
type numbers []*entry

func (n numbers) Len() int           { return len(n) }
func (n numbers) Less(i, j int) bool { return n[i].first < n[j].first }
func (n numbers) Swap(i, j int) {
	n[i], n[j] = n[j], n[i]
	n[i].index, n[j].index = i, j
}

func (n *numbers) Push(x any) {
	e := x.(*entry)
	e.index = len(*n)
	*n = append(*n, e)
}

func (n *numbers) Pop() any {
	last := len(*n) - 1
	e := (*n)[last]
	(*n)[last] = nil
	*n = (*n)[:last]
	return e
}

// rests are jobs, the next to be tried first.
type rests []*job

func (r rests) Len() int           { return len(r) }
func (r rests) Less(i, j int) bool { return r[i].due.Before(r[j].due) }
func (r rests) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *rests) Push(x any)        { *r = append(*r, x.(*job)) }

func (r *rests) Pop() any {
	last := len(*r) - 1
	j := (*r)[last]
	(*r)[last] = nil
	*r = (*r)[:last]
	return j
}
