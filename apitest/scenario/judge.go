package scenario

import (
	"context"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// This file judges a client: steps that wait for a correct reaction, and fail if the
// client reacts differently, or not at all.

// survey checks the entries since the fault, in order. It returns the correct watch, if
// there is one: it is running, from a revision that the client may have, or lists the
// collection itself. The caller holds mu.
func (s *stage) survey() (well *entry, tellings int, err error) {
	// Revisions that the client may watch from: those that it has received.
	low, high, known := s.oldest, s.newest, s.newest != ""
	for _, e := range s.entries[:s.since] {
		if s.trailing && !e.ended.Before(s.struck) && e.revision.Newer(high) { // it got more events before it ended
			high = e.revision
		}
	}
	var first kube.Revision // of the list in progress
	for _, e := range s.entries[s.since:] {
		switch e.kind {
		case kindList:
			tellings++
			first = ""
			if e.complete {
				first = e.revision
			}
			if e.ended.IsZero() {
				well = nil // it will watch from what the list says
			}
		case kindStream, kindInitial:
			tellings++
			if e.kind == kindStream && !e.mark {
				continue
			}
			low, high, known = e.marked, e.revision, true
			if e.watching() {
				well = e
			}
		case kindResume:
			switch {
			case !known:
				return nil, 0, failed("it watches from %s before any list or stream has sent it the whole collection", e.from)
			case e.from.Newer(high):
				return nil, 0, failed("it watches from %s, and has received no more than %s: the changes in between are lost", e.from, high)
			case low.Newer(e.from):
				return nil, 0, failed("it watches from %s, although it has received everything up to %s", e.from, low)
			}
			if e.revision.Newer(high) {
				high = e.revision
			}
			if e.watching() {
				well = e
			}
		}
		if (e.kind == kindList || e.kind == kindPage) && e.complete && !e.more && first != "" {
			low, high, known = first, first, true
			if well != nil && well.kind == kindResume && well.from.Newer(first) {
				well = nil // it has left that watch, which the server has yet to notice
			}
		}
	}
	return well, tellings, nil
}

// found stores the revision that the client has now.
func (s *stage) found(e *entry) {
	s.current = e
	s.oldest = e.from
	if e.kind != kindResume {
		s.oldest = e.revision
	}
}

// comes waits for the first request: the time that a client takes to start is not
// judged.
func comes(d time.Duration) step {
	return func(ctx context.Context, s *stage) error {
		return s.await(ctx, d, func() (bool, error) { return len(s.entries) > 0, nil }, func() error {
			if s.http2 {
				return notExercised("no request within %v: does the client use this server, and does it trust the CA?", d)
			}
			return notExercised("no request within %v: does the client use this server?", d)
		})
	}
}

// follows waits until the client has received the collection and watches it.
func follows(d time.Duration) step {
	return func(ctx context.Context, s *stage) error {
		var well *entry
		err := s.await(ctx, d, func() (ok bool, err error) {
			well, _, err = s.survey()
			return well != nil, err
		}, func() error {
			if len(s.faults) > 0 && s.count(kindList, kindPage, kindProbe, kindStream, kindInitial, kindResume) > 0 {
				return failed("it did not watch the collection within %v", d)
			}
			return notExercised("within %v the client did not list and watch %s", d, s.resource.Plural)
		})
		if err != nil {
			return err
		}
		s.say("the client follows the collection")
		s.mu.Lock()
		defer s.mu.Unlock()
		s.found(well)
		if s.http2 && well.http < 2 {
			return notExercised("the client uses HTTP/1.1, but this scenario needs HTTP/2")
		}
		return nil
	}
}

// asked waits for the first request of one of the kinds; without it the scenario is not
// exercised.
func asked(d time.Duration, why string, kinds ...kind) step {
	return func(ctx context.Context, s *stage) error {
		return s.await(ctx, d, func() (bool, error) {
			_, _, err := s.survey()
			return s.count(kinds...) > 0, err
		}, func() error { return notExercised("%s", why) })
	}
}

// asks is like asked, but without the requests the client fails.
func asks(d time.Duration, n int, what string, kinds ...kind) step {
	return func(ctx context.Context, s *stage) error {
		return s.await(ctx, d, func() (bool, error) {
			_, _, err := s.survey()
			return s.count(kinds...) >= n, err
		}, func() error { return failed("within %v there was no %s", d, what) })
	}
}

// count counts the requests since the fault. The caller holds mu.
func (s *stage) count(kinds ...kind) (n int) {
	for _, e := range s.entries[s.since:] {
		for _, k := range kinds {
			if e.kind == k {
				n++
			}
		}
	}
	return n
}

// resumes waits for a watch from the revision of the last one, without a list.
func resumes(d time.Duration) step {
	return back(d, "to resume its watch", func(_ *entry, tellings int) (bool, error) {
		if tellings > 0 {
			return false, failed("it asked for the whole collection again, without need")
		}
		return true, nil
	})
}

// relists waits until the client has listed the collection again and watches it.
func relists(d time.Duration) step {
	return back(d, "to list again, or to stream the collection, and to watch on", func(_ *entry, tellings int) (bool, error) { return tellings > 0, nil })
}

// recovers waits until the client watches again, with or without a list.
func recovers(d time.Duration) step {
	return back(d, "to watch again", func(*entry, int) (bool, error) { return true, nil })
}

func back(d time.Duration, what string, right func(*entry, int) (bool, error)) step {
	return func(ctx context.Context, s *stage) error {
		var well *entry
		err := s.await(ctx, d, func() (bool, error) {
			e, tellings, err := s.survey()
			if err != nil {
				return false, err
			}
			ok, err := right(e, tellings)
			well = e
			return ok && e != nil, err
		}, func() error {
			return failed("%v were not enough for it %s", d, what)
		})
		if err == nil {
			s.mu.Lock()
			s.found(well)
			s.mu.Unlock()
		}
		return err
	}
}

// calm waits for d, and fails after more than n requests.
func calm(n int, d time.Duration) step {
	return func(ctx context.Context, s *stage) error {
		return s.await(ctx, d, func() (bool, error) {
			if got := len(s.entries) - s.since; got > n {
				return false, failed("%d requests within %.1f s of the fault, at most %d in %v are allowed: it does not back off", got, time.Since(s.struck).Seconds(), n, d)
			}
			return false, nil
		}, func() error { return nil })
	}
}

// waits fails if a request for the resource arrives within d after the first response
// with code.
func waits(d time.Duration, code int) step {
	return func(ctx context.Context, s *stage) error {
		var asked *entry
		var index int
		err := s.await(ctx, 45*time.Second, func() (bool, error) {
			for i, e := range s.entries[s.since:] {
				if e.code == code && !e.ended.IsZero() {
					asked, index = e, s.since+i
					return true, nil
				}
			}
			return false, nil
		}, func() error {
			if s.newest != "" { // it followed the collection before
				return failed("it sent no request after its watch ended")
			}
			return notExercised("no request got the %d", code)
		})
		if err != nil {
			return err
		}
		return s.await(ctx, d+settle, func() (bool, error) {
			for _, e := range s.entries[index+1:] {
				if gap := e.at.Sub(asked.at); e.kind != kindOther && gap < d {
					return false, failed("it was asked to wait %v, and sent a request after %.2f s", d, gap.Seconds())
				}
			}
			return false, nil
		}, func() error { return nil })
	}
}

// has checks that the client has processed the last change of name: when its watch ends
// normally, it resumes from there, or lists the collection.
func has(name string) step {
	return func(ctx context.Context, s *stage) error {
		s.begin()
		want := s.marks[name]
		for range 5 {
			s.srv.CloseWatches()
			s.mu.Lock()
			closed := len(s.entries)
			s.mu.Unlock()
			done := false
			err := s.await(ctx, 15*time.Second, func() (bool, error) {
				e, tellings, err := s.survey()
				if err != nil || e == nil {
					return false, err
				}
				if done = tellings > 0 || !want.Newer(e.from); done {
					s.found(e)
				}
				return done || len(s.entries) > closed, nil
			}, func() error { return nil })
			if err != nil || done {
				return err
			}
			if err := pause(time.Second)(ctx, s); err != nil { // it may receive the event now
				return err
			}
		}
		return failed("it got the event of revision %s, but does not watch from there: it did not process the event", want)
	}
}

// proof checks that the client still works: it processes a further change.
func proof() step {
	return func(ctx context.Context, s *stage) error {
		if err := put("proof")(ctx, s); err != nil {
			return err
		}
		return has("proof")(ctx, s)
	}
}

// once waits for d, or until the client watches, and fails if the collection is
// requested more than once.
func once(d time.Duration) step {
	return func(ctx context.Context, s *stage) error {
		return s.await(ctx, d, func() (bool, error) {
			well, tellings, err := s.survey()
			if err == nil && tellings > 1 {
				err = failed("it asked for the collection %d times, although the response was still arriving", tellings)
			}
			return well != nil, err
		}, func() error { return nil })
	}
}
