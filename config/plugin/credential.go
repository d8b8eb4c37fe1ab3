package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/listwatch/listwatch/client"
)

const (
	// A credential is replaced when a tenth of its life is left, or maxLeeway.
	maxLeeway = 10 * time.Second

	// After a run that failed, gave what had expired, or that a 401 caused, there is none for minPause,
	// which doubles up to maxPause. Runs that lie calm apart are not in a row.
	minPause = time.Second
	maxPause = 30 * time.Second
	calm     = time.Minute

	// A command that keeps credentials itself may hand one out in the moment in
	// which it expires; it is then asked again.
	moment   = 2 * time.Second
	attempts = 3
)

// flight is one run, for all that wait for it.
type flight struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the rest is set

	credential *client.Credential
	err        error

	// Guarded by Plugin.mu.
	waiting int
	dying   bool               // the last that waited has left
	refused *client.Credential // by the server, hence the run; nil = it was time
}

// Credential implements client.Source: it returns the credential in use, or runs
// the command if there is none, if it expires, or if it was refused.
//
// Callers at the same time share one run and its outcome. One whose ctx ends
// leaves the others waiting; the last of them has the command killed and waits
// for its end, which takes a second or two at most. While the command fails, a
// credential that has not expired stays in use. One that has when it is printed is
// given out, and the command asked for another soon; after a 401 the error says so. Where the command gives the same
// again after a 401, or was run for one a moment ago, refused is returned.
func (p *Plugin) Credential(ctx context.Context, refused *client.Credential) (*client.Credential, error) {
	for {
		p.mu.Lock()
		c, err := p.choose(refused)
		if err != errRun {
			p.mu.Unlock()
			return c, err
		}
		if ctx.Err() != nil {
			p.mu.Unlock()
			return nil, p.left(ctx)
		}
		f := p.flight
		if f == nil {
			f = p.start(refused)
		}
		joined := !f.dying
		if joined {
			f.waiting++
		}
		p.mu.Unlock()

		select {
		case <-f.done:
			if joined {
				return p.outcome(f, refused)
			}
		case <-ctx.Done():
			if joined && p.leave(f) {
				<-f.done
			}
			return nil, p.left(ctx)
		}
	}
}

// errRun asks for a run.
var errRun = errors.New("a run is needed")

// choose returns the credential to use, or why there is none, or errRun. The
// caller holds mu.
func (p *Plugin) choose(refused *client.Credential) (*client.Credential, error) {
	now, c := time.Now(), p.held.credential
	good := c != nil && (p.late != nil || !p.held.expired(now))
	bad := c != nil && c == refused // another that was refused was replaced since
	switch {
	case p.flight != nil && good && !bad && p.flight.refused != c:
		return c, nil // it is being replaced in time
	case p.flight != nil:
		if bad {
			p.flight.refused = c
		}
		return nil, errRun
	case good && !bad && (p.due.IsZero() || now.Before(p.due)):
		return c, nil
	case now.Before(p.next) && good && !bad:
		return c, nil
	case now.Before(p.next) && p.err != nil:
		return nil, p.err
	case now.Before(p.next) && bad && p.late != nil:
		return nil, p.late
	case now.Before(p.next) && good:
		return c, nil // nothing better is to be had
	}
	return nil, errRun
}

// start runs the command. The caller holds mu.
func (p *Plugin) start(refused *client.Credential) *flight {
	ctx, cancel := context.WithCancelCause(context.Background()) // it is no caller's own
	f := &flight{cancel: cancel, done: make(chan struct{})}
	if refused != nil && refused == p.held.credential {
		f.refused = refused
	}
	if time.Since(p.ended) > calm {
		p.row = 0
	}
	p.flight = f
	go func() {
		defer cancel(nil)
		a, err := p.ask(ctx)
		p.land(f, a, err)
	}()
	return f
}

// ask runs the command until it gives what has not expired, or seems to give nothing
// else.
func (p *Plugin) ask(ctx context.Context) (answer, error) {
	for n := 1; ; n++ {
		a, err := p.run(ctx)
		late := time.Since(a.expires)
		switch {
		case err != nil:
			return answer{}, err
		case a.expires.IsZero() || late < 0 || late > moment || n == attempts:
			return a, nil
		}
		again := time.NewTimer(minPause)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return answer{}, context.Cause(ctx)
		}
	}
}

// land notes what a run gave, and tells those that wait for it.
func (p *Plugin) land(f *flight, a answer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(f.done)
	p.flight = nil
	if f.dying && err != nil {
		return // it was us who ended it
	}
	now := time.Now()
	if held := p.held; err == nil && a.expired(now) && held.credential != nil && held.credential != f.refused && !held.expired(now) {
		err = p.o.late(a, now) // what is held is better
	}
	p.ended, p.err = now, err
	if err == nil {
		p.hold(a, now)
	}
	p.next = time.Time{}
	if err == nil && f.refused == nil && p.late == nil {
		p.row = 0
	} else {
		p.next = now.Add(min(minPause<<p.row, maxPause))
		p.row = min(p.row+1, 10)
	}
	f.credential, f.err = p.held.credential, err
}

// hold keeps a, under the old pointer if it is the same credential: connections
// are made anew for another.
func (p *Plugin) hold(a answer, now time.Time) {
	same := equal(p.held.credential, a.credential)
	if same {
		a.credential = p.held.credential
	}
	p.late = nil
	switch left := a.expires.Sub(now); {
	case a.expires.IsZero():
		p.due = time.Time{}
	case left <= 0:
		// As for kubectl it is the server's to judge: the clock may be wrong that says so.
		p.due = now
		p.late = p.o.late(a, now)
	case same && a.expires.Equal(p.held.expires):
		p.due = a.expires // it was asked early, and says that this is still the one
	default:
		p.due = a.expires.Add(-min(left/10, maxLeeway))
	}
	p.held = a
}

// late is what is wrong with a.
func (o *Options) late(a answer, now time.Time) error {
	return o.explain(fmt.Errorf("the credential it printed expired %s ago: is the clock of this machine right?", roughly(now.Sub(a.expires))))
}

// outcome is what f means for one that waited.
func (p *Plugin) outcome(f *flight, refused *client.Credential) (*client.Credential, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case f.err == nil && f.credential == refused && p.late != nil:
		return nil, p.late
	case f.err == nil:
		return f.credential, nil
	}
	if c := p.held.credential; c != nil && c != refused && !p.held.expired(time.Now()) {
		return c, nil
	}
	return nil, f.err
}

// leave takes one off those that wait for f, and has it killed if it was the last.
func (p *Plugin) leave(f *flight) (last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f.waiting--
	if f.waiting == 0 {
		f.dying = true
		f.cancel(errAbandoned)
	}
	return f.dying
}

func (p *Plugin) left(ctx context.Context) error {
	return p.o.explain(fmt.Errorf("stopped waiting for it: %w", context.Cause(ctx)))
}

func (a answer) expired(now time.Time) bool {
	return !a.expires.IsZero() && !now.Before(a.expires)
}

func equal(a, b *client.Credential) bool {
	switch {
	case a == nil || b == nil || a.Token != b.Token || (a.Certificate == nil) != (b.Certificate == nil):
		return false
	case a.Certificate == nil:
		return true
	}
	return slices.EqualFunc(a.Certificate.Certificate, b.Certificate.Certificate, bytes.Equal)
}

// roughly is d for people.
func roughly(d time.Duration) string {
	if days := d / (24 * time.Hour); days > 1 {
		return fmt.Sprintf("%d days", days)
	}
	return d.Round(time.Second).String()
}
