package backlog

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Patience is how long a client may read nothing of a large event before its watch is
// ended in favour of another one that waits, and how long a response waits that is not made
// yet; Hurry is how far a response may lag behind one that is read at Slow bytes a second,
// Haste the same if very many wait.
const (
	Patience = 10 * time.Second
	Hurry    = time.Second
	Haste    = 100 * time.Millisecond
	Slow     = 1 << 20
)

// Small is up to how many bytes a response waits for small ones only, and Tiny for tiny ones.
// Piece is how many a client has read when Moved is called again. Overhead is what a response
// takes besides its bytes.
const (
	Small    = 1 << 20
	Tiny     = 80 << 10
	Piece    = 64 << 10
	Overhead = 16 << 10
)

// Backlog counts the bytes of the responses that are being sent. New returns one.
type Backlog struct {
	most int64

	mu    sync.Mutex
	large class
	small class
	tiny  class
}

// class is that of the responses that share a limit.
type class struct {
	held    int64
	sending map[*Answer]struct{}
	waiting []*Answer // in the order in which they came
}

// Answer is a response that has a place, or waits for one.
//
// While it has a place it must wait for its client only, so that it can be ended.
type Answer struct {
	// Urgent is set if others wait for it, or it is complete, before Enter: it waits only
	// behind its like.
	Urgent bool

	backlog *Backlog
	class   *class // nil = it neither has a place nor waits
	size    int64
	cut     func()
	given   bool          // cut was called
	since   time.Time     // when it began to wait
	moved   time.Time     // when the client last read something; zero = the response is being made
	lag     time.Duration // how far the client was behind then
	wake    chan struct{}
}

// New returns a Backlog of at most that many bytes, and as many of small and of tiny responses;
// a single response may be larger.
func New(most int64) *Backlog {
	b := &Backlog{most: most}
	for _, c := range []*class{&b.large, &b.small, &b.tiny} {
		c.sending = make(map[*Answer]struct{})
	}
	return b
}

// Answer returns a response without a place, for one request. cut ends it: it is called once,
// if the client reads too slowly and another response waits, and must not call Done itself.
func (b *Backlog) Answer(cut func()) *Answer {
	return &Answer{backlog: b, cut: cut, wake: make(chan struct{}, 1)}
}

// of returns the class of responses as large as that.
func (b *Backlog) of(size int64) *class {
	switch {
	case size <= Tiny:
		return &b.tiny
	case size <= Small:
		return &b.small
	}
	return &b.large
}

// Enter gives a its place, which Done releases. If there is none now, or others came first,
// it returns false: then a waits behind them, until Wait returns and Enter is called again.
func (a *Answer) Enter(size int64) bool { return a.enter(size, false) }

// enter is Enter; in haste, it takes the place even if there is none.
func (a *Answer) enter(size int64, haste bool) bool {
	b := a.backlog
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.of(size)
	if a.class != c {
		a.leave()
		a.class = c
		behind := len(c.waiting)
		for a.Urgent && behind > 0 && !c.waiting[behind-1].Urgent {
			behind--
		}
		c.waiting = slices.Insert(c.waiting, behind, a)
		a.since = time.Now()
	}
	a.size, a.moved, a.lag = size, time.Time{}, 0
	switch {
	case haste:
		c.waiting = slices.DeleteFunc(c.waiting, func(w *Answer) bool { return w == a })
	case c.waiting[0] != a || c.held > 0 && c.held+size > b.most:
		return false
	default:
		c.waiting[0] = nil
		c.waiting = c.waiting[1:]
	}
	c.held += size
	c.sending[a] = struct{}{}
	c.next()
	return true
}

// Try gives a its place, in exchange for one that it has, if there is one at once.
func (a *Answer) Try(size int64) bool {
	a.Done()
	if a.Enter(size) {
		return true
	}
	a.Done()
	return false
}

// Begin gives a its place, as soon as there is one and after Patience in any case, or makes that
// which it has larger, at once: the response is complete, and is held while it waits. It fails
// if ctx is done before.
func (a *Answer) Begin(ctx context.Context, size int64) error {
	if a.widen(size) {
		return nil
	}
	a.Done()
	return a.await(ctx, size)
}

