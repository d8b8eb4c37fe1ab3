package queue

import "time"

// delayed is a heap of the waiting entries: the one that is due first is at the top.
type delayed[K comparable, C any] struct {
	heap []*entry[K, C]
}

func (d *delayed[K, C]) first() *entry[K, C] {
	if len(d.heap) == 0 {
		return nil
	}
	return d.heap[0]
}

func (d *delayed[K, C]) push(e *entry[K, C]) {
	e.slot = len(d.heap)
	d.heap = append(d.heap, e)
	d.up(e.slot)
}

func (d *delayed[K, C]) remove(e *entry[K, C]) {
	i, last := e.slot, len(d.heap)-1
	d.swap(i, last)
	d.heap[last] = nil
	d.heap = d.heap[:last]
	if i < last {
		d.up(i)
		d.down(i)
	}
}

func (d *delayed[K, C]) swap(i, j int) {
	d.heap[i], d.heap[j] = d.heap[j], d.heap[i]
	d.heap[i].slot, d.heap[j].slot = i, j
}

func (d *delayed[K, C]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if d.heap[parent].at <= d.heap[i].at {
			return
		}
		d.swap(i, parent)
		i = parent
	}
}

func (d *delayed[K, C]) down(i int) {
	for {
		least := 2*i + 1
		if least >= len(d.heap) {
			return
		}
		if right := least + 1; right < len(d.heap) && d.heap[right].at < d.heap[least].at {
			least = right
		}
		if d.heap[i].at <= d.heap[least].at {
			return
		}
		d.swap(i, least)
		i = least
	}
}

// delay makes e ready at the time at, unless it is ready earlier anyway.
func (q *Queue[K, C]) delay(e *entry[K, C], at, now int64) {
	switch {
	case e.state == ready || e.again:
		return
	case e.state == waiting:
		if at >= e.at {
			return
		}
		q.later.remove(e)
	}
	e.state, e.at = waiting, at
	q.later.push(e)
	q.setAlarm(now)
}

// setAlarm sets the timer for the first delayed key.
func (q *Queue[K, C]) setAlarm(now int64) {
	e := q.later.first()
	if e == nil || q.alarm != 0 && q.alarm <= e.at {
		return
	}
	q.alarm = e.at
	if d := time.Duration(e.at - now); q.timer == nil {
		q.timer = time.AfterFunc(d, q.ring)
	} else {
		q.timer.Reset(d)
	}
}

// ring makes the keys ready that are due.
func (q *Queue[K, C]) ring() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	q.alarm = 0
	for e := q.later.first(); e != nil && e.at <= now && !q.closed; e = q.later.first() {
		q.later.remove(e)
		e.state = idle
		q.markReady(e, now)
	}
	if !q.closed {
		q.setAlarm(now)
	}
}
