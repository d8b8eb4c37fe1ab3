package codec

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode"

	jsoniter "github.com/json-iterator/go"
)

// A jsonField is a field of a struct in the rules of encoding/json.
type jsonField struct {
	name     string
	typ      reflect.Type
	depth    int // number of structs that it is embedded in
	tagged   bool
	quoted   bool // has the option string
	standard bool // only encoding/json decodes it: an unexported struct embedded with a name, or a name in the tag that is ignored
}

// fieldsOf returns the fields of the struct t by the rules of encoding/json: among
// fields of one name, the least deeply embedded one counts, among several of these the
// one with a tag; if that is not unique, none. hidden reports whether a name occurred
// more than once.
func fieldsOf(t reflect.Type) (fields []jsonField, hidden bool) {
	all := collectFields(t, 0, map[reflect.Type]bool{})
	slices.SortStableFunc(all, func(a, b jsonField) int {
		if c := cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.depth, b.depth)); c != 0 {
			return c
		}
		return cmp.Compare(boolInt(b.tagged), boolInt(a.tagged))
	})
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].name == all[0].name {
			n++
		}
		hidden = hidden || n > 1
		if n == 1 || all[0].depth != all[1].depth || all[0].tagged != all[1].tagged {
			fields = append(fields, all[0])
		}
		all = all[n:]
	}
	return fields, hidden
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// collectFields returns the fields of t, which is embedded in depth structs, and those
// of the structs embedded in it. outer holds the structs around it.
func collectFields(t reflect.Type, depth int, outer map[reflect.Type]bool) []jsonField {
	if outer[t] {
		return nil // the outer one counts
	}
	outer[t] = true
	defer delete(outer, t)
	var all []jsonField
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		ignored := !validName(name)
		if ignored {
			name = ""
		}
		inner := f.Type
		if f.Anonymous && inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case tag == "-",
			!f.IsExported() && !(f.Anonymous && inner.Kind() == reflect.Struct):
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			all = append(all, collectFields(inner, depth+1, outer)...)
		case f.IsExported() || f.Type.Kind() == reflect.Struct:
			all = append(all, jsonField{cmp.Or(name, f.Name), f.Type, depth, name != "", strings.Contains(","+options+",", ",string,"), ignored || !f.IsExported()})
		}
	}
	return all
}

// standardOnly reports whether json-iterator may decode t differently from
// encoding/json; then encoding/json decodes it. seen holds the types in progress.
func standardOnly(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	p := reflect.PointerTo(t)
	switch {
	case t == reflect.TypeFor[json.Number](), t == reflect.TypeFor[jsoniter.Number](), t == reflect.TypeFor[json.RawMessage](), t == reflect.TypeFor[jsoniter.RawMessage]():
		return true
	case p.Implements(jsonUnmarshaler):
		return false
	case p.Implements(textUnmarshaler):
		return true
	}
	switch t.Kind() {
	case reflect.Array:
		return true // json-iterator writes an element into an array of length 0
	case reflect.Pointer, reflect.Slice:
		return standardOnly(t.Elem(), seen)
	case reflect.Map:
		return t.Key().Kind() != reflect.String || ownMethods(t.Key()) || standardOnly(t.Elem(), seen)
	case reflect.Struct:
		fields, hidden := fieldsOf(t)
		return hidden || slices.ContainsFunc(fields, func(f jsonField) bool {
			return f.quoted || f.standard || !plainName(f.name) || standardOnly(f.typ, seen)
		})
	}
	return false
}

// validName reports whether encoding/json uses name, of a tag; otherwise it uses that of
// the field.
func validName(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c)
	})
}

// plainName reports whether every decoder accepts a tag with this name.
func plainName(name string) bool {
	for _, c := range []byte(name) {
		if c >= 0x80 || !strings.ContainsRune("-_./:$@", rune(c)) && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return name != "-"
}
