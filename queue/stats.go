package queue

import "time"

// Stats is the state of a queue.
type Stats struct {
	Depth      int           // ready keys
	Delayed    int           // delayed keys
	Running    int           // keys with workers
	Adds       uint64        // total adds, merged ones included
	Retries    uint64        // adds with RateLimited
	Unfinished time.Duration // total time that the current runs have taken so far
	Longest    time.Duration // longest time of a current run
	Oldest     time.Duration // longest wait of a key that is the first of its priority
}

// Stats returns the state of the queue.
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
