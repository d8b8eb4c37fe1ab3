package merge

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// This file is a model of Edit: random objects of real kinds, random structs that know
// a part of them, and random edits. A struct is a model, and a value of it a map with
// all of its fields, so that no Go type has to be made for each.

// model is a Go type.
type model struct {
	kind    byte // s, i, b: scalars; S struct, L list, M map
	pointer bool
	omit    string // the option of its tag
	fields  map[string]*model
	elem    *model
}

// decode returns the value of type m that raw is decoded to, and notes what each struct
// in it was made of.
func (m *model) decode(raw any, of map[uintptr]map[string]any) any {
	if raw == nil && (m.pointer || m.kind == 'L' || m.kind == 'M') {
		return nil
	}
	switch m.kind {
	case 's', 'i', 'b':
		if raw != nil {
			return raw
		}
		return map[byte]any{'s': "", 'i': json.Number("0"), 'b': false}[m.kind]
	case 'L':
		list := []any{}
		for _, e := range raw.([]any) {
			list = append(list, m.elem.decode(e, of))
		}
		return list
	}
	in, _ := raw.(map[string]any)
	v := map[string]any{}
	if m.kind == 'M' {
		for name, e := range in {
			v[name] = m.elem.decode(e, of)
		}
		return v
	}
	for name, f := range m.fields {
		v[name] = f.decode(in[name], of)
	}
	of[reflect.ValueOf(v).Pointer()] = in
	return v
}

// encode returns the JSON of v.
func (m *model) encode(v any) any {
	switch v := v.(type) {
	case []any:
		list := []any{}
		for _, e := range v {
			list = append(list, m.elem.encode(e))
		}
		return list
	case map[string]any:
		out := map[string]any{}
		for name, e := range v {
			f := m.elem
			if m.kind == 'S' {
				if f = m.fields[name]; f.omitted(e) {
					continue
				}
			}
			out[name] = f.encode(e)
		}
		return out
	}
	return v
}

func (m *model) omitted(v any) bool {
	list, isList := v.([]any)
	in, isMap := v.(map[string]any)
	switch {
	case m.omit == "":
		return false
	case v == nil, m.omit == "omitempty" && (isList && len(list) == 0 || m.kind == 'M' && len(in) == 0):
		return true
	case isMap && m.kind == 'S' && !m.pointer:
		return m.omit == "omitzero" && m.zero(v)
	}
	return !isList && !isMap && !m.pointer && IsZero(v)
}

func (m *model) zero(v any) bool {
	switch v := v.(type) {
	case []any:
		return false // nil is zero, and empty is not
	case map[string]any:
		if m.kind == 'M' || m.pointer {
			return false
		}
		for name, e := range v {
			if !m.fields[name].zero(e) {
				return false
			}
		}
		return true
	}
	return v == nil || !m.pointer && IsZero(v)
}

// known is what codec.Known returns.
func (m *model) known(raw any) any {
	switch raw := raw.(type) {
	case []any:
		list := []any{}
		for _, e := range raw {
			list = append(list, m.elem.known(e))
		}
		return list
	case map[string]any:
		out := map[string]any{}
		for name, e := range raw {
			if f := m.fields[name]; f != nil {
				out[name] = f.known(e)
			} else if m.kind == 'M' {
				out[name] = m.elem.known(e)
			}
		}
		return out
	}
	return raw
}

// world makes objects, types and edits by its dice.
type world struct {
	dice       *rand.Rand
	components map[string]*openAPI
	fresh      int
	renamed    map[uintptr]bool // elements that got another key
}

func (w *world) one(n int) bool { return w.dice.IntN(n) == 0 }

func (w *world) name() string {
	w.fresh++
	return fmt.Sprintf("n%d", w.fresh)
}

// isKey reports whether the member of an element of that list names it.
func isKey(list string, typ listType, member string) bool {
	return slices.ContainsFunc(typ.keys, func(k listKey) bool { return k.name == member }) ||
		member == "name" || member == "uid" || member == "id" || list == "conditions" && member == "type"
}