// widen makes the place of a larger, if it has one.
func (a *Answer) widen(size int64) bool {
	a.backlog.mu.Lock()
	defer a.backlog.mu.Unlock()
	if a.class == nil {
		return false
	}
	if _, ok := a.class.sending[a]; !ok {
		return false
	}
	more := max(0, size-a.size)
	a.size += more
	a.class.held += more
	return true
}

// Reserve gives a its place, ahead of those that are not Urgent. It fails as Wait does.
func (a *Answer) Reserve(ctx context.Context, size int64) error {
	a.Urgent = true
	for !a.Enter(size) {
		if err := a.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Grow is Begin for a, which has a place, of more bytes, if that is much more.
func (a *Answer) Grow(ctx context.Context, size int64) error {
	if size <= a.size+Small {
		return nil
	}
	a.Done()
	return a.await(ctx, size)
}

// await waits for a place, or for Patience: what is complete is held anyway.
func (a *Answer) await(ctx context.Context, size int64) error {
	err := a.Reserve(ctx, size)
	if err != nil && ctx.Err() == nil {
		a.enter(size, true)
		err = nil
	}
	return err
}

// leave takes a from those who wait. The caller holds mu.
func (a *Answer) leave() {
	c := a.class
	if c == nil {
		return
	}
	a.class = nil
	c.waiting = slices.DeleteFunc(c.waiting, func(w *Answer) bool { return w == a })
	c.next()
}

// next wakes the first of those who wait. The caller holds mu.
func (c *class) next() {
	if len(c.waiting) > 0 {
		select {
		case c.waiting[0].wake <- struct{}{}:
		default: // it is awake
		}
	}
}

// Wait waits until a may have its place, or ctx is done, or a has waited for Patience. The first
// of those who wait ends responses that are read too slowly: the slowest, as many as it needs.
func (a *Answer) Wait(ctx context.Context) error {
	for {
		wait := min(a.hurry(), Patience-time.Since(a.since))
		if wait <= 0 {
			return context.DeadlineExceeded
		}
		timer := time.NewTimer(wait)
		select {
		case <-a.wake:
			timer.Stop()
			return ctx.Err()
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// hurry ends what is read too slowly, if a is the first that waits, and returns when to look
// again.
func (a *Answer) hurry() time.Duration {
	b := a.backlog
	b.mu.Lock()
	defer b.mu.Unlock()
	c := a.class
	if c.waiting[0] != a {
		return time.Hour // next wakes it
	}
	now := time.Now()
	need := c.held + a.size - b.most
	allowed := max(Haste, Hurry/time.Duration(len(c.waiting)))
	var slow []*Answer
	for s := range c.sending {
		switch {
		case s.given:
			need -= s.size
		case s.behind(now) > 0:
			slow = append(slow, s)
		}
	}
	slices.SortFunc(slow, func(s, t *Answer) int { return int(t.behind(now) - s.behind(now)) })
	for _, s := range slow {
		if need <= 0 {
			break
		}
		if left := allowed - s.behind(now); left > 0 {
			return left
		}
		s.given = true
		s.cut()
		need -= s.size
	}
	return Haste
}

// behind returns how far the client is behind one that reads Slow bytes a second. The caller
// holds mu.
func (a *Answer) behind(now time.Time) time.Duration {
	if a.moved.IsZero() {
		return 0
	}
	return a.lag + now.Sub(a.moved)
}

// Moved notes that the response begins, or that the client has read another Piece of it.
func (a *Answer) Moved() {
	a.backlog.mu.Lock()
	defer a.backlog.mu.Unlock()
	now := time.Now()
	if !a.moved.IsZero() {
		a.lag = max(0, a.behind(now)-Piece*time.Second/Slow)
	}
	a.moved = now
}

// Done releases the place, or waits no more.
func (a *Answer) Done() {
	b := a.backlog
	b.mu.Lock()
	defer b.mu.Unlock()
	c := a.class
	if c == nil {
		return
	}
	if _, ok := c.sending[a]; !ok {
		a.leave()
		return
	}
	delete(c.sending, a)
	a.class = nil
	c.held -= a.size
	c.next()
}
