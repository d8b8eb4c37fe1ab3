package filter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/itchyny/gojq"
	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/jsonpath"
	"github.com/listwatch/listwatch/watch"
)

// Filtering are the flags that leave out events by what the objects hold, which
// the server cannot do.
type Filtering struct {
	Where    []string
	onChange []string
	changed  bool
	ignore   []string
	Exclude  []string
}

func (f *Filtering) Register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.Where, "where", nil, `select the objects for which this jq expression is true, such as '.status.phase == "Failed"', as -l does: an object that starts to match is ADDED, one that stops matching DELETED; may be repeated`)
	flags.StringArrayVar(&f.onChange, "on-change", nil, "print a MODIFIED event only when the value at this JSONPath has changed, such as .spec.replicas; may be repeated")
	flags.BoolVar(&f.changed, "changed-only", false, "print a MODIFIED event only when something besides --ignore-fields has changed")
	flags.StringSliceVar(&f.ignore, "ignore-fields", ignored, "ignore changes of these fields in --changed-only and -o diff")
	flags.StringSliceVar(&f.Exclude, "exclude-namespace", nil, "leave out the objects in these namespaces")
}

// ignored are the fields whose changes say nothing.
var ignored = []string{"metadata.managedFields", "metadata.resourceVersion"}

// RegisterChanges registers the flags for two states of each object. An object is kept
// where something besides --ignore-fields differs.
func (f *Filtering) RegisterChanges(flags *pflag.FlagSet) {
	f.changed = true
	flags.StringArrayVar(&f.onChange, "on-change", nil, "print a MODIFIED object only when the value at this JSONPath has changed, such as .spec.replicas; may be repeated")
	flags.StringSliceVar(&f.ignore, "ignore-fields", ignored, "ignore changes of these fields")
}

// Compile checks the flags.
func (f *Filtering) Compile() (Filter, error) {
	c := Filter{changed: f.changed}
	for _, text := range f.onChange {
		path, err := jsonpath.ParsePath(text)
		if err != nil {
			return c, exit.Usage("--on-change: %w", err)
		}
		c.paths = append(c.paths, path)
	}
	for _, text := range f.ignore {
		path := strings.Split(strings.TrimPrefix(text, "."), ".")
		if slices.Contains(path, "") {
			return c, exit.Usage("--ignore-fields %q: want names with dots between, such as metadata.resourceVersion", printable.Clip(text))
		}
		c.Ignore = append(c.Ignore, path)
	}
	return c, nil
}

// Filter decides which of the events of selected objects are printed. An error is
// reported beside a record that is kept: what cannot be compared is not left out.
type Filter struct {
	paths   []*jsonpath.Template
	changed bool
	Ignore  [][]string

	Kept *atomic.Int64 // counts them; may be nil
}

// Looks reports whether f must see objects, not only their rows.
func (f *Filter) Looks() bool { return f.paths != nil || f.changed }

// Keeps reports whether r is printed.
func (f *Filter) Keeps(r *record.Record) (bool, error) {
	ok, err := f.decide(r)
	if ok && f.Kept != nil {
		f.Kept.Add(1)
	}
	return ok, err
}

func (f *Filter) decide(r *record.Record) (bool, error) {
	if r.Type != string(watch.Modified) || r.Old.GetName() == "" || !f.Looks() {
		return true, nil
	}
	before, err := f.look(r.Before(false))
	if err != nil {
		return true, err
	}
	now, err := f.look(record.MapOf(r, false))
	if err != nil {
		return true, err
	}
	if f.paths != nil {
		differs, err := before.leadElsewhere(now)
		if err != nil || !differs {
			return err != nil, err
		}
	}
	return !f.changed || !bytes.Equal(before.rest, now.rest), nil
}

// seenState is what a filter sees of one state of an object, encoded: the decoded values
// of a large object take many times its size, and those of two states twice that.
type seenState struct {
	found [][]byte // by path; nil where it does not fit the object
	errs  []error  // by path
	rest  []byte   // all but the ignored fields, where that is looked at
}

// look returns what f sees of an object, which it changes.
func (f *Filter) look(object map[string]any, err error) (s seenState, _ error) {
	if err != nil {
		return s, err
	}
	for _, p := range f.paths {
		values, err := p.Find(object)
		var b []byte
		if err == nil {
			if b, err = json.Marshal(values); err != nil {
				return s, err
			}
		}
		s.found, s.errs = append(s.found, b), append(s.errs, err)
	}
	if f.changed {
		record.Forget(object, f.Ignore)
		s.rest, err = json.Marshal(object)
	}
	return s, err
}

// leadElsewhere reports whether one of the paths leads to other values in now than in s.
// What does not fit an object leads nowhere.
func (s *seenState) leadElsewhere(now seenState) (bool, error) {
	for i, err := range now.errs {
		if (s.errs[i] == nil) != (err == nil) || err == nil && !bytes.Equal(s.found[i], now.found[i]) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("--on-change: %w", err)
		}
	}
	return false, nil
}

// Assigns reports whether a jq filter is an assignment, or a part of its condition is.
func Assigns(text string) bool {
	q, err := gojq.Parse(text)
	return err == nil && assignment(q)
}

func assignment(q *gojq.Query) bool {
	switch {
	case q == nil:
		return false
	case q.Term != nil && q.Term.Type == gojq.TermTypeQuery && len(q.Term.SuffixList) == 0:
		return assignment(q.Term.Query) // in brackets
	case q.Op == gojq.OpAnd, q.Op == gojq.OpOr:
		return assignment(q.Left) || assignment(q.Right)
	case q.Op == gojq.OpPipe:
		return assignment(q.Right)
	}
	return q.Op == gojq.OpAssign
}
