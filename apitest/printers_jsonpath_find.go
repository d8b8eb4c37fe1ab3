package apitest

import (
	"cmp"
	"encoding/json"
	"strings"
)

// find returns the values that p leads to from v, which is decoded JSON with
// json.Number. A member that is missing leads to none, an element that is
// missing is an error.
func (p jsonPath) find(v any) ([]any, error) {
	values := []any{v}
	for _, step := range p {
		var next []any
		for _, v := range values {
			found, err := step.from(v)
			if err != nil {
				return nil, err
			}
			next = append(next, found...)
		}
		values = next
	}
	return values, nil
}

func (s *pathStep) from(v any) ([]any, error) {
	if v == nil {
		return nil, nil
	}
	object, _ := v.(map[string]any)
	list, isList := v.([]any)
	switch {
	case s.name != nil:
		if v, ok := object[*s.name]; ok {
			return []any{v}, nil
		}
		return nil, nil
	case s.all && object != nil:
		for _, name := range sortedKeys(object) {
			list = append(list, object[name])
		}
		return list, nil
	case s.all:
		return list, nil
	case !isList:
		return nil, errNoPath
	case s.index != nil:
		i := *s.index
		if i < 0 {
			i += len(list)
		}
		if i < 0 || i >= len(list) {
			return nil, errNoPath
		}
		return list[i : i+1], nil
	}
	var out []any
	for _, v := range list {
		ok, err := s.filter.takes(v)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, v)
		}
	}
	return out, nil
}

func (f *pathFilter) takes(v any) (bool, error) {
	left, err := f.left.values(v)
	if f.operator == "" {
		return err == nil && len(left) > 0, nil
	}
	if err != nil || len(left) == 0 {
		return false, err
	}
	right, err := f.right.values(v)
	if err != nil || len(right) == 0 {
		return false, err
	}
	if len(left) > 1 || len(right) > 1 {
		return false, errNoPath
	}
	order, err := compare(left[0], right[0])
	if err != nil {
		return false, err
	}
	switch f.operator {
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

func (o *pathOperand) values(v any) ([]any, error) {
	if o.literal != nil {
		return []any{o.literal}, nil
	}
	return o.path.find(v)
}

// compare orders two values of one type; others cannot be compared.
func compare(a, b any) (int, error) {
	if n, ok := a.(json.Number); ok {
		a, _ = pathNumber(n.String())
	}
	if n, ok := b.(json.Number); ok {
		b, _ = pathNumber(n.String())
	}
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return strings.Compare(a, b), nil
		}
	case int64:
		if b, ok := b.(int64); ok {
			return cmp.Compare(a, b), nil
		}
	case float64:
		if b, ok := b.(float64); ok {
			return cmp.Compare(a, b), nil
		}
	case bool:
		if b, ok := b.(bool); ok && a == b {
			return 0, nil
		} else if ok {
			return 1, nil
		}
	}
	return 0, errNoPath
}
