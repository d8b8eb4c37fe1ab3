package filter

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/jq"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Criteria are what --where and --exclude-namespace select.
type Criteria struct {
	Texts   []string // of codes, as they were given
	codes   []*gojq.Code
	Exclude []string // namespaces, sorted

	Ended <-chan struct{} // closed when expressions end without a result; see jq.Ended. nil = never
}

// Compile checks the flags.
func (w *Criteria) Compile(expressions, exclude []string) error {
	for _, text := range expressions {
		if Assigns(text) {
			return exit.Usage("--where %q: a single = assigns in jq, and that is true of every object: compare by ==", printable.Clip(text))
		}
		code, err := jq.JQCode(text)
		if err != nil {
			return exit.Usage("--where %q: %w", printable.Clip(text), err)
		}
		w.Texts, w.codes = append(w.Texts, text), append(w.codes, code)
	}
	for _, name := range exclude {
		if err := target.CheckNamespace(name); err != nil {
			return exit.Usage("--exclude-namespace: %w", err)
		}
	}
	w.Exclude = slices.Compact(slices.Sorted(slices.Values(exclude)))
	return nil
}

// Asks reports whether objects must be seen, not only their names.
func (w *Criteria) Asks() bool { return len(w.codes) > 0 }

// Empty reports whether everything is selected.
func (w *Criteria) Empty() bool { return !w.Asks() && len(w.Exclude) == 0 }

// Excludes reports whether objects in this namespace are not selected.
func (w *Criteria) Excludes(namespace string) bool {
	return namespace != "" && slices.Contains(w.Exclude, namespace)
}

// holds reports whether all expressions are true of an object.
func (w *Criteria) holds(object map[string]any) (bool, error) {
	v := jq.JQValue(object)
	for _, code := range w.codes {
		switch ok, err := jq.True(w.Ended, code, v); {
		case errors.Is(err, jq.ErrEnded):
			return false, fmt.Errorf("--where: %w", err)
		case err != nil:
			return false, fmt.Errorf("--where: %s", printable.Clip(printable.Line(err.Error())))
		case !ok:
			return false, nil
		}
	}
	return true, nil
}

// Selector makes of the events of a collection those that a server would send to whom
// it selects objects for, as with -l: an object that comes to match is added, one that
// ceases to match is deleted. It is for one goroutine.
type Selector[T record.Raw] struct {
	Criteria
	Fields func(T) (map[string]any, error) // what the expressions see
	Known  func(kube.Key) (T, bool)        // the objects that match, as they were reported last

	Failing map[kube.Key]error // objects for which an expression failed last
	bytes   int64              // of Failing
}

// Passage is what a selector does with an event.
type Passage uint8

const (
	Dropped   Passage = iota // the object is not selected, and was not
	passed                   // as it is
	Unmatched                // now the deletion of an object that exists, and was selected
	Replaced                 // now the deletion of a namesake of the object, of which no other event will come
)

// Take returns what is left of ev, and why. It returns an error when an expression
// fails for an object for which none did before; such an object is not selected. After
// jq.ErrEnded nothing is known of ev.
func (s *Selector[T]) Take(ev watch.Event[T]) (watch.Event[T], Passage, error) {
	switch {
	case ev.Type == watch.Restart:
		clear(s.Failing)
		s.bytes = 0
		return ev, passed, nil
	case ev.Type == watch.Bookmark, ev.Type == watch.Synced:
		return ev, passed, nil
	case s.Excludes(ev.Key.Namespace):
		return ev, Dropped, nil
	case !s.Asks():
		return ev, passed, nil
	case ev.Type == watch.Deleted:
		s.forget(ev.Key)
		return ev, passed, nil // for whom it was selected; others do not know it
	}
	holds, err := s.selects(ev)
	if holds {
		return ev, passed, nil
	}
	old, known := s.Known(ev.Key)
	if !known {
		return ev, Dropped, err
	}
	how, uid := Unmatched, old.Identity().UID
	if uid != "" && ev.UID != "" && uid != ev.UID {
		how = Replaced
	}
	return watch.Event[T]{Type: watch.Deleted, Key: ev.Key, UID: uid, Revision: ev.Revision, Object: old}, how, err
}

// selects reports whether the object of ev is selected, and the first failure of one.
func (s *Selector[T]) selects(ev watch.Event[T]) (bool, error) {
	m, err := s.Fields(ev.Object)
	holds := false
	if err == nil {
		holds, err = s.holds(m)
	}
	if err == nil {
		s.forget(ev.Key)
		return holds, nil
	}
	_, again := s.Failing[ev.Key]
	s.forget(ev.Key)
	if s.Failing == nil {
		s.Failing = map[kube.Key]error{}
	}
	key := kube.Key{Namespace: strings.Clone(ev.Key.Namespace), Name: strings.Clone(ev.Key.Name)}
	s.Failing[key] = err
	s.bytes += failureSize(key, err)
	if again && !errors.Is(err, jq.ErrEnded) {
		err = nil
	}
	return false, err
}

// forget removes the failure for the object of key k, if there is one.
func (s *Selector[T]) forget(k kube.Key) {
	if err, ok := s.Failing[k]; ok {
		s.bytes -= failureSize(k, err)
		delete(s.Failing, k)
	}
}

// Bytes returns the memory of Failing in bytes, as an estimate.
func (s *Selector[T]) Bytes() int64 { return s.bytes }

// failureSize is the memory of one entry of Failing in bytes: an error holds its text
// and that of the error that it wraps.
func failureSize(k kube.Key, err error) int64 {
	const overhead = 160
	return overhead + int64(len(k.Namespace)+len(k.Name)+2*len(err.Error()))
}

// Undecided returns an error that names an object for which an expression fails, nil
// where it does for none.
func (s *Selector[T]) Undecided(r kube.Resource) error {
	if len(s.Failing) == 0 {
		return nil
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(s.Failing)), kube.Key.Compare)
	more := ""
	if n := len(s.Failing) - 1; n > 0 {
		more = fmt.Sprintf(" and %s more", printable.Thousands(n))
	}
	return fmt.Errorf("%s%s%s: %w", record.KubectlName(r, printable.Line(first.Name)), target.In(first.Namespace), more, s.Failing[first])
}

// Decided is how a run ends that would end well by err: as a failure where nobody can
// say of some objects whether they are selected.
func Decided[S interface{ Undecided() error }](err error, streams []S) error {
	if err != nil && !errors.Is(err, exit.ErrAskedFor) {
		return err
	}
	for _, s := range streams {
		if u := s.Undecided(); u != nil {
			return exit.Failed(fmt.Errorf("%w; whether it is selected is not known: let the expression hold for every object, as by .a[]? and (.a // \"\")", u))
		}
	}
	return err
}
