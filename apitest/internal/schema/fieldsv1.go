package schema

import (
	"cmp"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// parseManaged reads the JSON of metadata.managedFields, as decodeManaged does.
// Fields that this package has written it reads when they are asked for.
func parseManaged(raw []byte, ours bool) (*managed, error) {
	m := newManaged()
	r := reader{b: raw}
	if len(raw) == 0 || r.managed(m, ours) {
		return m, nil
	}
	v, err := Decode(raw)
	if err != nil {
		return nil, err
	}
	return decodeManaged(v)
}

// managed reads entries as they usually are, and reports false for others.
func (r *reader) managed(m *managed, ours bool) bool {
	entries := 0
	for range r.elements {
		entries++
		var who manager
		var typ, at string
		var fields writtenSet
		for name := range r.members {
			if name == "fieldsV1" {
				if start := r.i; ours {
					r.pass()
					fields.json = r.b[start:r.i]
					continue
				}
				fields.set = &fieldpath.Set{}
				if _, _, ok := r.set(fields.set); !ok {
					return false
				}
				continue
			}
			if r.b[r.i] != '"' {
				return false
			}
			switch text := r.string(); name {
			case "manager":
				who.Manager = text
			case "operation":
				who.Operation = text
			case "apiVersion":
				who.APIVersion = text
			case "subresource":
				who.Subresource = text
			case "fieldsType":
				typ = text
			case "time":
				at = text
			}
		}
		if fields.json == nil && fields.set == nil || who.Operation != opApply && who.Operation != opUpdate || who.APIVersion == "" || typ != "FieldsV1" {
			return false
		}
		id := who.id()
		m.who[id] = who
		fields.version, fields.applied = fieldpath.APIVersion(who.APIVersion), who.Operation == opApply
		m.fields[id] = &fields
		if at != "" {
			m.times[id] = at
		}
	}
	return r.i == len(r.b) && entries <= managedLimit && r.err == nil
}

// pass passes over a value without reading it.
func (r *reader) pass() {
	s := scanner{b: r.b, i: r.i}
	s.value(0) // it is JSON
	r.i = s.i
}

// writtenSet is a set of which the JSON is at hand, if it has come from there.
type writtenSet struct {
	json    []byte // nil: not as this package writes it
	set     *fieldpath.Set
	version fieldpath.APIVersion
	applied bool
}

func (s *writtenSet) APIVersion() fieldpath.APIVersion { return s.version }
func (s *writtenSet) Applied() bool                    { return s.applied }

// Set implements [fieldpath.VersionedSet].
func (s *writtenSet) Set() *fieldpath.Set {
	if s.set == nil {
		s.set = &fieldpath.Set{}
		(&reader{b: s.json}).set(s.set) // we wrote it
	}
	return s.set
}

// few is for how many fields it pays to look one by one, without reading the set.
const few = 8

// hasAll reports whether all of these fields are known to be in s.
func (s *writtenSet) hasAll(fields *fieldpath.Set) bool {
	if s.json == nil || fields.Size() > few {
		return false
	}
	all := true
	fields.Iterate(func(p fieldpath.Path) { all = all && s.has(p) })
	return all
}

// hasNone reports whether none of these fields is known to be in s.
func (s *writtenSet) hasNone(fields *fieldpath.Set) bool {
	if s.json == nil || fields.Size() > few {
		return false
	}
	none := true
	fields.Iterate(func(p fieldpath.Path) { none = none && !s.has(p) })
	return none
}

func (s *writtenSet) has(path fieldpath.Path) bool {
	r := reader{b: s.json}
	for _, pe := range path {
		var e encoder
		place := e.place(pe)
		found := false
		for name := range r.members {
			if found = strings.HasPrefix(name, place.kind) && name[len(place.kind):] == place.text; found {
				break
			}
			r.pass()
		}
		if !found {
			return false
		}
	}
	for name := range r.members {
		return name == "." // it comes first
	}
	return true
}

// set reads fieldsV1, as readSet does. It reports whether there is a ".", how many
// members there are, and false where readSet must have a look.
func (r *reader) set(set *fieldpath.Set) (dot bool, n int, ok bool) {
	if r.b[r.i] != '{' {
		return false, 0, false
	}
	for name := range r.members {
		n++
		if name == "." {
			dot = true
			r.skip()
			continue
		}
		pe, err := pathElement(name)
		if err != nil {
			return false, 0, false
		}
		var below fieldpath.Set
		itself, members, ok := r.set(&below)
		if !ok {
			return false, 0, false
		}
		if itself || members == 0 {
			set.Members.Insert(pe)
		}
		if !itself && members > 0 || members > 1 {
			*set.Children.Descend(pe) = below
		}
	}
	return dot, n, true
}

// pathElement is fieldpath.DeserializePathElement, quicker for what is common.
func pathElement(name string) (fieldpath.PathElement, error) {
	if field, ok := strings.CutPrefix(name, "f:"); ok {
		return fieldpath.PathElement{FieldName: &field}, nil
	}
	if keys, ok := strings.CutPrefix(name, "k:{"); ok && Valid([]byte(name[2:])) && !strings.ContainsAny(keys, `{[.\`) {
		r := reader{b: []byte(name[2:])}
		var list value.FieldList
		for key := range r.members {
			v := r.value(nil, goField{})
			switch v := v.(type) {
			case nil, float64:
				return fieldpath.DeserializePathElement(name)
			case int64:
				if v != int64(float64(v)) {
					return fieldpath.DeserializePathElement(name)
				}
			}
			list = append(list, value.Field{Name: key, Value: value.NewValueInterface(v)})
		}
		list.Sort()
		return fieldpath.PathElement{Key: &list}, nil
	}
	return fieldpath.DeserializePathElement(name)
}

// elements goes through the list at r.i: each time around, r.i is at an element,
// which the loop reads.
func (r *reader) elements(yield func(int) bool) {
	if r.space(); r.i >= len(r.b) || r.b[r.i] != '[' {
		return
	}
	r.i++
	for n := 0; ; n++ {
		r.space()
		if r.b[r.i] == ',' {
			r.i++
			r.space()
		}
		if r.b[r.i] == ']' {
			r.i++
			return
		}
		if !yield(n) {
			return
		}
	}
}

// members goes through the object at r.i likewise: r.i is at the value.
func (r *reader) members(yield func(string) bool) {
	if r.space(); r.i >= len(r.b) || r.b[r.i] != '{' {
		return
	}
	r.i++
	for {
		r.space()
		if r.b[r.i] == ',' {
			r.i++
			r.space()
		}
		if r.b[r.i] == '}' {
			r.i++
			return
		}
		name := r.string()
		r.space()
		r.i++ // the colon
		if r.space(); !yield(name) {
			return
		}
	}
}

// placed is a path element as it is written.
type placed struct {
	kind, text string // "f:" and the name of a field
	child      *fieldpath.Set
	member     bool
}

// set writes fieldsV1, members sorted; itself means that the set's own
// path is a member too.
func (e *encoder) set(set *fieldpath.Set, itself bool) {
	var few [16]placed
	list := few[:0]
	set.Children.Iterate(func(pe fieldpath.PathElement) {
		p := e.place(pe)
		p.child, _ = set.Children.Get(pe)
		p.member = set.Members.Has(pe)
		list = append(list, p)
	})
	set.Members.Iterate(func(pe fieldpath.PathElement) {
		if _, ok := set.Children.Get(pe); !ok {
			list = append(list, e.place(pe))
		}
	})
	slices.SortFunc(list, func(a, b placed) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.text, b.text)) })
	e.b = append(e.b, '{')
	if itself {
		e.b = append(e.b, `".":{}`...)
	}
	for i, p := range list {
		if i > 0 || itself {
			e.b = append(e.b, ',')
		}
		e.string(p.kind, p.text)
		e.b = append(e.b, ':')
		if p.child == nil {
			e.b = append(e.b, "{}"...)
		} else {
			e.set(p.child, p.member)
		}
	}
	e.b = append(e.b, '}')
}

func (e *encoder) place(pe fieldpath.PathElement) placed {
	if pe.FieldName != nil {
		return placed{kind: "f:", text: *pe.FieldName}
	}
	if pe.Key != nil {
		if text, ok := keyText(*pe.Key); ok {
			return placed{kind: "k:", text: text}
		}
	}
	text, err := fieldpath.SerializePathElement(pe)
	if err != nil {
		e.err = cmp.Or(e.err, err)
		return placed{}
	}
	return placed{kind: text[:2], text: text[2:]}
}

// keyText is fieldpath.SerializePathElement for keys that are plain.
func keyText(keys value.FieldList) (string, bool) {
	var room [64]byte
	e := encoder{b: append(room[:0], '{')}
	for i, key := range keys {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		v := key.Value.Unstructured()
		switch v := v.(type) {
		case string:
			if !plain(v) {
				return "", false
			}
		case int64, bool:
		default:
			return "", false
		}
		e.string("", key.Name)
		e.b = append(e.b, ':')
		e.value(v)
	}
	return string(append(e.b, '}')), true
}
