package crd

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// builder makes the schema of one version from a Go type.
type builder struct {
	version    string
	columns    []Column
	selectable []SelectableField
	errs       []error

	open  []reflect.Type // types that are being read: a type must not contain itself
	loose int            // lists and maps around, whose elements have no path of a column
	fresh int            // lists around, whose elements have no old value
}

func (b *builder) fail(path, format string, args ...any) {
	b.errs = append(b.errs, &FieldError{Path: path, Message: fmt.Sprintf(format, args...)})
}

// root returns the schema of a whole object. kube-apiserver adds apiVersion, kind and
// metadata itself.
func (b *builder) root(t reflect.Type) *Schema {
	t = target(t)
	if t.Kind() != reflect.Struct {
		b.fail("(root)", "%s is not a struct", t)
		return &Schema{Type: "object"}
	}
	b.open = append(b.open, t)
	s, ok := b.declared(t, "(root)")
	if !ok {
		s = b.object(t, "")
	}
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(s.Properties, name)
	}
	s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return s.Properties[name] == nil })
	return s
}

// schema returns the schema of t, without what tags add to it.
func (b *builder) schema(t reflect.Type, path string) *Schema {
	t = target(t)
	if s, ok := Known(t.PkgPath(), t.Name()); ok {
		return s
	}
	if s, ok := b.declared(t, path); ok {
		return s
	}
	switch {
	case t.Kind() == reflect.Interface:
		return &Schema{PreserveUnknownFields: true}
	case implements(t, textMarshaler):
		return &Schema{Type: "string"}
	}
	if t.Name() != "" { // others contain themselves only by way of a named type
		if slices.Contains(b.open, t) {
			b.fail(path, "%s contains itself, which a structural schema cannot express: use json.RawMessage with the tag crd:\"preserve\"", t)
			return &Schema{Type: "object", PreserveUnknownFields: true}
		}
		b.open = append(b.open, t)
		defer func() { b.open = b.open[:len(b.open)-1] }()
	}
	switch t.Kind() {
	case reflect.Bool:
		return &Schema{Type: "boolean"}
	case reflect.String:
		return &Schema{Type: "string"}
	case reflect.Slice, reflect.Array:
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !implements(t.Elem(), jsonMarshaler) && !implements(t.Elem(), textMarshaler) {
			return &Schema{Type: "string", Format: "byte"}
		}
		return &Schema{Type: "array", Items: b.element(t, path+"[]")}
	case reflect.Map:
		if k := t.Key(); k.Kind() != reflect.String && !implements(k, textMarshaler) {
			b.fail(path, "the keys of %s are not strings", t)
		}
		return &Schema{Type: "object", AdditionalProperties: b.element(t, path+"{}")}
	case reflect.Struct:
		return b.object(t, path)
	}
	if s := number(t.Kind()); s != nil {
		return s
	}
	b.fail(path, "%s has no JSON", t)
	return &Schema{PreserveUnknownFields: true}
}

// target returns what t points to. A type that is a pointer to itself has no value: it stays
// a pointer, which has no JSON.
func target(t reflect.Type) reflect.Type {
	for n := 0; t.Kind() == reflect.Pointer && n < 100; n++ {
		t = t.Elem()
	}
	return t
}

// declared returns the schema of a type that is not read from its fields: its own, or any
// value where it should have one.
func (b *builder) declared(t reflect.Type, path string) (*Schema, bool) {
	if from := lender(t); from != nil {
		b.fail(path, "%s, which is embedded, lends its method Schema(): embed no type with a schema of its own, and make it a named field", from)
		return &Schema{Type: "object", PreserveUnknownFields: true}, true
	}
	if v, ok := reflect.New(t).Interface().(schemer); ok {
		s := v.Schema()
		return &s, true
	}
	if t.Kind() != reflect.Interface && implements(t, jsonMarshaler) {
		b.fail(path, "%s has its own MarshalJSON: give it a method Schema() crd.Schema", t)
		return &Schema{PreserveUnknownFields: true}, true
	}
	return nil, false
}

func (b *builder) element(t reflect.Type, path string) *Schema {
	b.loose++
	defer func() { b.loose-- }()
	return b.schema(t.Elem(), path)
}

// object returns the schema of a struct.
func (b *builder) object(t reflect.Type, path string) *Schema {
	s := &Schema{Type: "object"}
	var immutable []string
	for _, f := range b.fields(t, path) {
		tags, err := parseTags(f.Tag)
		at := join(path, f.json)
		if err != nil {
			b.fail(at, "%v", err)
			continue
		}
		if f.Name == "_" {
			b.own(s, tags, path)
			continue
		}
		if path == "" && (f.json == "apiVersion" || f.json == "kind" || f.json == "metadata") {
			continue
		}
		p := b.member(f, tags, at)
		if s.Properties == nil {
			s.Properties = map[string]*Schema{}
		}
		s.Properties[f.json] = p
		if tags.has("required") || !f.omits && !tags.has("optional") && p.Default == nil && at != "status" {
			s.Required = append(s.Required, f.json)
		}
		if tags.has("immutable") {
			immutable = append(immutable, f.json)
		}
	}
	slices.Sort(s.Required)
	if len(immutable) > 0 && b.fresh > 0 {
		b.fail(join(path, immutable[0]), "immutable has no effect in a list whose elements have no identity: give the list the tag crd:\"listType=map,listMapKey=...\"")
	}
	for _, name := range immutable {
		s.Validations = append(s.Validations, immutableRule(name, slices.Contains(s.Required, name)))
	}
	return s
}

