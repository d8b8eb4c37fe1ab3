package sink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/internal/wait"
)

// Pause stops all commits to a scope until [Resume]: after it has returned nil, nothing is
// committed. scope is that of a stored position, as Reader.Positions returns it. A Runner of
// the scope waits and continues after Resume; if its Sink is not a [Reader], it ends with
// ErrFenced. Pause needs no API server. After an error it may be called again.
func Pause(ctx context.Context, s Sink, scope Scope) error {
	return control(ctx, s, scope, func(p *Position) { p.Control = Paused })
}

// Resume ends a [Pause].
func Resume(ctx context.Context, s Sink, scope Scope) error {
	return control(ctx, s, scope, func(p *Position) { p.Control = Released })
}

// Backfill makes the Runner of the scope, or the next one, list the collection and write each
// object again: this restores rows that were deleted or changed in the table. The history
// gets the state of each object, with a new epoch, and a GAP record for the changes that the
// list replaces. If the scope has no complete list yet, the collection is listed again in the same
// epoch. A paused scope stays paused. What [Pause] says about scope, a Sink that is no [Reader],
// and errors is true here too.
func Backfill(ctx context.Context, s Sink, scope Scope) error {
	return control(ctx, s, scope, func(p *Position) {
		if p.Control != Paused {
			p.Control = Released
		}
		if p.Revision == "" && p.Cause == "" {
			return // the first list is not complete
		}
		if p.Epoch++; p.Phase == Live {
			p.Phase, p.Cause = Loading, CauseBackfill
		}
	})
}

// control changes the position of a scope, which fences the Runner of the scope.
func control(ctx context.Context, s Sink, scope Scope, change func(*Position)) (err error) {
	scope.Rescope, scope.Release = false, true
	for failures := range 5 { // a process that starts now may open the scope in between
		if failures > 0 {
			if waitErr := wait.For(ctx, backoff(failures)); waitErr != nil {
				return errors.Join(waitErr, err)
			}
		}
		var p Position
		if p, _, err = s.Open(ctx, scope); errors.Is(err, ErrRefused) {
			return fmt.Errorf("open %s: %w", scope, err)
		} else if err != nil {
			err = fmt.Errorf("open %s: %w", scope, err)
			continue
		}
		p.Scope = scope
		change(&p)
		p.Sequence++
		p.Time = time.Now().UTC()
		if err = s.Commit(ctx, nil, p); err == nil {
			return nil
		}
		err = fmt.Errorf("commit the position of %s: %w", scope, err)
		if !errors.Is(err, ErrFenced) {
			return err // it is unknown whether the commit happened
		}
	}
	return err
}

// errPaused means that the scope was paused when it was opened.
var errPaused = errors.New("paused")

// released waits while the scope is paused, and reports whether this Runner may open it
// again: that is so if Pause, Resume or Backfill fenced it, also before their commit, and no
// other Runner has opened the scope since.
func (r *Runner) released(ctx context.Context) (bool, error) {
	reader, ok := r.o.Sink.(Reader)
	if !ok {
		return false, nil
	}
	r.note(func(s *Status) { s.Pending = time.Time{} }) // the watch repeats what was not committed
	paused, unread, most := false, false, 5*time.Second
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, most) {
		p, all, err := r.stored(ctx, reader)
		switch {
		case err != nil:
			if !unread && ctx.Err() == nil {
				r.o.Logger.Warn("sink: the position cannot be read", "scope", r.o.Scope.String(), "err", err)
			}
			unread = true
			r.note(func(s *Status) { s.Err = err })
		case p == nil:
			return false, nil
		case p.Control != Paused:
			if paused && p.Control == Released {
				r.o.Logger.Info("sink: resumed", "scope", r.o.Scope.String())
			}
			return p.Control == Released, nil
		default:
			if !paused {
				r.o.Logger.Info("sink: paused", "scope", r.o.Scope.String())
			}
			paused, most = true, 5*time.Second+time.Duration(all)*100*time.Millisecond // others read as often
			r.note(func(s *Status) { s.Position, s.Err = *p, nil })
		}
		if err := wait.For(ctx, pause); err != nil {
			return false, err
		}
		if r.o.Leading != nil && !r.o.Leading() {
			return false, nil
		}
	}
}

// stored returns the position of the scope in the sink, nil if there is none, and how many
// positions there are.
func (r *Runner) stored(ctx context.Context, reader Reader) (p *Position, all int, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.o.CommitTimeout)
	defer cancel()
	positions, err := reader.Positions(ctx)
	for _, p := range positions {
		a, b := p.Scope, r.o.Scope
		if a.Cluster == b.Cluster && a.Resource.Group == b.Resource.Group && a.Resource.Plural == b.Resource.Plural && a.Shard == b.Shard {
			p.Scope = b
			return &p, len(positions), err
		}
	}
	return nil, len(positions), err
}
