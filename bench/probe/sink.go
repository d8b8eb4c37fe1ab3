package probe

import (
	"bytes"
	"strconv"
	"sync"
	"time"
)

// Sink counts what one handler of one informer sees. It is for one goroutine.
type Sink struct {
	objects int
	last    string // revision of the last event

	seen         int
	synced, done *sync.WaitGroup

	base     int64 // revision before the first event
	received []int64
	arrived  int // of received, for a client that does not look at objects
}

// Seen takes the revision of an object that was handled.
func (s *Sink) Seen(revision string) {
	s.seen++
	if s.received != nil {
		if n, err := strconv.ParseInt(revision, 10, 64); err == nil && n > s.base && n <= s.base+int64(len(s.received)) {
			s.received[n-s.base-1] = time.Now().UnixNano()
		}
	}
	if s.seen == s.objects {
		s.synced.Done()
	}
	if revision == s.last {
		s.done.Done()
	}
}

// Arrived takes the next bytes of the events, a line each, for a client that does
// not look at objects.
func (s *Sink) Arrived(b []byte) {
	if s.received == nil {
		return
	}
	for n := bytes.Count(b, []byte("\n")); n > 0 && s.arrived < len(s.received); n-- {
		s.received[s.arrived] = time.Now().UnixNano()
		s.arrived++
	}
}

// Synced says that everything that exists has been seen, and Done that every
// event has, for a client that does not look at objects.
func (s *Sink) Synced() { s.synced.Done() }

// Done says that every event has been seen.
func (s *Sink) Done() { s.done.Done() }
