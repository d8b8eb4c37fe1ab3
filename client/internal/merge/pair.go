package merge

import (
	"encoding/json"
	"reflect"
	"slices"
)

// list merges a list. Each element of after gets the members that T does not have from
// its element of before.
func (m *merger) list(typ listType, all, known, before, after []any) any {
	if len(known) != len(all) || len(before) != len(all) {
		if len(before) == 0 && len(all) > 0 { // T does not show the elements
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

// pair returns, for each element of after, the index of the same element in before, or
// -1 if it is new. The first of these rules that applies counts:
//
// 1. If the API defines keys for a list, elements are paired by them: another key means
// another element. 2. If all elements of a list have a name, and all names differ, they
// are paired by the names. 3. Equal elements are paired.
//
// With rules 2 and 3 a removed element and a new one may be the same one, changed. If
// the removed one has members that T does not have, pair fails.
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

// names returns the members that may name an element of the list at the path if the API
// defines no keys.
func (m *merger) names() []string {
	if len(m.path) > 0 && m.path[len(m.path)-1] == "conditions" {
		return []string{"type"}
	}
	return []string{"uid", "id", "name"}
}

// named reports whether that member of each element is a non-empty string, or a number
// other than 0, which a field has that is not set.
func named(member string, list []any) bool {
	for _, e := range list {
		if e, _ := e.(map[string]any); e == nil || IsZero(e[member]) || reflect.TypeOf(e[member]).Kind() != reflect.String {
			return false
		}
	}
	return true
}

// certain reports whether no element of before with hidden members can have become a
// new one of after.
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

// pairByKeys pairs elements with the same key. It fails if two elements of a list have
// the same key, or one has none.
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

// keyOf returns the key of an element, as JSON; "" if it has none of its members.
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
		return "" // a decoded tree can always be encoded
	}
	return string(b)
}

// pairEqual pairs elements that look equal in T. If their number is unchanged they keep
// their order. Otherwise it is not certain which of them were removed or are new; that
// matters only if they have hidden members, and for removed ones only if those differ.
func (m *merger) pairEqual(all, before, after []any, hidden [][]string) (from []int, ok bool) {
	places := make(map[string][]int) // indexes in before of equal elements
	for i, e := range before {
		text := encoded(e)
		places[text] = append(places[text], i)
	}
	wanted := make(map[string]int) // number of them in after
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