// object returns a random object of the schema, and a random type that knows a part of
// it. list and typ are of the list that it is an element of.
func (w *world) object(s *openAPI, depth int, list string, typ listType) (any, *model) {
	if s.ref() != "" {
		s = w.components[s.ref()]
	}
	m := &model{pointer: w.one(3), omit: []string{"", "omitempty", "omitzero"}[w.dice.IntN(3)]}
	switch {
	case s.Type == "array":
		m.kind, m.pointer = 'L', false
		all := []any{}
		var first *model
		for range w.dice.IntN(4) {
			e, of := w.object(s.Items, depth-1, list, typ)
			if first == nil {
				first = of
			} else {
				e = w.like(s.Items, first, depth-1, list, typ)
			}
			all = append(all, e)
		}
		if first == nil {
			_, first = w.object(s.Items, depth-1, list, typ)
		}
		m.elem = first
		m.elem.pointer = false
		return all, m
	case s.Type == "object" && s.Extra != nil && len(s.Properties) == 0:
		m.kind, m.pointer = 'M', false
		m.elem = &model{kind: 's'}
		return map[string]any{"k" + w.name(): "v"}, m
	case len(s.Properties) > 0:
		m.kind, m.fields = 'S', map[string]*model{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if w.one(2) || isKey(list, typ, name) && !w.one(8) {
				_, m.fields[name] = w.object(s.Properties[name], depth-1, name, typ.member(name))
			}
		}
		return w.like(s, m, depth, list, typ), m
	case s.Type == "integer", s.Type == "number":
		m.kind = 'i'
		return json.Number(fmt.Sprint(w.dice.IntN(3))), m
	case s.Type == "boolean":
		m.kind = 'b'
		return w.one(2), m
	}
	m.kind = 's'
	return []any{"x", "y", ""}[w.dice.IntN(3)], m
}

// like returns a random object of the schema, of which the type m knows what it does.
func (w *world) like(s *openAPI, m *model, depth int, list string, typ listType) any {
	if s.ref() != "" {
		s = w.components[s.ref()]
	}
	if m != nil && m.kind == 'L' || m == nil && s.Type == "array" {
		all := []any{}
		if depth > 0 {
			for range w.dice.IntN(4) {
				var elem *model
				if m != nil {
					elem = m.elem
				}
				all = append(all, w.like(s.Items, elem, depth-1, list, typ))
			}
		}
		return all
	}
	if len(s.Properties) == 0 {
		v, _ := w.object(s, depth, list, typ)
		return v
	}
	o := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		var f *model
		if m != nil {
			f = m.fields[name]
		}
		switch key := isKey(list, typ, name) && s.Properties[name].ref() == ""; {
		case key && s.Properties[name].Type == "string" && !w.one(30):
			o[name] = w.name()
		case key && s.Properties[name].Type == "integer":
			w.fresh++
			o[name] = json.Number(fmt.Sprint(w.fresh))
		case depth > 0 && !w.one(3):
			o[name] = w.like(s.Properties[name], f, depth-1, name, typ.member(name))
		}
	}
	return o
}

// edit changes a value of type m as a program does: in place, or by other lists.
func (w *world) edit(m *model, v any, list string, typ listType) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			f := m.elem
			if m.kind == 'S' {
				f = m.fields[name]
			}
			switch in := v[name].(type) {
			case nil:
			case map[string]any, []any:
				if w.one(12) && (f.pointer || f.kind != 'S') {
					v[name] = nil
				} else if w.one(10) && f.kind == 'S' && !f.pointer {
					v[name] = w.clear(f, in)
				} else if w.one(2) {
					v[name] = w.edit(f, in, name, typ.member(name))
				}
			default:
				key := isKey(list, typ, name)
				if key && w.one(8) {
					v[name] = w.scalar(f, true)
					w.renamed[reflect.ValueOf(v).Pointer()] = true
				} else if !key && w.one(6) {
					v[name] = w.scalar(f, false)
				}
			}
		}
		return v
	case []any:
		now := slices.Clone(v)
		if w.one(3) && len(now) > 0 {
			i := w.dice.IntN(len(now))
			now = slices.Delete(now, i, i+1)
		}
		if w.one(4) {
			w.dice.Shuffle(len(now), func(i, j int) { now[i], now[j] = now[j], now[i] })
		}
		for i := range now {
			if w.one(4) {
				now[i] = w.edit(m.elem, now[i], list, typ)
			}
		}
		if w.one(3) {
			now = slices.Insert(now, w.dice.IntN(len(now)+1), w.added(m.elem, v, list, typ))
		}
		return now
	}
	return w.scalar(m, false)
}

