package intake

import (
	"container/list"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// Free is up to how many bytes a body waits for nothing.
	Free = 16 << 10

	// Patience is how long a body waits for others at most.
	Patience = 10 * time.Second

	slow  = 1 << 20                // bytes a second: who is slower lags, and gives way to others
	most  = 200 * time.Millisecond // how far one may lag if another waits, less if many do
	least = 20 * time.Millisecond  // and if very many do
	tick  = 10 * time.Millisecond  // how often the Budget looks for them
	grows = 4                      // a buffer, by this factor

	// Awaited is how many bodies may be awaited for longer than Prompt, of any size: of more
	// the oldest gives way.
	Awaited = 4000
	Prompt  = time.Second
)

// ErrCrowded is the error of a body that gave way to others, or waited too long.
var ErrCrowded = errors.New("too many large bodies at a time")

// Budget limits the bytes of all bodies. New returns one.
type Budget struct {
	mu      sync.Mutex
	left    int64
	least   int64               // that was left
	came    int64               // bodies up to now
	reading map[*Share]struct{} // of those with a share, whose client is to send more
	waiting []*Share            // in the order in which they came
	timer   *time.Timer         // for look; nil = nobody waits
	awaited *list.List          // the shares whose body is awaited, in the order in which they came
	trims   bool                // trim is going to be called
}

// New returns a Budget of that many bytes, at least those of the largest body.
func New(n int64) *Budget {
	return &Budget{left: n, least: n, reading: make(map[*Share]struct{}), awaited: list.New()}
}

// Least returns the least that was ever left.
func (b *Budget) Least() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.least
}

// Share is what one body has of a Budget. The zero value has nothing.
type Share struct {
	of     *Budget
	number int64
	n      int64
	cut    func()        // ends a read; may be called several times
	gone   bool          // it gives way
	lag    time.Duration // how far it is behind one that sends slow bytes a second
	since  time.Time     // when the read began
	want   int64         // that it waits for
	until  time.Time     // when it has waited too long
	ready  chan error
	begun  time.Time
}

// await notes that the body of s is awaited, until the result is called.
func (b *Budget) await(s *Share) (came func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.begun = time.Now()
	e := b.awaited.PushBack(s)
	if !b.trims && b.awaited.Len() > Awaited {
		b.trim()
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.awaited.Remove(e)
	}
}

// trim lets the oldest that are awaited too long give way, if there are too many. The caller
// holds mu.
func (b *Budget) trim() {
	b.trims = false
	now := time.Now()
	for b.awaited.Len() > Awaited {
		s := b.awaited.Front().Value.(*Share)
		if left := Prompt - now.Sub(s.begun); left > 0 {
			b.trims = true
			time.AfterFunc(max(left, tick), func() {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.trim()
			})
			return
		}
		b.awaited.Remove(b.awaited.Front())
		s.gone = true
		s.cut()
	}
}

// take waits until n bytes are left. A body does so once, for all of it: none holds a part
// while it waits for others.
func (s *Share) take(n int64, leaves <-chan struct{}) error {
	b := s.of
	b.mu.Lock()
	if len(b.waiting) == 0 && b.grant(s, n) {
		b.mu.Unlock()
		return nil
	}
	s.want, s.until, s.ready = n, time.Now().Add(Patience), make(chan error, 1)
	at, _ := slices.BinarySearchFunc(b.waiting, s, func(a, s *Share) int { return int(a.number - s.number) })
	b.waiting = slices.Insert(b.waiting, at, s)
	b.look()
	b.mu.Unlock()
	select {
	case err := <-s.ready:
		return err
	case <-leaves:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.waiting = slices.DeleteFunc(b.waiting, func(w *Share) bool { return w == s })
		return ErrCrowded
	}
}

// grant gives s n bytes if they are left. The caller holds mu.
func (b *Budget) grant(s *Share, n int64) bool {
	if n > b.left {
		return false
	}
	b.left -= n
	b.least = min(b.least, b.left)
	s.n += n
	return true
}

// look serves those who wait, and lets the slowest give way to them. The caller holds mu.
func (b *Budget) look() {
	now := time.Now()
	b.waiting = slices.DeleteFunc(b.waiting, func(s *Share) bool {
		if !now.Before(s.until) {
			s.ready <- ErrCrowded
			return true
		}
		return false
	})
	for len(b.waiting) > 0 && b.grant(b.waiting[0], b.waiting[0].want) {
		b.waiting[0].ready <- nil
		b.waiting = slices.Delete(b.waiting, 0, 1)
	}
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	if len(b.waiting) == 0 {
		return
	}
	b.yield(now)
	b.timer = time.AfterFunc(tick, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.look()
	})
}

// yield ends the reads of those who lag most, as many as those who wait need.
func (b *Budget) yield(now time.Time) {
	need := -b.left
	for _, s := range b.waiting {
		need += s.want
	}
	allowed := max(least, most/time.Duration(len(b.waiting)))
	var slowest []*Share
	for s := range b.reading {
		if s.behind(now) >= allowed || s.gone {
			slowest = append(slowest, s)
		}
	}
	slices.SortFunc(slowest, func(a, b *Share) int { return int(b.behind(now) - a.behind(now)) })
	for _, s := range slowest {
		if need > 0 || s.gone {
			s.gone = true
			s.cut() // again, if a new deadline was set just before
		}
		need -= s.n
	}
}

func (s *Share) behind(now time.Time) time.Duration { return s.lag + now.Sub(s.since) }

// reads notes that the client is to send more; it returns false if s has given way.
func (s *Share) reads() bool {
	b := s.of
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.gone {
		return false
	}
	if s.since = time.Now(); s.n > 0 {
		b.reading[s] = struct{}{}
	}
	return true
}

// read notes that n bytes have come.
func (s *Share) read(n int) {
	b := s.of
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.reading, s)
	s.lag = max(0, s.behind(time.Now())-time.Duration(n)*time.Second/slow)
}

// Release gives all back. The body is not used any more.
func (s *Share) Release() {
	b := s.of
	if b == nil || s.n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += s.n
	s.n = 0
	b.look()
}
