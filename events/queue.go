package events

import (
	"time"

	"github.com/listwatch/listwatch/kube"
)

// take queues an Event. It returns false if the Event is invalid.
func (r *Recorder) take(about Reference, typ Type, reason, message string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Recorded++
	switch {
	case about.Name == "" || about.Kind == "" || reason == "" || typ != Normal && typ != Warning:
		r.stats.Invalid++
		return false
	case r.ended:
		r.stats.Late++
		return true
	}
	now := time.Now()
	s := r.correlator.observe(about, typ, reason, message, now)
	if !s.waiting && !r.correlator.allows(about, typ, now) {
		r.stats.Filtered++
		return true
	}
	s.fresh++
	r.stats.Waiting++
	if s.waiting {
		return true
	}
	s.waiting = true
	r.waiting.PushBack(s)
	if r.waiting.Len() > r.queue {
		r.stats.Overflow += r.drop()
	}
	select {
	case r.ready <- struct{}{}:
	default:
	}
	return true
}

// drop removes the oldest series from the queue and returns the number of Events in it.
// The caller holds mu.
func (r *Recorder) drop() int {
	s := r.waiting.Remove(r.waiting.Front()).(*series)
	n := s.fresh
	s.fresh, s.waiting = 0, false
	r.stats.Waiting -= n
	return n
}

// event returns the current state of a series, and how many of its Events were waiting.
func (r *Recorder) event(s *series) (event, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := event{
		Meta:           kube.Meta{Name: s.name, Namespace: s.about.home()},
		InvolvedObject: s.about, Type: s.typ, Reason: s.reason, Message: s.message,
		Count: count(s.count), FirstTimestamp: stamp(s.first), LastTimestamp: stamp(s.last),
		Source:              source{Component: r.component, Host: r.host},
		ReportingController: r.component, ReportingInstance: r.host,
	}
	n := s.fresh
	s.fresh = 0
	return e, n
}

// settle moves n Events from Stats.Waiting to count.
func (r *Recorder) settle(n int, count *int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Waiting -= n
	*count += n
}

// end drops the queue and accepts no more Events.
func (r *Recorder) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	for r.waiting.Len() > 0 {
		r.stats.Late += r.drop()
	}
}

// next waits for a series to write. It returns nil when the queue is empty and stopping
// is closed; from then on no Event is accepted.
func (r *Recorder) next(stopping <-chan struct{}) *series {
	for {
		ending := closed(stopping)
		if s := r.pop(ending); s != nil || ending {
			return s
		}
		select {
		case <-r.ready:
		case <-stopping:
		}
	}
}

func (r *Recorder) pop(ending bool) *series {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.waiting.Len() > 0 {
		s := r.waiting.Remove(r.waiting.Front()).(*series)
		s.waiting = false
		if s.fresh > 0 { // else a retry of the last request has written it
			return s
		}
	}
	r.ended = r.ended || ending
	return nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
