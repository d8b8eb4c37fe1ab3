package operator

import (
	"context"
	"maps"
	"time"

	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
)

// contest is how often in a row a child was created, or others have changed it back.
type contest struct {
	times int
	last  time.Time
}

// longest is the longest pause of an owner whose child is contested. After twice this time
// without a change by others the child no longer is.
const longest = 5 * time.Second

// contested delays the next run of owner if others change the child k back again and again, or
// delete it: two programs with different desired states would write it without a pause.
func (s *Children[C, T]) contested(owner T, k kube.Key, now C) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := func(_ kube.Key, c contest) bool { return time.Since(c.last) > 2*longest }
	if len(s.contests) > s.crowd {
		maps.DeleteFunc(s.contests, old)
		s.crowd = 2*len(s.contests) + 100
	}
	c := s.contests[k]
	if old(k, c) {
		c.times = 0
	}
	c.times++
	c.last = time.Now()
	s.contests[k] = c
	if c.times > 5 {
		s.owner.Controller.Await(kube.KeyOf(owner), pause(c.last.Add(min(longest, 10*time.Millisecond<<min(c.times-5, 10)))), now)
	}
}

// pause is a [controller.Awaiter] that only waits for a time. Those of several children do not
// add up.
type pause time.Time

func (p pause) Name() string { return "pause" }

func (p pause) Await(ctx context.Context, _ kube.Object) error {
	_ = wait.For(ctx, time.Until(time.Time(p))) // a stop ends the pause, and is no failure of it
	return nil
}

func (p pause) AwaitDeleted(ctx context.Context, o kube.Object) error { return p.Await(ctx, o) }
