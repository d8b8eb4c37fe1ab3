package ui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/listwatch/listwatch/internal/archive"
	"github.com/listwatch/listwatch/internal/printable"
)

// keeper writes the states of types to a folder, in a goroutine of its own: a slow disk
// delays no watch. It is safe for concurrent use.
type keeper struct {
	dir  *archive.Dir
	wake chan struct{}

	mu      sync.Mutex // guards the rest; taken after that of a kind
	jobs    []job
	failure string // why something is not kept
	retry   int64  // not before then
}

// job is to write something of a type.
type job struct {
	kind  *kind
	begin func() (*archive.Segment, error) // a segment with all objects
	add   func(*archive.Segment) error     // to the segment of the type; nil with begin = it ends
}

const (
	// maxJobs is how much may wait for the disk. What is more is not kept: a segment
	// ends, and the next one has all objects again.
	maxJobs = 50_000

	// keepAgain is how long nothing is tried after an error.
	keepAgain = time.Minute
)

// put appends a job, unless too many wait.
func (p *keeper) put(o job) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.jobs) >= maxJobs {
		p.failure, p.retry = "the disk is too slow", now()+keepAgain.Milliseconds()
		return false
	}
	p.jobs = append(p.jobs, o)
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return true
}

// failed notes why something is not kept.
func (p *keeper) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure, p.retry = printable.Cut(printable.Line(err.Error()), 500), now()+keepAgain.Milliseconds()
}

// state returns why something is not kept, and whether to try.
func (p *keeper) state() (failure string, try bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure, now() >= p.retry
}

// run writes until ctx ends, and then what is left.
func (p *keeper) run(ctx context.Context) {
	segments := map[*kind]*archive.Segment{}
	tick := time.NewTicker(time.Minute) // so that segments become old
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			ended = true
		case <-tick.C:
		case <-p.wake:
		}
		p.mu.Lock()
		jobs := p.jobs
		p.jobs = nil
		p.mu.Unlock()
		for _, o := range jobs {
			if err := o.write(segments); err != nil {
				p.lost(o.kind, segments, err)
			}
		}
		for k, s := range segments {
			next, err := s.Flush(time.Now())
			if segments[k] = next; err != nil {
				delete(segments, k)
				p.lost(k, segments, err)
			}
		}
	}
	if err := p.dir.Close(); err != nil {
		p.failed(err)
	}
}

// write does what a job says, to the segment of its type.
func (o *job) write(segments map[*kind]*archive.Segment) error {
	s := segments[o.kind]
	if o.begin == nil && o.add != nil {
		if s == nil {
			return nil // it was given up, and all objects follow
		}
		return o.add(s)
	}
	delete(segments, o.kind)
	if s != nil {
		if err := s.Close(); err != nil {
			return err
		}
	}
	if o.begin == nil {
		return nil
	}
	next, err := o.begin()
	if err == nil {
		segments[o.kind] = next
	}
	return err
}

// lost gives up the segment of a type.
func (p *keeper) lost(k *kind, segments map[*kind]*archive.Segment, err error) {
	if s := segments[k]; s != nil {
		err = errors.Join(err, s.Close())
		delete(segments, k)
	}
	p.failed(err)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = false
}

// write has something written to the segment of the type, if it has one. Holds k.mu.
func (k *kind) write(add func(*archive.Segment) error) {
	if k.kept {
		k.kept = k.u.keeper.put(job{kind: k, add: add})
	}
}

// unkept ends the segment of the type. Holds k.mu.
func (k *kind) unkept() {
	if k.kept {
		k.kept = false
		k.u.keeper.put(job{kind: k})
	}
}

// keepAll begins a segment with all objects, if the type is kept and has none. Holds k.mu.
func (k *kind) keepAll() {
	p := k.u.keeper
	if p == nil || k.kept || !k.always || k.secret() || !k.store.Synced() || k.missed != nil || k.state != stateLive {
		return
	}
	why, try := p.state()
	if !try {
		return
	}
	var states []archive.State
	for _, i := range k.store.All() {
		if st, packed := k.u.history.Packed(&i.past); !packed.IsZero() {
			states = append(states, archive.State{At: st.At, Op: st.Op, Key: i.key, UID: i.uid, Revision: i.revision, By: st.By, Cells: i.cells, Inferred: st.Inferred, Object: packed})
		}
	}
	cols, at, res := k.archived(), k.u.now(), k.res.Resource
	reason := cmp.Or(why, reasonNotRun)
	k.kept = p.put(job{kind: k, begin: func() (*archive.Segment, error) {
		return p.dir.Begin(res, cols, at, reason, slices.Values(states))
	}})
}

// reasonNotRun is why the time before a segment is not known.
const reasonNotRun = "this program did not run, or did not watch it"

// archived returns the columns. Holds k.mu.
func (k *kind) archived() []archive.Column {
	var cols []archive.Column
	for _, c := range k.columns {
		cols = append(cols, archive.Column(c))
	}
	return cols
}

// mark notes until when there was no other change. Holds k.mu.
func (k *kind) mark() {
	if at := k.heard; k.kept && k.state == stateLive && at > k.marked {
		k.marked = at
		k.write(func(s *archive.Segment) error { return s.Mark(at) })
	}
}
