package queue

import "time"

// Stats is how a queue is.
type Stats struct {
	Depth      int           // keys that wait for a worker
	Delayed    int           // keys that wait for a time
	Running    int           // keys that a worker has
	Adds       uint64        // since the beginning, merged ones too
	Retries    uint64        // adds with RateLimited
	Unfinished time.Duration // how long the running ones have run, together
	Longest    time.Duration // how long one of them has
	Oldest     time.Duration // how long one of the waiting ones has waited
}

// Stats returns how the queue is.
func (q *Queue[K, C]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	s := Stats{Depth: q.ready.len, Delayed: len(q.later.heap), Running: q.running.len, Adds: q.adds, Retries: q.retries}
	for e := q.running.head; e != nil; e = e.next {
		s.Unfinished += time.Duration(now - e.taken)
		s.Longest = max(s.Longest, time.Duration(now-e.taken))
	}
	for _, l := range q.ready.lanes {
		if l.head != nil {
			s.Oldest = max(s.Oldest, time.Duration(now-l.head.added))
		}
	}
	return s
}