// added is a new element: empty but for its keys, or one like another in what T knows.
func (w *world) added(m *model, list []any, name string, typ listType) any {
	if m.kind != 'S' {
		return m.decode(nil, map[uintptr]map[string]any{})
	}
	e := m.decode(map[string]any{}, map[uintptr]map[string]any{}).(map[string]any)
	if len(list) > 0 && w.one(2) {
		other := list[w.dice.IntN(len(list))]
		for member, v := range m.decode(m.encode(other), map[uintptr]map[string]any{}).(map[string]any) {
			e[member] = v
		}
		if w.one(3) {
			return e
		}
	}
	for member, f := range m.fields {
		if isKey(name, typ, member) && f.kind != 'S' && f.kind != 'L' && f.kind != 'M' {
			e[member] = w.scalar(f, true)
		}
	}
	return e
}

// clear sets the fields of a struct to zero, in place.
func (w *world) clear(m *model, v any) any {
	in := v.(map[string]any)
	for name, f := range m.fields {
		if f.kind == 'S' && !f.pointer {
			w.clear(f, in[name])
		} else {
			in[name] = f.decode(nil, map[uintptr]map[string]any{})
		}
	}
	return v
}

func (w *world) scalar(m *model, fresh bool) any {
	switch {
	case m.kind == 'i' && fresh:
		w.fresh++
		return json.Number(fmt.Sprint(w.fresh))
	case m.kind == 'i':
		return json.Number(fmt.Sprint(w.dice.IntN(3)))
	case m.kind == 'b':
		return w.one(2)
	case m.kind == 's' && fresh:
		return w.name()
	case m.kind == 's':
		return []any{"x", "y", ""}[w.dice.IntN(3)]
	}
	return m.decode(nil, map[uintptr]map[string]any{})
}

// faithful returns what is wrong with result, which was written for the value now of
// type m; raw is what now was read from, nil if it is new.
func (w *world) faithful(path string, m *model, now, result, raw any, of map[uintptr]map[string]any) string {
	switch now := now.(type) {
	case []any:
		list, ok := result.([]any)
		if !ok || len(list) != len(now) {
			return path + ": another length"
		}
		was, _ := raw.([]any)
		for i, e := range now {
			if m.elem.kind != 'S' {
				break
			}
			bad := w.faithful(fmt.Sprintf("%s[%d]", path, i), m.elem, e, list[i], any(of[reflect.ValueOf(e).Pointer()]), of)
			if bad != "" && w.renamed[reflect.ValueOf(e).Pointer()] && reflect.DeepEqual(list[i], m.elem.encode(e)) {
				continue // by the API, an element with another key is another element
			}
			for _, r := range was { // nobody can distinguish elements that are equal in what T shows
				if bad != "" && reflect.DeepEqual(m.elem.encode(e), m.elem.encode(m.elem.decode(r, map[uintptr]map[string]any{}))) && reflect.DeepEqual(r, list[i]) {
					bad = ""
				}
			}
			if bad != "" {
				return bad
			}
		}
	case map[string]any:
		if m.kind != 'S' {
			return ""
		}
		got, ok := result.(map[string]any)
		if !ok {
			return path + ": no object"
		}
		raw, _ := raw.(map[string]any)
		for name, v := range raw {
			if m.fields[name] == nil && !reflect.DeepEqual(v, got[name]) {
				return fmt.Sprintf("%s.%s, which the type does not know, is lost: %v, want %v", path, name, got[name], v)
			}
		}
		for name, v := range got {
			if _, there := raw[name]; m.fields[name] == nil && !there {
				return fmt.Sprintf("%s.%s is of another element: %v", path, name, v)
			}
		}
		for name, v := range now {
			if got[name] == nil {
				if inner, _ := raw[name].(map[string]any); m.fields[name].kind != 'S' || m.fields[name].pointer || !w.hides(m.fields[name], inner) {
					continue
				}
			}
			if v == nil {
				continue
			}
			if bad := w.faithful(path+"."+name, m.fields[name], v, got[name], raw[name], of); bad != "" {
				return bad
			}
		}
	}
	return ""
}

