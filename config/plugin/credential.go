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

	// After a run that failed, printed an expired credential or followed a 401, the next
	// run waits minPause, which doubles up to maxPause. A pause of calm resets it.
	minPause = time.Second
	maxPause = 30 * time.Second
	calm     = time.Minute

	// A command with a cache may print a credential at the moment when it expires; the
	// command then runs again.
	moment   = 2 * time.Second
	attempts = 3
)

// flight is one run of the command and its waiting callers.
type flight struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the fields below are set

	credential *client.Credential
	err        error

	// Guarded by Plugin.mu.
	waiting int
	dying   bool               // the last waiting caller has left
	refused *client.Credential // the credential that got a 401 and caused the run; nil = it expires
}

// Credential implements client.Source: it returns the current credential, or runs the
// command if there is none, if it expires, or if the server refused it.
//
// Concurrent callers share one run and its result. A caller whose ctx ends leaves the
// others waiting; the last one to leave kills the command and waits for its end, two
// seconds at most. While the command fails, a credential that has not expired stays in
// use. A credential that is already expired when it is printed is returned, because the
// local clock may be wrong, and the command runs again soon; after a 401 the error says
// that it was expired. Credential returns refused again if the command prints the same
// credential after a 401, or ran for a 401 a moment ago.
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

// errRun means that the command must run.
var errRun = errors.New("a run is needed")

// choose returns the credential to use, the error of the last run, or errRun. The caller
// holds mu.
func (p *Plugin) choose(refused *client.Credential) (*client.Credential, error) {
	now, c := time.Now(), p.held.credential
	good := c != nil && (p.late != nil || !p.held.expired(now))
	bad := c != nil && c == refused // an older refused credential has been replaced since
	switch {
	case p.flight != nil && good && !bad && p.flight.refused != c:
		return c, nil // still valid while its replacement is fetched
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
		return c, nil // no better one is available
	}
	return nil, errRun
}

// start runs the command. The caller holds mu.
func (p *Plugin) start(refused *client.Credential) *flight {
	ctx, cancel := context.WithCancelCause(context.Background()) // the run is shared: it must not end with one caller's ctx
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

// ask runs the command, again if the credential expired just before it was printed.
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

// land stores the result of a run and wakes its waiting callers.
func (p *Plugin) land(f *flight, a answer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(f.done)
	p.flight = nil
	if f.dying && err != nil {
		return // we have killed it
	}
	now := time.Now()
	if held := p.held; err == nil && a.expired(now) && held.credential != nil && held.credential != f.refused && !held.expired(now) {
		err = p.o.late(a, now) // keep the valid one
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

// hold stores a. For an equal credential the pointer stays the same, so that connections
// are kept.
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
		// As in kubectl the server decides: the local clock may be wrong.
		p.due = now
		p.late = p.o.late(a, now)
	case same && a.expires.Equal(p.held.expires):
		p.due = a.expires // asked early, the command still returns the same
	default:
		p.due = a.expires.Add(-min(left/10, maxLeeway))
	}
	p.held = a
}

// late returns the error for an expired credential.
func (o *Options) late(a answer, now time.Time) error {
	return o.explain(fmt.Errorf("the credential it printed expired %s ago: is the clock of this machine right?", roughly(now.Sub(a.expires))))
}

// outcome returns the result of f for a caller that waited.
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

// leave removes one waiting caller of f, and kills the command after the last one.
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

// roughly formats d for people.
func roughly(d time.Duration) string {
	if days := d / (24 * time.Hour); days > 1 {
		return fmt.Sprintf("%d days", days)
	}
	return d.Round(time.Second).String()
}
