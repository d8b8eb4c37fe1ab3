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

// Retries of one Event. The others wait meanwhile: a server that does not answer one
// would not answer them.
const (
	maxTries   = 12
	retryPause = 10 * time.Second
	maxPause   = time.Minute // longest Retry-After that is followed

	brokenTries = 3           // for a 500, which may be about this Event only
	lastPause   = time.Second // within the grace period
)

// ErrRunning is returned by Run of a Recorder that was started before.
var ErrRunning = errors.New("the event recorder was started before")

// Run writes recorded Events until ctx is done, then queued ones for the grace period.
// It returns the cause of ctx after all its goroutines have ended. It can be called once.
//
// Events are written one by one, in the order in which they were recorded; one that
// happens again while it waits keeps its place. While the server cannot be reached or is
// overloaded, each is tried 12 times, every 10 seconds, and then given up. Events that
// the server refuses are dropped.
func (r *Recorder) Run(ctx context.Context) error {
	if r == nil {
		<-ctx.Done()
		return context.Cause(ctx)
	}
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
			r.logOverflow()
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
		r.logger().Warn("events dropped: not written before the end", "dropped", late)
	}
	return context.Cause(ctx)
}

// write sends the state of a series to the server, with retries.
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
			r.say(refusal(err), "event refused", s, err)
			r.settle(waited, &r.stats.Refused)
			return
		case try == maxTries || broken(err) && try >= brokenTries:
			r.say(slog.LevelWarn, "event dropped after the last retry", s, err)
			r.settle(waited, &r.stats.GivenUp)
			return
		case try == 1:
			r.say(slog.LevelWarn, "event not written, retrying", s, err)
		}
		pause(ctx, stopping, try, err)
	}
}

// send writes the state of a series with one request, or with two if the server has
// deleted the Event or has stored it although its response was lost. It adds to waited
// the Events that this request is the first to contain.
func (r *Recorder) send(ctx context.Context, s *series, waited *int) error {
	e, n := r.event(s)
	*waited += n
	if s.stored {
		err := r.patch(ctx, s, e)
		if !errors.Is(err, kube.ErrNotFound) { // deleted, or older than an hour
			return err
		}
	}
	_, err := r.stored.Create(ctx, e)
	if s.unsure && errors.Is(err, kube.ErrExists) {
		// The response to the previous request was lost, not the request. That may
		// have had a lower count.
		s.stored, s.unsure = true, false
		return r.patch(ctx, s, e)
	}
	s.stored, s.unsure = err == nil, err != nil && (s.unsure || !refused(err))
	return err
}

func (r *Recorder) patch(ctx context.Context, s *series, e event) error {
	p := repetition{Count: e.Count, LastTimestamp: e.LastTimestamp}
	if s.combined {
		p.Message = e.Message
	}
	_, err := r.answers.Patch(ctx, kube.KeyOf(e), client.StrategicMergePatch, p)
	return err
}

// refused reports whether a retry would get the same response.
func refused(err error) bool {
	return errors.As(err, new(*kube.Status)) &&
		!errors.Is(err, kube.ErrUnavailable) && !errors.Is(err, kube.ErrThrottled) && !errors.Is(err, kube.ErrUnauthorized)
}

// broken reports whether the server failed with 500. That may concern this Event only,
// for instance if a webhook fails.
func broken(err error) bool {
	var st *kube.Status
	return errors.As(err, &st) && st.Code == http.StatusInternalServerError
}

// refusal returns the log level of a refusal: in a namespace that is being deleted it is
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

// pause waits before the next try. The first pause is random, so that not all clients
// return to a restarted server at once; within the grace period it is short.
func pause(ctx context.Context, stopping <-chan struct{}, try int, err error) {
	d := retryPause
	if try == 1 {
		d = rand.N(d)
	}
	if st := (*kube.Status)(nil); errors.As(err, &st) {
		d = max(d, min(st.RetryAfter, maxPause))
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

// say logs why an Event could not be written: the first failure of a kind at level,
// further ones of the same kind at debug.
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

// logOverflow logs the Events that were dropped since its last call. Eventf does not
// log them itself, because a slow log must not delay its caller.
func (r *Recorder) logOverflow() {
	all := r.Stats().Overflow
	if n := all - r.overflowed; n > 0 {
		r.overflowed = all
		r.logger().Warn("events dropped: the queue was full", "dropped", n)
	}
}
