package jsonpath

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Values are what encoding/json decodes into an any: nil, bool, string,
// map[string]any, []any, and float64, int64 or json.Number.

// Find returns, for each piece of text and each action in turn, the values that
// it leads to from v. Nothing of v is changed or copied. The values that descents (..)
// lead to have at most 16 MiB as JSON, else Find returns an error: a value is below all
// those above it, so a small object can make of itself a large text.
func (t *Template) Find(v any) ([][]any, error) {
	var found [][]any
	err := t.run(v, func(_ *node, values []any) error {
		found = append(found, values)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// evaluation is one run of a template.
type evaluation struct {
	give func(*node, []any) error
	left int // bytes that descents may still print
}

// run gives what each node of t leads to from v, in order.
func (t *Template) run(v any, give func(*node, []any) error) error {
	e := &evaluation{give: give, left: maxDescent}
	return e.run(t.nodes, v, false)
}

// run gives what nodes lead to from v, which is itself below a descent or not.
func (e *evaluation) run(nodes []node, v any, below bool) error {
	for i := range nodes {
		n := &nodes[i]
		if !n.action && !n.loop {
			if err := e.give(n, []any{n.text}); err != nil {
				return err
			}
			continue
		}
		values, err := walk(n.path, []any{v})
		if err != nil {
			return fmt.Errorf("jsonpath: %w", err)
		}
		below := below || descends(n.path)
		if n.loop {
			for _, one := range values {
				if err := e.run(n.body, one, below); err != nil {
					return err
				}
			}
			continue
		}
		if below && !e.spend(values) {
			return fmt.Errorf("jsonpath: a path with .. prints more than %d bytes of one value: name the members that it leads through", maxDescent)
		}
		if err := e.give(n, values); err != nil {
			return err
		}
	}
	return nil
}

// descends reports whether path has a descent (..).
func descends(path []step) bool {
	return slices.ContainsFunc(path, func(s step) bool {
		return s.kind == recursive || slices.ContainsFunc(s.union, descends)
	})
}

// What a few descents (..) make of a small object is bounded.
const (
	maxValues  = 1 << 20  // that a path leads to
	maxDescent = 16 << 20 // bytes of what all paths with a descent lead to, as JSON
)

// spend takes what values print from e.left, and reports whether there was as much.
func (e *evaluation) spend(values []any) bool {
	for _, v := range values {
		if e.left--; !e.take(v) {
			return false
		}
	}
	return true
}

func (e *evaluation) take(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		e.left -= 2
		for name, member := range v {
			e.left -= len(name) + 4
			if !e.take(member) {
				return false
			}
		}
	case []any:
		e.left -= 2
		for _, element := range v {
			e.left--
			if !e.take(element) {
				return false
			}
		}
	case string:
		e.left -= len(v) + 2
	case json.Number:
		e.left -= len(v)
	default:
		e.left -= 4
	}
	return e.left >= 0
}

// walk takes each step from all values.
func walk(path []step, values []any) ([]any, error) {
	for i := range path {
		s := &path[i]
		var next []any
		if s.kind == literal {
			next = []any{s.value}
			if _, text := s.value.(string); !text {
				next = slices.Repeat(next, len(values))
			}
		}
		for _, path := range s.union { // each from all values, as kubectl has it
			found, err := walk(path, values)
			if err != nil {
				return nil, err
			}
			next = append(next, found...)
		}
		for _, v := range values {
			var err error
			if next, err = s.from(v, next); err != nil {
				return nil, err
			}
			if len(next) > maxValues {
				return nil, fmt.Errorf("a path that leads to more than %d values", maxValues)
			}
		}
		values = next
	}
	return values, nil
}

// from appends what s leads to from v.
func (s *step) from(v any, out []any) ([]any, error) {
	switch s.kind {
	case field:
		if o, ok := v.(map[string]any); ok {
			if v, ok := o[s.name]; ok {
				out = append(out, v)
			}
		}
	case wildcard:
		out = append(out, children(v)...)
	case recursive:
		out = below(v, out)
	case slice:
		return s.slice(v, out)
	case filter:
		return s.filter(v, out)
	}
	return out, nil
}

// children returns the members or elements of v.
func children(v any) []any {
	switch v := v.(type) {
	case map[string]any:
		list := make([]any, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			list = append(list, v[name])
		}
		return list
	case []any:
		return v
	}
	return nil
}

// below appends v and everything below it that may hold something: objects and
// lists that are not empty, and, as kubectl has it, strings.
func below(v any, out []any) []any {
	list := children(v)
	if text, ok := v.(string); len(list) > 0 || ok && text != "" {
		out = append(out, v)
	}
	for _, c := range list {
		out = below(c, out)
	}
	return out
}

var errNoList = errors.New("no list: it has no elements")

func (s *step) slice(v any, out []any) ([]any, error) {
	if v == nil {
		return out, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s is %w", typeOf(v), errNoList)
	}
	at := func(i int, otherwise int) int {
		n := s.bounds[i]
		switch {
		case n == nil:
			return otherwise
		case *n < 0:
			return *n + len(list)
		}
		return *n
	}
	from := at(0, 0)
	to := at(1, len(list))
	by := 1
	if s.bounds[2] != nil {
		by = *s.bounds[2]
	}
	if s.single {
		to = from + 1
	}
	switch {
	case by <= 0:
		return nil, fmt.Errorf("a step of %d: want more than 0", by)
	case from == to:
		return out, nil
	case from < 0 || from >= len(list):
		return nil, fmt.Errorf("there is no element %d in a list of %d", from, len(list))
	case to < 0 || to > len(list):
		return nil, fmt.Errorf("there is no element %d in a list of %d", to-1, len(list))
	case from > to:
		return nil, fmt.Errorf("elements from %d to %d: the end stands before the beginning", from, to)
	}
	for i := from; i < to; i += by {
		out = append(out, list[i])
	}
	return out, nil
}

func (s *step) filter(v any, out []any) ([]any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s is %w, and cannot be filtered", typeOf(v), errNoList)
	}
	for _, e := range list {
		ok, err := s.holds(e)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, e)
		}
	}
	return out, nil
}

