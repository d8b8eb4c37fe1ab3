package codec

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"time"

	jsoniter "github.com/json-iterator/go"
)

// A plan decodes the JSON of a type into a value of it. Types without a plan are
// decoded by json-iterator: those with methods of their own, interfaces, floats, bytes,
// arrays, maps other than of strings, recursive types, and structs that contain such a
// type.
type plan func(*fastDecoder, reflect.Value)

// plans are the plans of the fields of a struct, by JSON name. Fields without a plan
// are missing.
type plans map[string]fieldPlan

type fieldPlan struct {
	index int // of the field
	fill  plan
}

// A target is the cached information of Decode about a Go type.
type target struct {
	shape    *shape
	weight   *weight
	standard bool  // encoding/json decodes what a fastDecoder does not
	fields   plans // of the struct, or of the one a pointer points to: the fields with a plan
}

// targets caches the target of each type.
var targets sync.Map // reflect.Type to *target

func targetOf(t reflect.Type) *target {
	if got, ok := targets.Load(t); ok {
		return got.(*target)
	}
	got := &target{shape: shapeOf(t), weight: weightOf(t, map[reflect.Type]*weight{}), standard: standardOnly(t, map[reflect.Type]bool{})}
	for t := t; !ownMethods(t); t = t.Elem() {
		if t.Kind() == reflect.Struct {
			got.fields, _ = newPlans(t, map[reflect.Type]plan{t: nil})
		}
		if t.Kind() != reflect.Pointer {
			break
		}
	}
	targets.Store(t, got)
	return got
}

// ownMethods reports whether t has methods that replace its JSON.
func ownMethods(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(jsonUnmarshaler) || p.Implements(textUnmarshaler)
}

// newPlan returns the plan of t, nil if it has none; begun holds those of other types,
// and nil for the structs around it.
func newPlan(t reflect.Type, begun map[reflect.Type]plan) plan {
	if p, ok := begun[t]; ok {
		return p
	}
	begun[t] = nil
	switch t {
	case reflect.TypeFor[time.Time]():
		begun[t] = (*fastDecoder).time
	case reflect.TypeFor[map[string]string]():
		begun[t] = (*fastDecoder).stringMap
	case reflect.TypeFor[json.Number](), reflect.TypeFor[jsoniter.Number]():
	default:
		if !ownMethods(t) {
			begun[t] = planByKind(t, begun)
		}
	}
	return begun[t]
}

func planByKind(t reflect.Type, begun map[reflect.Type]plan) plan {
	switch t.Kind() {
	case reflect.String:
		return (*fastDecoder).string
	case reflect.Bool:
		return (*fastDecoder).bool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return (*fastDecoder).int
	case reflect.Pointer:
		if elem := newPlan(t.Elem(), begun); elem != nil {
			return pointerPlan(elem)
		}
	case reflect.Slice:
		if elem := newPlan(t.Elem(), begun); elem != nil {
			return slicePlan(elem)
		}
	case reflect.Struct:
		if fields, all := newPlans(t, begun); all {
			return structPlan(fields)
		}
	}
	return nil
}

// newPlans returns the plans of the fields of t, and whether all fields that JSON can
// set have one. It returns none if a name is not clearly one field.
func newPlans(t reflect.Type, begun map[reflect.Type]plan) (fields plans, all bool) {
	fields, all = plans{}, true
	names := map[string]bool{}
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && (name == "" || !f.IsExported()), // its fields are those of t
			options != "" && options != "omitempty" && options != "omitzero",
			name == "-" && tag != "-", f.Name[0] >= 0x80, !validName(name), // decoders differ
			i >= 64: // more than field has bits for
			return nil, false
		case tag == "-", !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		if names[name] {
			return nil, false
		}
		names[name] = true
		if fill := newPlan(f.Type, begun); fill != nil {
			fields[name] = fieldPlan{i, fill}
		} else {
			all = false
		}
	}
	return fields, all
}
