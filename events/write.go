package events

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// How long it is tried to write an Event: all others wait meanwhile, since what
// keeps the server from answering keeps it from answering them.
const (
	mostTries  = 12
	retryPause = 10 * time.Second
	mostPause  = time.Minute // that the server may ask for

	brokenTries = 3           // where the server answers 500: the next may do better
	lastPause   = time.Second // within the grace period
)

// ErrRunning is returned by Run of a Recorder that runs, or ran.
var ErrRunning = errors.New("the event recorder was started before")

// Run writes what is recorded until ctx is done, then for the grace period what
// still waits, and returns the cause of ctx when nothing of it runs any more. It
// can be called once.
//
// Events are written one by one, in the order in which they were recorded; one that
// happens again while it waits keeps its place. While the server cannot be reached
// or is overloaded, each is tried 12 times, every 10 seconds, and then given up.
// What the server refuses is dropped.
func (r *Recorder) Run(ctx context.Context) error {
	r.mu.Lock()
	if r.running {
		r.mu.Unlock()
		return ErrRunning
	}
	r.running = true
	r.mu.Unlock()

	writing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	written := make(chan struct{})
	go func() {
		defer close(written)
		for s := r.next(ctx.Done()); s != nil; s = r.next(ctx.Done()) {
			r.write(writing, ctx.Done(), s)
			r.tellOverflow()
		}
	}()

	<-ctx.Done()
	grace := time.NewTimer(r.grace)
	defer grace.Stop()
	select {
	case <-written:
	case <-grace.C:
		r.end()
		cancel()
		<-written
	}
	if late := r.Stats().Late; late > 0 {
		r.logger().Warn("events were dropped: the end came before they were written", "dropped", late)
	}
	return context.Cause(ctx)
}

// write tells the server what there is to tell of a series, as often as it takes.
func (r *Recorder) write(ctx context.Context, stopping <-chan struct{}, s *series) {
	waited := 0
	for try := 1; ; try++ {
		err := r.send(ctx, s, &waited)
		switch {
		case err == nil:
			if r.reported != "" {
				r.reported = ""
				r.logger().Info("events are written again")
			}
			r.settle(waited, &r.stats.Written)
			return
		case ctx.Err() != nil:
			r.settle(waited, &r.stats.Late)
			return
		case refused(err):
			r.say(refusal(err), "an event was refused", s, err)
			r.settle(waited, &r.stats.Refused)
			return
		case try == mostTries || broken(err) && try >= brokenTries:
			r.say(slog.LevelWarn, "an event was given up", s, err)
			r.settle(waited, &r.stats.GivenUp)
			return
		case try == 1:
			r.say(slog.LevelWarn, "an event could not be written, and is tried again", s, err)
		}
		pause(ctx, stopping, try, err)
	}
}

// send makes the one request that tells the state of a series, or, where the
// server had forgotten the Event or was faster than its answer, a second one. It
// adds to waited what the request tells for the first time.
func (r *Recorder) send(ctx context.Context, s *series, waited *int) error {
	e, n := r.event(s)
	*waited += n
	if s.stored {
		err := r.patch(ctx, s, e)
		if !errors.Is(err, kube.ErrNotFound) { // or its hour is over
			return err
		}
	}
	_, err := r.stored.Create(ctx, e)
	if s.unsure && errors.Is(err, kube.ErrExists) {
		// The answer to the request before was lost, and not the request. It may
		// have told less.
		s.stored, s.unsure = true, false
		return r.patch(ctx, s, e)
	}
	s.stored, s.unsure = err == nil, err != nil && !refused(err)
	return err
}

func (r *Recorder) patch(ctx context.Context, s *series, e event) error {
	p := again{Count: e.Count, LastTimestamp: e.LastTimestamp}
	if s.combined {
		p.Message = e.Message
	}
	_, err := r.answers.Patch(ctx, kube.KeyOf(e), client.StrategicMergePatch, p)
	return err
}

// refused reports whether the server's answer will be the same next time.
func refused(err error) bool {
	return errors.As(err, new(*kube.Status)) &&
		!errors.Is(err, kube.ErrUnavailable) && !errors.Is(err, kube.ErrThrottled) && !errors.Is(err, kube.ErrUnauthorized)
}

// broken reports whether the server tried and failed. That may be about this one
// Event, such as where a webhook fails.
func broken(err error) bool {
	var st *kube.Status
	return errors.As(err, &st) && st.Code == http.StatusInternalServerError
}

// refusal is how much a refusal matters: in a namespace that is being deleted it is
// routine.
func refusal(err error) slog.Level {
	var st *kube.Status
	if errors.As(err, &st) && st.Details != nil {
		for _, c := range st.Details.Causes {
			if c.Reason == "NamespaceTerminating" {
				return slog.LevelDebug
			}
		}
	}
	return slog.LevelWarn
}

// pause waits before the next try: for the first time a part of the pause, so that
// not all who lost a server come back to it at once. At the end it is short.
func pause(ctx context.Context, stopping <-chan struct{}, try int, err error) {
	d := retryPause
	if try == 1 {
		d = rand.N(d)
	}
	if st := (*kube.Status)(nil); errors.As(err, &st) {
		d = max(d, min(st.RetryAfter, mostPause))
	}
	if closed(stopping) {
		d, stopping = lastPause, nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stopping:
	case <-ctx.Done():
	}
}

// say logs why an Event could not be written. That requests fail, or are forbidden, is
// one line at the level, and what follows for the same reason is for debugging.
func (r *Recorder) say(level slog.Level, text string, s *series, err error) {
	kind := ""
	switch {
	case errors.Is(err, kube.ErrForbidden):
		kind = "forbidden"
	case !refused(err):
		kind = "failing"
	}
	if kind != "" && level > slog.LevelDebug {
		if kind == r.reported {
			level = slog.LevelDebug
		}
		r.reported = kind
	}
	r.logger().Log(context.Background(), level, text,
		"object", s.about.String(), "type", string(s.typ), "reason", s.reason, "err", err)
}

// tellOverflow logs what was dropped since it was last told: not by those who
// record, whom a log must not hold up.
func (r *Recorder) tellOverflow() {
	all := r.Stats().Overflow
	if n := all - r.overflowed; n > 0 {
		r.overflowed = all
		r.logger().Warn("events were dropped: the queue was full", "dropped", n)
	}
}
