package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// criteria are what --where and --exclude-namespace select.
type criteria struct {
	texts   []string // of codes, as they were given
	codes   []*gojq.Code
	exclude []string // namespaces, sorted
}

// compile checks the flags.
func (w *criteria) compile(expressions, exclude []string) error {
	for _, text := range expressions {
		if assigns(text) {
			return exit.Usage("--where %q: a single = assigns in jq, and that is true of every object: compare by ==", printable.Clip(text))
		}
		code, err := jqCode(text)
		if err != nil {
			return exit.Usage("--where %q: %w", printable.Clip(text), err)
		}
		w.texts, w.codes = append(w.texts, text), append(w.codes, code)
	}
	for _, name := range exclude {
		if err := checkNamespace(name); err != nil {
			return exit.Usage("--exclude-namespace: %w", err)
		}
	}
	w.exclude = slices.Compact(slices.Sorted(slices.Values(exclude)))
	return nil
}

// asks reports whether objects must be seen, not only their names.
func (w *criteria) asks() bool { return len(w.codes) > 0 }

// empty reports whether everything is selected.
func (w *criteria) empty() bool { return !w.asks() && len(w.exclude) == 0 }

// excludes reports whether objects in this namespace are not selected.
func (w *criteria) excludes(namespace string) bool {
	return namespace != "" && slices.Contains(w.exclude, namespace)
}

// holds reports whether all expressions are true of an object.
func (w *criteria) holds(object map[string]any) (bool, error) {
	v := jqValue(object)
	for _, code := range w.codes {
		first, ok := code.Run(v).Next()
		if err, failed := first.(error); failed {
			return false, fmt.Errorf("--where: %s", printable.Clip(printable.Line(err.Error())))
		}
		if !ok || first == nil || first == false {
			return false, nil
		}
	}
	return true, nil
}

// selector makes of the events of a collection those that a server would send to whom
// it selects objects for, as with -l: an object that comes to match is added, one that
// ceases to match is deleted. It is for one goroutine.
type selector[T raw] struct {
	criteria
	fields func(T) (map[string]any, error) // what the expressions see
	known  func(kube.Key) (T, bool)        // the objects that match, as they were reported last

	failing map[kube.Key]error // objects for which an expression failed last
}

// passage is what a selector does with an event.
type passage uint8

const (
	dropped   passage = iota // the object is not selected, and was not
	passed                   // as it is
	unmatched                // now the deletion of an object that exists, and was selected
	replaced                 // now the deletion of a namesake of the object, of which no other event will come
)

// take returns what is left of ev, and why. It returns an error when an expression
// fails for an object for which none did before; such an object is not selected.
func (s *selector[T]) take(ev watch.Event[T]) (watch.Event[T], passage, error) {
	switch {
	case ev.Type == watch.Restart:
		clear(s.failing)
		return ev, passed, nil
	case ev.Type == watch.Bookmark, ev.Type == watch.Synced:
		return ev, passed, nil
	case s.excludes(ev.Key.Namespace):
		return ev, dropped, nil
	case !s.asks():
		return ev, passed, nil
	case ev.Type == watch.Deleted:
		delete(s.failing, ev.Key)
		return ev, passed, nil // for whom it was selected; others do not know it
	}
	holds, err := s.selects(ev)
	if holds {
		return ev, passed, nil
	}
	old, known := s.known(ev.Key)
	if !known {
		return ev, dropped, err
	}
	how, uid := unmatched, old.Identity().UID
	if uid != "" && ev.UID != "" && uid != ev.UID {
		how = replaced
	}
	return watch.Event[T]{Type: watch.Deleted, Key: ev.Key, UID: uid, Revision: ev.Revision, Object: old}, how, err
}

// selects reports whether the object of ev is selected, and the first failure of one.
func (s *selector[T]) selects(ev watch.Event[T]) (bool, error) {
	m, err := s.fields(ev.Object)
	holds := false
	if err == nil {
		holds, err = s.holds(m)
	}
	if err == nil {
		delete(s.failing, ev.Key)
		return holds, nil
	}
	_, again := s.failing[ev.Key]
	if s.failing == nil {
		s.failing = map[kube.Key]error{}
	}
	s.failing[kube.Key{Namespace: strings.Clone(ev.Key.Namespace), Name: strings.Clone(ev.Key.Name)}] = err
	if again {
		err = nil
	}
	return false, err
}

// undecided returns an error that names an object for which an expression fails, nil
// where it does for none.
func (s *selector[T]) undecided(r kube.Resource) error {
	if len(s.failing) == 0 {
		return nil
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(s.failing)), kube.Key.Compare)
	more := ""
	if n := len(s.failing) - 1; n > 0 {
		more = fmt.Sprintf(" and %s more", printable.Thousands(n))
	}
	return fmt.Errorf("%s%s%s: %w", kubectlName(r, printable.Line(first.Name)), in(first.Namespace), more, s.failing[first])
}

// decided is how a run ends that would end well by err: as a failure where nobody can
// say of some objects whether they are selected.
func decided[S interface{ undecided() error }](err error, streams []S) error {
	if err != nil && !errors.Is(err, exit.ErrAskedFor) {
		return err
	}
	for _, s := range streams {
		if u := s.undecided(); u != nil {
			return exit.Failed(fmt.Errorf("%w; whether it is selected is not known: let the expression hold for every object, as by .a[]? and (.a // \"\")", u))
		}
	}
	return err
}
