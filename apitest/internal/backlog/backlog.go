package backlog

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Patience is how long a client may read nothing of a response before that is ended in
// favour of another one that waits.
const Patience = 10 * time.Second

// Backlog counts the bytes of the responses that are being sent. New returns one.
type Backlog struct {
	most int64

	mu      sync.Mutex
	held    int64
	answers map[*Answer]struct{}
	freed   chan struct{} // closed and replaced when a response is done
}

// Answer is a response that has a place.
type Answer struct {
	backlog *Backlog
	size    int64
	cut     func()
	given   bool         // cut was called
	moved   atomic.Int64 // when the client last read something, in ns since 1970
}

// New returns a Backlog of at most that many bytes; a single response may be larger.
func New(most int64) *Backlog {
	return &Backlog{most: most, answers: make(map[*Answer]struct{}), freed: make(chan struct{})}
}

// Add returns a place for a response of that many bytes, which the caller releases by
// Done; nil if there is none now. cut ends the response: it is called once, if the
// client reads nothing and another response waits, and must not call Done itself.
func (b *Backlog) Add(size int64, cut func()) *Answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held > 0 && b.held+size > b.most {
		return nil
	}
	a := &Answer{backlog: b, size: size, cut: cut}
	a.Moved()
	b.held += size
	b.answers[a] = struct{}{}
	return a
}

// Wait waits until a place may be free, or ctx is done. It cuts the response that was
// not read for the longest time, if that is longer than Patience.
func (b *Backlog) Wait(ctx context.Context) error {
	b.mu.Lock()
	freed := b.freed
	var slowest *Answer
	for a := range b.answers {
		if !a.given && (slowest == nil || a.moved.Load() < slowest.moved.Load()) {
			slowest = a
		}
	}
	wait := Patience
	if slowest != nil {
		if wait = time.Until(time.Unix(0, slowest.moved.Load()).Add(Patience)); wait <= 0 {
			slowest.given, wait = true, Patience
			slowest.cut()
		}
	}
	b.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-freed:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Moved notes that the client has read something.
func (a *Answer) Moved() { a.moved.Store(time.Now().UnixNano()) }

// Done releases the place.
func (a *Answer) Done() {
	b := a.backlog
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.answers, a)
	b.held -= a.size
	close(b.freed)
	b.freed = make(chan struct{})
}
