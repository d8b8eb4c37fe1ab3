package webhook

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/listwatch/listwatch/internal/disk"
	"github.com/listwatch/listwatch/kube"
)

// keeper keeps the certificate of one replica. All replicas do the same, without a
// leader; they meet in the Secret, whose writes are conditional. A rotation has two steps:
//
//  1. A replica stores a new pair with a new CA in the Secret. Every replica writes the
//     CAs of the Secret into each configuration, and removes none that has not expired.
//  2. Each replica serves by the new pair once it has seen its CA in every configuration
//     for Options.Settle, by its own monotonic clock, or once another replica says in the
//     Secret that it has. Before that it serves by the previous pair.
//
// A write of a configuration is conditional, and the Secret is read after the
// configuration: so the CAs of a configuration never go back to those of an older Secret.
type keeper struct {
	s       *Server
	targets []*target
	held    map[string]time.Time // since when every target has been seen to hold a CA, by mark
	begun   bool
	alone   bool             // at first, no target held a CA that had not expired
	install map[*target]bool // to be applied as a whole
	absent  string           // what API servers do not find, as logged
	failing bool
}

// keep obtains and renews the certificate until ctx ends.
func (s *Server) keep(ctx context.Context) {
	k := &keeper{s: s, targets: s.targets(), held: make(map[string]time.Time), install: make(map[*target]bool)}
	for _, t := range k.targets {
		k.install[t] = s.options.Install && len(t.hooks) > 0
	}
	const shortest = 50 * time.Millisecond
	pause := shortest
	for {
		again, err := k.round(ctx)
		if ctx.Err() != nil {
			return
		}
		k.note(err)
		wait := s.options.Check - rand.N(s.options.Check/4+1)
		if err != nil || again {
			wait = min(wait, pause/2+rand.N(pause))
			pause = min(2*pause, s.options.Check)
		} else {
			pause = shortest
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// note reports a failure, and logs the first of several.
func (k *keeper) note(err error) {
	switch {
	case err == nil && k.failing:
		k.s.log.Info("the certificates of the webhooks are up to date again")
	case err != nil && !k.failing:
		k.s.log.Warn("the certificates of the webhooks cannot be updated", "err", err)
	case err != nil:
		k.s.log.Debug("the certificates of the webhooks cannot be updated", "err", err)
	}
	if k.failing = err != nil; err == nil {
		return
	}
	k.s.eachTrace(func(t Trace) {
		if t.Failed != nil {
			t.Failed(err)
		}
	})
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	if k.s.serving == nil {
		k.s.ready = err
	}
}

// round looks at the Secret and the configurations, and makes what is missing. again asks
// for another round soon, to see the result.
func (k *keeper) round(ctx context.Context) (again bool, err error) {
	if k.s.options.CertFile != "" {
		return k.files(ctx)
	}
	now := k.s.clock()
	seen, unread := bundle{}, error(nil)
	for _, t := range k.targets {
		if err := t.read(ctx, k.s); err != nil {
			unread = errors.Join(unread, err)
		}
		seen = seen.with(t.all(now), now)
	}
	v, err := k.s.readVault(ctx) // after the targets
	if err != nil {
		return false, errors.Join(unread, err)
	}
	if unread != nil {
		k.guess(v, unread)
		return false, unread
	}
	if !k.begun {
		k.begun, k.alone = true, !alive(seen, now)
	}
	serving := k.s.current()
	next, why, err := k.s.revise(v, serving, seen, now)
	if err != nil {
		return false, err
	}
	if v.newest != nil {
		k.observe(v)
		k.choose(v, serving, seen, now)
		if m := mark(v.newest.ca); why == "" && v.settled != m && k.hasSettled(v) {
			next.settled, why = m, "the newest CA has settled"
		}
	}
	if why != "" {
		k.s.log.Info("writing the Secret with the certificates", "secret", k.s.options.Secret.String(), "reason", why, "err", v.damaged)
		return raced(k.s.writeVault(ctx, &next))
	}
	wrote, err := k.spread(ctx, v)
	if err != nil || wrote {
		return raced(err)
	}
	return false, nil
}

// raced returns that a round must be repeated if another replica was faster.
func raced(err error) (bool, error) {
	if errors.Is(err, kube.ErrConflict) || errors.Is(err, kube.ErrExists) {
		err = nil
	}
	return true, err
}

// spread writes the CAs of v where they are missing.
func (k *keeper) spread(ctx context.Context, v *vault) (wrote bool, err error) {
	var absent []string
	for _, t := range k.targets {
		if k.s.options.Install && len(t.former) > 0 {
			err, wrote = errors.Join(err, k.s.removeFormer(ctx, t)), true
			continue // the next round reads it again
		}
		if t.emptied() {
			continue
		}
		install := k.install[t] || k.s.options.Install && len(t.hooks) > 0 && (!t.exists || len(t.missing) > 0)
		switch {
		case install:
		case !t.exists:
			absent = append(absent, t.String())
			continue
		case len(t.missing) > 0:
			absent = append(absent, strings.Join(t.missing, " and ")+" in "+t.String())
		}
		if !install && !t.lacks(v.trusted) {
			continue
		}
		if failure := k.s.apply(ctx, t, v.trusted, install); failure != nil {
			err = errors.Join(err, failure)
			continue
		}
		delete(k.install, t)
		wrote = true
	}
	if text := strings.Join(absent, "; "); text != k.absent {
		if k.absent = text; text != "" {
			k.s.log.Warn("API servers do not call some webhooks: apply the configurations, or set Options.Install", "missing", text)
		}
	}
	return wrote, err
}

// observe notes which CAs every target holds, as they were read.
func (k *keeper) observe(v *vault) {
	now := time.Now() // monotonic
	held := make(map[string]time.Time)
	for _, p := range []*pair{v.newest, v.old, k.s.current()} {
		if p == nil || p.ca == nil {
			continue
		}
		everywhere := true
		for _, t := range k.targets {
			everywhere = everywhere && t.holds(p)
		}
		if m := mark(p.ca); everywhere {
			if held[m] = now; !k.held[m].IsZero() {
				held[m] = k.held[m]
			}
		}
	}
	k.held = held
}

// holds reports whether every target was seen to hold the CA of p.
func (k *keeper) holds(p *pair) bool { return p != nil && !k.held[mark(p.ca)].IsZero() }

// hasSettled reports whether this replica has seen for long enough that every target
// holds the newest CA.
func (k *keeper) hasSettled(v *vault) bool {
	return k.holds(v.newest) && time.Since(k.held[mark(v.newest.ca)]) >= k.s.options.Settle
}

// choose serves by the best pair: the newest if it is trusted everywhere, or else what is
// served already, or the previous one.
func (k *keeper) choose(v *vault, serving *pair, seen bundle, now time.Time) {
	best, trusted := v.newest, k.holds(v.newest) && (v.settled == mark(v.newest.ca) || k.hasSettled(v))
	switch {
	case k.s.fit(v.newest, now) && trusted:
	case k.s.fit(serving, now) && k.s.isReady():
		best = serving
	case k.s.fit(v.old, now) && k.holds(v.old):
		best = v.old
	case k.s.fit(serving, now):
		best = serving
	}
	var ready error
	switch {
	case best.same(serving) && k.s.isReady():
	case !k.holds(best):
		ready = errors.New("a webhook configuration does not have its CA yet")
	case !k.alone && !best.same(v.old) && !(trusted && best.same(v.newest)):
		for m, ca := range seen { // the Secret was lost, perhaps, and other replicas serve by what was in it
			if !best.is(m) && now.Before(ca.NotAfter) {
				ready = fmt.Errorf("API servers may not trust its certificate until %v after they have its CA", k.s.options.Settle)
			}
		}
	}
	k.s.serve(best, ready, !best.same(v.newest))
}

// guess serves by what API servers probably trust, if there is nothing yet, and the
// configurations cannot be read because of err.
func (k *keeper) guess(v *vault, err error) {
	if k.s.current() != nil || v.newest == nil {
		return
	}
	best := v.newest
	if now := k.s.clock(); v.settled != mark(v.newest.ca) && k.s.fit(v.old, now) || !k.s.fit(v.newest, now) && k.s.fit(v.old, now) {
		best = v.old
	}
	k.s.serve(best, err, !best.same(v.newest))
}

// is reports whether the CA of p has a mark. p may be nil.
func (p *pair) is(m string) bool { return p != nil && mark(p.ca) == m }

// alive reports whether a CA of b has not expired.
func alive(b bundle, now time.Time) bool {
	for _, ca := range b {
		if now.Before(ca.NotAfter) {
			return true
		}
	}
	return false
}

// current returns the pair that is served, nil if there is none.
func (s *Server) current() *pair {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.serving
}

// serve serves by p from now on. ready is why the replica is not ready, or nil.
func (s *Server) serve(p *pair, ready error, pending bool) {
	s.mu.Lock()
	changed := !p.same(s.serving)
	if changed {
		s.serving = p
	}
	s.ready, s.pending = ready, pending
	s.mu.Unlock()
	if !changed {
		return
	}
	s.log.Info("serving by a certificate", "until", p.leaf.NotAfter)
	s.eachTrace(func(t Trace) {
		if t.Serving != nil {
			t.Serving(p.leaf.NotAfter)
		}
	})
}

// isReady reports whether nothing but an expired certificate is in the way.
func (s *Server) isReady() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready == nil
}

// readPEM reads a file again and again: to open a pipe would be to wait for somebody who writes.
func readPEM(path string) ([]byte, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	return disk.ReadFile(path, maxPEM)
}

// files reads the pair of Options.CertFile and KeyFile, and applies the configurations
// without a CA. again asks for another round soon.
func (k *keeper) files(ctx context.Context) (again bool, err error) {
	o := k.s.options
	cert, err := readPEM(o.CertFile)
	if err != nil {
		return false, fmt.Errorf("read the certificate: %w", err)
	}
	key, err := readPEM(o.KeyFile)
	if err != nil {
		return false, fmt.Errorf("read the key of the certificate: %w", err)
	}
	p, err := parseFiles(cert, key)
	if err != nil {
		return false, fmt.Errorf("files %s and %s: %w", o.CertFile, o.KeyFile, err)
	}
	k.s.serve(p, nil, false)
	if !o.Install {
		return false, nil
	}
	for _, t := range k.targets {
		if t.hooks == nil {
			continue
		}
		if failure := t.read(ctx, k.s); failure != nil {
			err = errors.Join(err, failure)
			continue
		}
		switch {
		case len(t.former) > 0:
			again, err = true, errors.Join(err, k.s.removeFormer(ctx, t))
		case k.install[t]:
			failure := k.s.apply(ctx, t, nil, true)
			if err = errors.Join(err, failure); failure == nil {
				delete(k.install, t)
			}
		}
	}
	if err != nil {
		return raced(err)
	}
	return again, nil
}