func (s *step) holds(e any) (bool, error) {
	left, err := walk(s.test[0], []any{e})
	if s.op == "" {
		return err == nil && len(left) > 0, nil
	}
	if err != nil || len(left) == 0 {
		return false, err
	}
	if len(left) > 1 {
		return false, errSeveral
	}
	right, err := walk(s.test[1], []any{e})
	if err != nil || len(right) == 0 {
		return false, err
	}
	if len(right) > 1 {
		return false, errSeveral
	}
	return compare(left[0], s.op, right[0])
}

var errSeveral = errors.New("a filter compares one value with one, and here are several")

// compare holds for values of one type only; a whole number and a fraction are of
// two.
func compare(a any, op string, b any) (bool, error) {
	a, b = plain(a), plain(b)
	order, ok := 0, false
	switch a := a.(type) {
	case string:
		var other string
		if other, ok = b.(string); ok {
			order = strings.Compare(a, other)
		}
	case int64:
		var other int64
		if other, ok = b.(int64); ok {
			order = cmp.Compare(a, other)
		}
	case float64:
		var other float64
		if other, ok = b.(float64); ok {
			order = cmp.Compare(a, other)
		}
	case bool:
		var other bool
		if other, ok = b.(bool); ok && a != other {
			order = 1
		}
		ok = ok && (op == "==" || op == "!=")
	}
	if !ok {
		return false, fmt.Errorf("%s and %s cannot be compared by %s", typeOf(a), typeOf(b), op)
	}
	switch op {
	case "==":
		return order == 0, nil
	case "!=":
		return order != 0, nil
	case "<":
		return order < 0, nil
	case "<=":
		return order <= 0, nil
	case ">":
		return order > 0, nil
	}
	return order >= 0, nil
}

// plain returns the int64 or float64 of a number.
func plain(v any) any {
	if n, ok := v.(json.Number); ok {
		if v, ok := number(n.String()); ok {
			return v
		}
	}
	return v
}

// typeOf names what v is, never its value: it may be secret.
func typeOf(v any) string {
	switch plain(v).(type) {
	case nil:
		return "null"
	case bool:
		return "a bool"
	case string:
		return "a string"
	case int64:
		return "a whole number"
	case float64:
		return "a fraction"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "something else"
}
