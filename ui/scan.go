package ui

import (
	"context"
	"strings"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/ui/internal/refusal"
)

// scan evaluates an expression on the objects of a view, in the background: those that
// exist at first, and each that changes from then on. The mutex of the kind guards it.
type scan struct {
	view     *view
	eval     func(map[string]any) (bool, error)
	verdicts map[int64]verdict
	pending  map[int64]*item
	done     int64
	failed   int64
	err      string
	wake     chan struct{}
	stopped  bool
	changed  bool // something changed since it was sent
}

type verdict struct {
	item   *item
	ok     bool
	failed bool
}

type wireFilter struct {
	Done   int64  `json:"done"`
	Of     int64  `json:"of"`
	Failed int64  `json:"failed,omitempty"`
	Error  string `json:"error,omitempty"`
}

// filterBy has a view evaluate an expression, if there is one.
func (u *UI) filterBy(v *view, expression string) error {
	if expression == "" {
		return nil
	}
	if u.o.Filter == nil {
		return refusal.Invalid("there is no jq filter here")
	}
	eval, err := u.o.Filter(expression)
	if err != nil {
		return refusal.Invalid("jq: %s", strings.TrimPrefix(err.Error(), "jq: "))
	}
	s := &scan{view: v, eval: eval, verdicts: map[int64]verdict{}, pending: map[int64]*item{}, wake: make(chan struct{}, 1)}
	v.kind.mu.Lock()
	defer v.kind.mu.Unlock()
	v.scan, v.built = s, false
	select {
	case u.scans <- s:
		return nil
	default:
		return errBusy
	}
}

// selects returns the verdict on an object; the last one until there is a new one.
func (s *scan) selects(i *item) bool {
	known := s.verdicts[i.n]
	if known.item != i {
		s.pending[i.n] = i
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	return known.ok
}

// forget drops what is known of an object that is gone.
func (s *scan) forget(n int64) {
	delete(s.pending, n)
	if old, known := s.verdicts[n]; known {
		delete(s.verdicts, n)
		s.done--
		if old.failed {
			s.failed--
		}
	}
}

func (s *scan) stop() {
	if !s.stopped {
		s.stopped = true
		close(s.wake)
	}
}

// moved reports whether something changed since it was called last.
func (s *scan) moved() bool {
	if s == nil {
		return false
	}
	changed := s.changed
	s.changed = false
	return changed
}

func (s *scan) wire() *wireFilter {
	return &wireFilter{Done: s.done, Of: s.done + int64(len(s.pending)), Failed: s.failed, Error: s.err}
}

// scanBatch is how many objects are evaluated between two looks at what is pending.
const scanBatch = 200

func (s *scan) run(ctx context.Context) {
	k := s.view.kind
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-s.wake:
			if !open {
				return
			}
		}
		for more := true; more && ctx.Err() == nil; {
			k.mu.Lock()
			var batch []*item
			for n, i := range s.pending {
				batch = append(batch, i)
				delete(s.pending, n)
				if len(batch) == scanBatch {
					break
				}
			}
			k.mu.Unlock()
			verdicts := make([]verdict, len(batch))
			var text string
			for n, i := range batch {
				ok, err := s.evaluate(i)
				verdicts[n] = verdict{i, ok, err != nil}
				if err != nil {
					text = printable.Line(err.Error())
				}
			}
			k.mu.Lock()
			s.take(verdicts, text)
			more = len(s.pending) > 0 && !s.stopped
			k.mu.Unlock()
		}
	}
}

// take notes verdicts.
func (s *scan) take(verdicts []verdict, text string) {
	for _, v := range verdicts {
		if now, ok := s.view.kind.store.Get(v.item.key); !ok || now.life != v.item.life {
			continue // it is gone meanwhile
		}
		old, known := s.verdicts[v.item.n]
		if s.verdicts[v.item.n] = v; !known {
			s.done++
		}
		if old.failed {
			s.failed--
		}
		if v.failed {
			s.failed++
		}
		if s.view.dirty != nil {
			if _, ok := s.view.dirty[v.item.n]; !ok && s.view.kind.current(v.item) {
				s.view.soil(v.item, v.item)
			}
		}
	}
	if text != "" {
		s.err = printable.Cut(text, 500)
	}
	s.changed = s.changed || len(verdicts) > 0
}

// current reports whether i is the state of an object that exists.
func (k *kind) current(i *item) bool {
	now, ok := k.store.Get(i.key)
	return ok && now == i
}

// evaluate returns whether the object of i is selected. It is decoded for this alone.
func (s *scan) evaluate(i *item) (bool, error) {
	text, err := i.kind.u.history.JSON(&i.past, i.pos)
	if err != nil {
		return false, nil // it has changed since, and is scanned again
	}
	raw, err := codec.ParseRaw([]byte(text))
	if err != nil {
		return false, err
	}
	var m map[string]any
	if err := raw.Decode(&m); err != nil {
		return false, err
	}
	return s.eval(m)
}