// hides reports whether raw has members that m does not know.
func (w *world) hides(m *model, raw any) bool {
	return len(unknown(raw, m.known(raw), m.encode(m.decode(raw, map[uintptr]map[string]any{})))) > 0
}

// plain returns v without the members that are zero: whether they are left out, null or
// empty makes no difference.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, e := range v {
			if !IsZero(e) {
				out[name] = plain(e)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, plain(e))
		}
		return out
	}
	return v
}

// TestEditModel: members that a type does not know are kept on their element, or the
// write fails; and what the type knows is as the edit made it.
func TestEditModel(t *testing.T) {
	b, err := os.ReadFile("../../../apitest/internal/schema/openapi/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	var components map[string]*openAPI
	if err := json.Unmarshal(b, &components); err != nil {
		t.Fatal(err)
	}
	kinds := []struct{ name, apiVersion, kind string }{
		{"io.k8s.api.core.v1.Pod", "v1", "Pod"}, {"io.k8s.api.apps.v1.Deployment", "apps/v1", "Deployment"},
		{"io.k8s.api.core.v1.Service", "v1", "Service"}, {"io.k8s.api.networking.v1.Ingress", "networking.k8s.io/v1", "Ingress"},
		{"io.k8s.api.networking.v1.NetworkPolicy", "networking.k8s.io/v1", "NetworkPolicy"}, {"io.k8s.api.rbac.v1.ClusterRole", "rbac.authorization.k8s.io/v1", "ClusterRole"},
		{"io.k8s.api.discovery.v1.EndpointSlice", "discovery.k8s.io/v1", "EndpointSlice"}, {"io.k8s.api.core.v1.Node", "v1", "Node"},
		{"io.k8s.api.core.v1.Service", "example.com/v1", "Custom"}, {"io.k8s.api.networking.v1.Ingress", "example.com/v1", "Custom"}, {"io.k8s.api.core.v1.Pod", "example.com/v1", "Custom"},
	}
	written, refused := 0, 0
	for seed := range uint64(6000) {
		w := &world{dice: rand.New(rand.NewPCG(seed, 1)), components: components, renamed: map[uintptr]bool{}}
		kind := kinds[seed%uint64(len(kinds))]
		root := map[string]any{"apiVersion": kind.apiVersion, "kind": kind.kind}
		typ := rootType(root)
		_, m := w.object(components[kind.name], 3+w.dice.IntN(5), "", typ)
		m.pointer = false
		all := w.like(components[kind.name], m, 4+w.dice.IntN(5), "", typ).(map[string]any)
		delete(m.fields, "kind")
		delete(m.fields, "apiVersion")
		maps.Copy(all, root)
		of := map[uintptr]map[string]any{}
		value := m.decode(all, of)
		before := m.encode(value).(map[string]any)
		now := w.edit(m, value, "", typ)
		after := m.encode(now).(map[string]any)
		kept := encoded(all)

		merge := merger{tree: all, view: func(tree map[string]any) map[string]any {
			return m.encode(m.decode(tree, map[uintptr]map[string]any{})).(map[string]any)
		}}
		result := merge.members(typ, all, m.known(all).(map[string]any), before, after)
		if encoded(all) != kept {
			t.Fatalf("seed %d: what was read has changed", seed)
		}
		if merge.err != nil {
			if refused++; !strings.Contains(merge.err.Error(), "or use Patch") || len(merge.err.Unknown) == 0 {
				t.Fatalf("seed %d: %v", seed, merge.err)
			}
			continue
		}
		written++
		if bad := w.faithful("", m, now, result, all, of); bad != "" {
			t.Fatalf("seed %d, %s: %s\n(-before +after):\n%s\n(-all +result)\n%s", seed, kind.kind, bad, cmp.Diff(before, after), cmp.Diff(all, result))
		}
		if diff := cmp.Diff(plain(after), plain(m.encode(m.decode(result, map[uintptr]map[string]any{})))); diff != "" {
			t.Fatalf("seed %d: the change is not seen (-want +got):\n%s", seed, diff)
		}
	}
	t.Logf("%d written, %d refused", written, refused)
	if written < 3000 || refused < 100 {
		t.Errorf("%d written, %d refused: the test does not try both", written, refused)
	}
}
