package scenario

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// step is one step of a scenario. Its error is a *judgement, or that of ctx.
type step func(ctx context.Context, s *stage) error

// flood is the number of requests that ends any scenario: no correct client sends as
// many.
const flood = 400

// await waits until cond is true or fails, for at most d; late returns the verdict
// after that. cond is called with mu held.
func (s *stage) await(ctx context.Context, d time.Duration, cond func() (bool, error), late func() error) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		s.mu.Lock()
		changed := s.changed
		ok, err := cond()
		if err == nil && len(s.entries) > flood {
			err = failed("the client hammers the server: %d requests in %.0f s", len(s.entries), time.Since(s.start).Seconds())
		}
		s.mu.Unlock()
		if ok || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-timer.C:
			s.mu.Lock()
			defer s.mu.Unlock()
			return late()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// pause waits for d.
func pause(d time.Duration) step {
	return func(ctx context.Context, s *stage) error {
		return s.await(ctx, d, func() (bool, error) { return false, nil }, func() error { return nil })
	}
}

// settle is long enough for an event to arrive over a network.
const settle = 300 * time.Millisecond

// act changes the server.
func act(what string, f func(*stage)) step {
	return func(_ context.Context, s *stage) error {
		if what != "" {
			s.say("%s", what)
		}
		f(s)
		return nil
	}
}

// on sets a fault, for a number of requests; 0 = until heal.
func on(m apitest.Match, h http.HandlerFunc, times int) step {
	return act("", func(s *stage) {
		m := m
		m.Resource = s.resource.GroupResource()
		f := s.srv.On(m, h)
		if times > 0 {
			f.Times(times)
		}
		s.faults = append(s.faults, f)
	})
}

// heal removes the faults.
func heal() step {
	return act("all faults are removed", func(s *stage) {
		for _, f := range s.faults {
			f.Remove()
		}
		s.faults = nil
		s.update(func() { s.armed = nil })
	})
}

// door opens or closes the server for connections.
func (s *stage) door(d apitest.Door) {
	if err := s.srv.SetDoor(d); err != nil {
		s.say("cannot change the listener: %v", err)
	}
}

func open(s *stage) { s.door(apitest.Open) }

// shut refuses connections and breaks existing ones. A client that reconnects at once
// does not reach the server while it is being changed.
func shut(s *stage) {
	s.door(apitest.Refusing)
	s.srv.Cut()
}

// strike is act at the moment from which the client is judged: it may resume from the
// events that it has received so far.
func strike(what string, f func(*stage)) step {
	return func(ctx context.Context, s *stage) error {
		s.begin()
		return act(what, f)(ctx, s)
	}
}

func (s *stage) begin() {
	s.mu.Lock()
	s.since = len(s.entries)
	s.mu.Unlock()
	s.struck, s.newest, s.trailing = time.Now(), s.srv.Revision(), true
}

// exactly sets the earliest revision that a client may resume from to the last one that
// it received.
func exactly() step {
	return act("", func(s *stage) { s.oldest = s.srv.Revision() })
}

// put writes an object. Its text is an annotation, so that clients that request
// metadata only get it too.
func (s *stage) put(name, text string) {
	s.marks[name] = s.srv.Put(s.resource, fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"annotations":{"text":%q}}}`, s.namespace, name, text))
}

func (s *stage) remove(name string) {
	s.srv.Delete(s.resource, kube.Key{Namespace: s.namespace, Name: name})
}

// put writes objects, and waits for their events to arrive.
func put(names ...string) step {
	return func(ctx context.Context, s *stage) error {
		for _, name := range names {
			s.put(name, fmt.Sprint(time.Now().UnixNano(), " Zürich ", strings.Repeat("x", 400)))
		}
		return pause(settle)(ctx, s)
	}
}

// armedEvents is the highest event of a watch for which a fault can be armed.
const armedEvents = 40

// arm lets h handle the watch right after its next event.
func arm(what string, h http.HandlerFunc) step {
	armed := act("after the next event: "+what, func(s *stage) {
		s.update(func() {
			s.armed = func(*entry) http.HandlerFunc {
				s.armed = nil
				return h
			}
		})
	})
	return func(ctx context.Context, s *stage) error {
		// The client follows as soon as the last event of its collection was written; fire
		// is called for that event after it.
		if err := pause(settle)(ctx, s); err != nil {
			return err
		}
		return armed(ctx, s)
	}
}

// fire is called after each event of a watch.
func (s *stage) fire(w http.ResponseWriter, r *http.Request) {
	var h http.HandlerFunc = apitest.Continue
	s.mu.Lock()
	if s.armed != nil {
		if e := s.lastOf(r); e != nil {
			if armed := s.armed(e); armed != nil {
				h = armed
			}
		}
	}
	s.mu.Unlock()
	h(w, r)
}

// lastOf returns the entry of a running watch. The caller holds mu.
func (s *stage) lastOf(r *http.Request) *entry {
	for i := len(s.entries) - 1; i >= 0; i-- {
		if e := s.entries[i]; e.watching() && strings.Contains(e.line, r.URL.Path) {
			return e
		}
	}
	return nil
}

// strikeAfter writes name, whose event triggers the armed fault. The client is judged
// from then on, and has received no later event.
func strikeAfter(name string) step {
	return func(ctx context.Context, s *stage) error {
		s.mu.Lock()
		s.since = len(s.entries)
		s.mu.Unlock()
		s.struck = time.Now()
		s.put(name, "triggers it")
		s.newest, s.trailing = s.marks[name], false
		return pause(settle)(ctx, s)
	}
}
