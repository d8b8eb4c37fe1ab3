// Package order sorts the objects of a list as --sort-by says.
package order

import (
	"errors"
	"fmt"
	"sort"

	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/jsonpath"
	"github.com/listwatch/listwatch/kube"
)

// By implements list --sort-by: it keeps the records of objects until the list is complete.
// It sorts them as kubectl does: the rows of Tables for each type separately, objects in other
// formats all together.
type By struct {
	text string
	path *jsonpath.Template // nil = no sorting
	rows bool               // sort each type separately
	kept [][]sortable       // one slice for each type, or one for all
	rest []record.Record    // records that are not about objects
}

// sortable is a record with what it is sorted by.
type sortable struct {
	record.Record
	key   any
	found bool
}

func (s *By) Compile(text string, rows bool) error {
	s.text, s.rows = text, rows
	if text == "" {
		return nil
	}
	path, err := jsonpath.ParsePath(text)
	if err != nil {
		return exit.Usage("--sort-by: %w", err)
	}
	s.path = path
	return nil
}

// Keep keeps r until flush, if there is sorting.
func (s *By) Keep(r record.Record) bool {
	switch {
	case s.path == nil:
		return false
	case !r.IsObject():
		s.rest = append(s.rest, r)
		return true
	}
	last := len(s.kept) - 1
	if last < 0 || s.rows && s.kept[last][0].Resource != r.Resource {
		s.kept = append(s.kept, nil)
		last++
	}
	s.kept[last] = append(s.kept[last], sortable{Record: r})
	return true
}

// Flush gives what was kept, sorted. What is not printed of a Secret does not
// count.
func (s *By) Flush(redact bool, give func(record.Record)) error {
	known := len(s.kept) == 0
	for _, all := range s.kept {
		for i := range all {
			if err := s.find(&all[i], redact); err != nil {
				return exit.Failed(fmt.Errorf("--sort-by %s: %s: %w", printable.Clip(s.text), record.KubectlName(all[i].Resource, all[i].ID.Name), err))
			}
			known = known || all[i].found
		}
	}
	if !known {
		return exit.Failed(fmt.Errorf("--sort-by %s: no object has such a field", printable.Clip(s.text)))
	}
	for _, all := range s.kept {
		if err := sorted(all); err != nil {
			return exit.Failed(fmt.Errorf("--sort-by %s: %w", printable.Clip(s.text), err))
		}
	}
	for _, all := range s.kept {
		for _, r := range all {
			give(r.Record)
		}
	}
	for _, r := range s.rest {
		give(r)
	}
	return nil
}

func (s *By) find(o *sortable, redact bool) error {
	m, err := record.MapOf(&o.Record, redact)
	if err != nil {
		return err
	}
	values, err := s.path.Find(m)
	if err != nil {
		return err
	}
	if len(values) > 0 && len(values[0]) > 0 {
		o.key, o.found = values[0][0], true
	}
	return nil
}

// sorted sorts all. It is not stable, as kubectl is not: so equal ones stand as
// they do there.
func sorted(all []sortable) error {
	var bad error
	sort.Slice(all, func(i, j int) bool {
		a, b := &all[i], &all[j]
		if !a.found || !b.found {
			return !a.found
		}
		less, err := sortsBefore(a.key, b.key)
		if err != nil && bad == nil {
			bad = err
		}
		return less
	})
	return bad
}

// sortsBefore compares two values: numbers, quantities such as 100m and 1Gi if both are
// quantities, otherwise text.
func sortsBefore(a, b any) (bool, error) {
	switch a := a.(type) {
	case nil:
		return b != nil, nil
	case int64:
		if b, ok := b.(int64); ok {
			return a < b, nil
		}
	case float64:
		if b, ok := b.(float64); ok {
			return a < b, nil
		}
	case string:
		if b, ok := b.(string); ok {
			x, errX := kube.ParseQuantity(a)
			y, errY := kube.ParseQuantity(b)
			if errX == nil && errY == nil {
				return x.Cmp(y) < 0, nil
			}
			return a < b, nil
		}
	case []any:
		if b, ok := b.([]any); ok {
			for i := range min(len(a), len(b)) {
				if less, err := sortsBefore(a[i], b[i]); err != nil || !less {
					return less, err
				}
			}
			return true, nil
		}
	default:
		return false, errors.New("want a field that is text or a number")
	}
	if b == nil {
		return false, nil
	}
	return false, errors.New("the field is not of one kind in all objects")
}
