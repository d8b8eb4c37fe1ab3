package client

import (
	"encoding/json"
	"reflect"
	"slices"
)

// list merges a list. Each element of after takes what T does not know from the element
// of before that it was.
func (m *merger) list(typ listType, all, known, before, after []any) any {
	if len(known) != len(all) || len(before) != len(all) {
		if len(before) == 0 && len(all) > 0 { // T shows nothing of it
			m.fail([]string{"[]"})
		}
		return after
	}
	from, ok := m.pair(typ, all, known, before, after)
	if !ok {
		return after
	}
	result := make([]any, len(after))
	for j, now := range after {
		result[j] = now
		if i := from[j]; i >= 0 {
			result[j] = m.at(i, func() any { return m.value(typ.element(), all[i], known[i], before[i], now) })
		}
	}
	return result
}

// pair returns, for each element of after, the index in before of the element that it
// was, or -1 if it is new. The rules, of which the first that applies counts:
//
//  1. A list whose keys are known from the API is paired by them: an element with
//     another key is another element.
//  2. A list whose elements all have a name, each another one, is paired by the names.
//  3. Equal elements are paired.
//
// By the rules 2 and 3 an element that has gone and one that is new may be the same,
// changed. Where the one that has gone has members that T does not know, that is a
// failure.
func (m *merger) pair(typ listType, all, known, before, after []any) (from []int, ok bool) {
	if from, ok := pairByKeys(typ.keys, before, after); ok {
		return from, true
	}
	hidden := make([][]string, len(all))
	for i := range all {
		hidden[i] = unknown(all[i], known[i], before[i])
	}
	for _, key := range m.names() {
		if from, ok := pairByKeys([]listKey{{name: key}}, before, after); ok && named(key, before) && named(key, after) {
			return from, m.certain(from, hidden)
		}
	}
	from, ok = m.pairEqual(all, before, after, hidden)
	return from, ok && m.certain(from, hidden)
}

// names are the members that name an element of the list at the path, where the API
// does not say which does.
func (m *merger) names() []string {
	if len(m.path) > 0 && m.path[len(m.path)-1] == "conditions" {
		return []string{"type"}
	}
	return []string{"uid", "id", "name"}
}

// named reports whether each element has a text as the member of that name.
func named(member string, list []any) bool {
	for _, e := range list {
		if e, _ := e.(map[string]any); e == nil || e[member] == nil || e[member] == "" || reflect.TypeOf(e[member]).Kind() != reflect.String {
			return false
		}
	}
	return true
}

// certain reports whether no element of before that has hidden members can have become
// a new one of after.
func (m *merger) certain(from []int, hidden [][]string) bool {
	paired := make([]bool, len(hidden))
	added := false
	for _, i := range from {
		if i < 0 {
			added = true
			continue
		}
		paired[i] = true
	}
	for i, names := range hidden {
		if added && !paired[i] && len(names) > 0 {
			m.fail(names)
			return false
		}
	}
	return true
}

// pairByKeys pairs elements of the same key. It is not ok where two elements of a list
// have the same key, or one has none.
func pairByKeys(keys []listKey, before, after []any) (from []int, ok bool) {
	if len(keys) == 0 {
		return nil, false
	}
	index := make(map[string]int, len(before))
	for i, e := range before {
		key := keyOf(keys, e)
		if _, twice := index[key]; twice || key == "" {
			return nil, false
		}
		index[key] = i
	}
	from = make([]int, len(after))
	seen := make(map[string]bool, len(after))
	for j, e := range after {
		key := keyOf(keys, e)
		if seen[key] || key == "" {
			return nil, false
		}
		seen[key] = true
		from[j] = -1
		if i, ok := index[key]; ok {
			from[j] = i
		}
	}
	return from, true
}

// keyOf returns the key of an element, as JSON; "" where it has none of its members.
func keyOf(keys []listKey, element any) string {
	members, _ := element.(map[string]any)
	values := make([]any, len(keys))
	has := false
	for i, k := range keys {
		v, ok := members[k.name]
		has = has || ok && v != nil && v != ""
		if v == nil || v == "" {
			v = k.value
		}
		values[i] = v
	}
	if !has {
		return ""
	}
	return encoded(values)
}

func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "" // a tree of JSON has a JSON text
	}
	return string(b)
}

// pairEqual pairs elements that are equal in what T shows. Where there are as many of
// them as before they keep their order. Where there are fewer or more, it cannot be told
// which of them have gone or are new; that matters where they hide something, and for
// those that have gone only where they do not all hide the same.
func (m *merger) pairEqual(all, before, after []any, hidden [][]string) (from []int, ok bool) {
	places := make(map[string][]int) // in before, of equal elements
	for i, e := range before {
		text := encoded(e)
		places[text] = append(places[text], i)
	}
	wanted := make(map[string]int) // how many there are in after
	for _, e := range after {
		wanted[encoded(e)]++
	}
	for i, e := range before {
		had := places[encoded(e)]
		switch n := wanted[encoded(e)]; {
		case len(hidden[i]) == 0, n == 0, n == len(had):
		case n > len(had), slices.ContainsFunc(had, func(other int) bool { return !reflect.DeepEqual(all[i], all[other]) }):
			m.fail(hidden[i])
			return nil, false
		}
	}
	from = make([]int, len(after))
	for j, e := range after {
		text := encoded(e)
		from[j] = -1
		if had := places[text]; len(had) > 0 {
			from[j], places[text] = had[0], had[1:]
		}
	}
	return from, true
}
