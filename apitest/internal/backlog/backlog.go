package backlog

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Patience is how long a client may read nothing of a large event before its watch is
// ended in favour of another one that waits; Hurry is that of a list.
const (
	Patience = 10 * time.Second
	Hurry    = time.Second
)

// Small is up to how many bytes a response waits for small ones only.
const Small = 1 << 20

// Backlog counts the bytes of the responses that are being sent. New returns one.
type Backlog struct {
	most int64

	mu      sync.Mutex
	held    int64 // by large ones
	small   int64 // by small ones
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

// New returns a Backlog of at most that many bytes, and as many of small responses; a
// single response may be larger.
func New(most int64) *Backlog {
	return &Backlog{most: most, answers: make(map[*Answer]struct{}), freed: make(chan struct{})}
}

// Add returns a place for a response of that many bytes, which the caller releases by
// Done; nil if there is none now. cut ends the response: it is called once, if the
// client reads nothing and another response waits, and must not call Done itself.
func (b *Backlog) Add(size int64, cut func()) *Answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.of(size)
	if *held > 0 && *held+size > b.most {
		return nil
	}
	a := &Answer{backlog: b, size: size, cut: cut}
	a.Moved()
	*held += size
	b.answers[a] = struct{}{}
	return a
}

// of returns what responses as large as that hold.
func (b *Backlog) of(size int64) *int64 {
	if size <= Small {
		return &b.small
	}
	return &b.held
}

// Wait waits until a place of that size may be free, or ctx is done. Of those that hold it,
// it cuts the response that was not read for the longest time, if that is Hurry at least.
func (b *Backlog) Wait(ctx context.Context, size int64) error {
	b.mu.Lock()
	freed := b.freed
	var slowest *Answer
	for a := range b.answers {
		if !a.given && b.of(a.size) == b.of(size) && (slowest == nil || a.moved.Load() < slowest.moved.Load()) {
			slowest = a
		}
	}
	wait := Hurry
	if slowest != nil {
		if wait = time.Until(time.Unix(0, slowest.moved.Load()).Add(Hurry)); wait <= 0 {
			slowest.given, wait = true, Hurry
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
	*b.of(a.size) -= a.size
	close(b.freed)
	b.freed = make(chan struct{})
}
