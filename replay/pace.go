package replay

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/listwatch/listwatch/internal/wait"
)

// Pace is the speed of a replay. The zero value plays as it was recorded.
type Pace struct {
	// Speed is a factor; 0 = 1, 2 = twice as fast.
	Speed float64
	// Fast plays without any waiting.
	Fast bool
	// Step, if set, holds each entry back until it is released.
	Step *Step
}

// clock is a running pace.
type clock struct {
	pace  Pace
	start time.Time
	base  time.Duration // the time in the recording that corresponds to start
}

func (p Pace) from(at time.Duration) *clock { return &clock{p, time.Now(), at} }

// wait waits until the entry of time at is due. It returns the cause if ctx ends first.
func (c *clock) wait(ctx context.Context, at time.Duration) error {
	switch {
	case c.pace.Step != nil:
		return c.pace.Step.take(ctx)
	case c.pace.Fast:
		return context.Cause(ctx)
	}
	offset := max(0, at-c.base)
	if s := c.pace.Speed; s > 0 && s != 1 {
		offset = time.Duration(min(float64(offset)/s, math.MaxInt64/2))
	}
	return wait.For(ctx, time.Until(c.start.Add(offset)))
}

// Step releases entries by hand. The zero value is ready to use. Several replays may
// share it: the one that waits longest is served first. It is safe for concurrent use.
type Step struct {
	mu      sync.Mutex
	tokens  int
	waiting []chan struct{} // closed to release it
}

// Release releases n more entries. These count: for a Script a response, each chunk of it and its
// end; for a Source or All an event, or an error that the loop received; for a State a change.
// Other entries are not held back: they come with the entry that they follow.
func (s *Step) Release(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; n > 0 && len(s.waiting) > 0; n-- {
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
	}
	s.tokens += min(max(0, n), math.MaxInt-s.tokens)
}

func (s *Step) take(ctx context.Context) error {
	s.mu.Lock()
	if s.tokens > 0 && ctx.Err() == nil {
		s.tokens--
		s.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	s.waiting = append(s.waiting, turn)
	s.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range s.waiting {
		if w == turn {
			s.waiting = append(s.waiting[:i:i], s.waiting[i+1:]...)
			return context.Cause(ctx)
		}
	}
	return nil // it was released at the same time
}