// own applies the tags of a field _, which are about the struct itself.
func (b *builder) own(s *Schema, tags *tags, path string) {
	b.rules(s, tags, join(path, "_"))
	if tags.desc != "" {
		s.Description = tags.desc
	}
	if err := tags.apply(s); err != nil {
		b.fail(path, "%v", err)
	}
	for _, c := range tags.columns {
		if c.JSONPath == "" {
			b.fail(path, "the column %q needs a path: a field _ has none", c.Name)
			continue
		}
		b.columns = append(b.columns, c)
	}
}

// member returns the schema of a field with its tags.
func (b *builder) member(f field, tags *tags, at string) *Schema {
	t := target(f.Type)
	// The elements of a list have an old value if the list is a map.
	if k := t.Kind(); (k == reflect.Slice || k == reflect.Array) && tags.value("listType") != "map" || tags.value("mapType") == "atomic" {
		b.fresh++
		defer func() { b.fresh-- }()
	}
	s := b.schema(f.Type, at)
	if f.quoted {
		s = &Schema{Type: "string"}
	}
	if err := tags.apply(s); err != nil {
		b.fail(at, "%v", err)
	}
	if tags.desc != "" {
		s.Description = tags.desc
	}
	b.rules(s, tags, at)
	if (tags.has("selectable") || len(tags.columns) > 0) && b.loose > 0 {
		b.fail(at, "a column or selectable field cannot be inside a list or map")
	}
	if tags.has("selectable") {
		b.selectable = append(b.selectable, SelectableField{JSONPath: "." + at})
	}
	for _, c := range tags.columns {
		if c.JSONPath == "" {
			c.JSONPath = "." + at
		}
		if c.Type == "" {
			c.Type = columnType(s)
		}
		b.columns = append(b.columns, c)
	}
	return s
}

func (b *builder) rules(s *Schema, tags *tags, at string) {
	for _, r := range tags.rules {
		if b.fresh > 0 && transition.MatchString(r.Rule) && !r.OptionalOldSelf {
			b.fail(at, "a rule with oldSelf has no effect in a list whose elements have no identity: give the list the tag crd:\"listType=map,listMapKey=...\"")
		}
		s.Validations = append(s.Validations, r)
	}
}

// columnType returns the type of the column of a member.
func columnType(s *Schema) string {
	switch {
	case s.Format == "date-time":
		return "date"
	case s.Type == "integer", s.Type == "number", s.Type == "boolean":
		return s.Type
	}
	return "string"
}

// field is a field of a struct as encoding/json sees it.
type field struct {
	reflect.StructField
	json   string // the name in JSON
	omits  bool   // it may be left out: by its tag, or with an embedded pointer that is nil
	quoted bool   // the value is in a string
}

// fields returns the fields of t, those of embedded structs in their place. An outer
// field hides an embedded one of the same name, and at one depth a name from a tag the others.
func (b *builder) fields(t reflect.Type, path string) []field {
	var all []field
	ranks := map[string]int{}          // of the fields in all: lower ones hide higher ones
	twice := map[string]reflect.Type{} // names that two fields of one rank have
	var walk func(t reflect.Type, level int, seen []reflect.Type, nilable bool)
	walk = func(t reflect.Type, level int, seen []reflect.Type, nilable bool) {
		for i := range t.NumField() {
			f := field{StructField: t.Field(i), omits: nilable}
			tag := f.Tag.Get("json")
			name, options, _ := strings.Cut(tag, ",")
			if strings.ContainsFunc(name, notInName) {
				name = ""
			}
			rank, inner := 2*level, f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			switch {
			case f.Name == "_":
				all = append(all, f)
				continue
			case tag == "-":
				continue
			case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
				if !slices.Contains(seen, inner) {
					walk(inner, level+1, append(seen, inner), nilable || inner != f.Type)
				}
				continue
			case !f.IsExported() && !(f.Anonymous && inner.Kind() == reflect.Struct):
				continue
			case name == "":
				name, rank = f.Name, rank+1
			}
			f.json = name
			for option := range strings.SplitSeq(options, ",") {
				f.omits = f.omits || option == "omitempty" || option == "omitzero"
				f.quoted = f.quoted || option == "string" && quotable(f.Type)
			}
			switch was, ok := ranks[name]; {
			case !ok:
			case was == rank:
				twice[name] = t
				continue
			case was < rank:
				continue
			default:
				all = slices.DeleteFunc(all, func(o field) bool { return o.json == name })
				delete(twice, name)
			}
			ranks[name] = rank
			all = append(all, f)
		}
	}
	walk(t, 0, nil, false)
	for _, name := range slices.Sorted(maps.Keys(twice)) {
		b.fail(join(path, name), "two fields of %s have this name", twice[name])
	}
	return all
}

// notInName reports whether encoding/json takes no name with c from a tag.
func notInName(c rune) bool {
	return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
}
