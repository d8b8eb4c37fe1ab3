package protobuf

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/internal/protojson"
)

// A fill decodes one value of the wire into v: b is a string, bytes or a message, n is
// a number.
type fill func(f *fastDecoder, v reflect.Value, b []byte, n uint64)

// A structPlan decodes a message into a struct.
type structPlan struct {
	fields []*fieldPlan // by number; nil = the struct has no such field
	always []*fieldPlan // fields that the JSON has even if the wire does not
}

// A fieldPlan decodes a field of a message into a field of a struct.
type fieldPlan struct {
	bit   uint64                                                   // one for each field of a structPlan
	wire  int                                                      // type on the wire
	path  []int                                                    // of the Go field; empty = the message has members of the struct itself
	empty bool                                                     // the JSON has no member for an empty value
	fill  fill                                                     // of one value
	run   func(f *fastDecoder, v reflect.Value, run []byte, n int) // for a list or map: its n entries
}

// A rootPlan decodes an object.
type rootPlan struct {
	structPlan
	size             int   // of the struct
	apiVersion, kind []int // paths of the Go fields; nil = none
	wantVersion      string
	wantKind         string
}

type planKey struct {
	t                reflect.Type
	apiVersion, kind string
}

// plans caches the results of planOf; nil = no plan.
var plans sync.Map // planKey to *rootPlan

// planOf returns the plan of a T, a struct or a pointer to one, for objects of a kind.
// It is nil if a field of T has no plan, so that T can be decoded only from JSON.
func planOf(t reflect.Type, apiVersion, kind string) *rootPlan {
	key := planKey{t, apiVersion, kind}
	if p, ok := plans.Load(key); ok {
		return p.(*rootPlan)
	}
	p := newRoot(t, apiVersion, kind)
	plans.Store(key, p)
	return p
}

func newRoot(t reflect.Type, apiVersion, kind string) *rootPlan {
	if t.Kind() == reflect.Pointer && !ownMethods(t) {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || ownMethods(t) {
		return nil
	}
	m := protojson.Lookup(apiVersion, kind)
	if m == nil || m.Union {
		return nil
	}
	names, ok := namesOf(t)
	if !ok {
		return nil
	}
	p := &rootPlan{size: int(t.Size()), wantVersion: apiVersion, wantKind: kind}
	for name, into := range map[string]*[]int{"apiVersion": &p.apiVersion, "kind": &p.kind} {
		if g, ok := names[name]; ok {
			if *into = g.path; g.typ.Kind() != reflect.String || ownMethods(g.typ) {
				return nil
			}
			delete(names, name)
		}
	}
	b := builder{begun: map[begun]*structPlan{}}
	if !b.fields(&p.structPlan, names, m) || len(names) > 0 {
		return nil
	}
	return p
}

// goField is a field of a struct, or of one embedded in it.
type goField struct {
	path []int
	typ  reflect.Type
}

// namesOf returns the fields of t by JSON name. ok is false if a name is not clearly
// one field.
func namesOf(t reflect.Type) (names map[string]goField, ok bool) {
	names = map[string]goField{}
	return names, addNames(names, t, nil)
}

func addNames(names map[string]goField, t reflect.Type, outer []int) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		path := append(append([]int(nil), outer...), i)
		switch {
		case tag == "-":
			continue
		case f.Anonymous && name == "":
			if f.Type.Kind() != reflect.Struct || !f.IsExported() || ownMethods(f.Type) || !addNames(names, f.Type, path) {
				return false
			}
			continue
		case !f.IsExported() && !f.Anonymous:
			continue
		case !f.IsExported(), !plainOptions(options), f.Name[0] >= 0x80:
			return false
		case name == "":
			name = f.Name
		}
		if _, twice := names[name]; twice {
			return false
		}
		names[name] = goField{path, f.Type}
	}
	return true
}

// plainOptions reports whether the options of a json tag do not affect decoding.
func plainOptions(options string) bool {
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "", "omitempty", "omitzero", "inline":
		default:
			return false
		}
	}
	return true
}

// A builder makes the plans of one type.
type builder struct {
	begun map[begun]*structPlan // nil while it is being made
}

type begun struct {
	t reflect.Type
	m *protojson.Message
}

// message returns the plan of a struct for a message, nil if there is none; recursive
// types have none.
func (b *builder) message(t reflect.Type, m *protojson.Message) *structPlan {
	key := begun{t, m}
	if p, ok := b.begun[key]; ok {
		return p
	}
	b.begun[key] = nil
	names, ok := namesOf(t)
	if !ok || m.Union {
		return nil
	}
	p := new(structPlan)
	if !b.fields(p, names, m) || len(names) > 0 {
		return nil
	}
	b.begun[key] = p
	return p
}

// fields adds the fields of m that are in names to p, and removes them from names. It
// reports false if a field has no plan.
func (b *builder) fields(p *structPlan, names map[string]goField, m *protojson.Message) bool {
	for i := range m.Fields {
		f := &m.Fields[i]
		fp := &fieldPlan{wire: wireOf(f)}
		always := false
		if f.Inline {
			inner := new(structPlan)
			if f.Pointer || f.List || f.Type != protojson.IsMessage || !b.fields(inner, names, f.Message()) {
				return false
			}
			if inner.fields == nil {
				continue
			}
			fp.fill, always = inner.fill, len(inner.always) > 0
		} else {
			g, ok := names[f.Name]
			if !ok {
				continue
			}
			delete(names, f.Name)
			if fp.path = g.path; !b.field(fp, g.typ, f) {
				return false
			}
			always = b.needed(g.typ, f)
		}
		if p.count() >= 64 || f.Number > maxNumber {
			return false
		}
		fp.bit = 1 << p.count()
		for uint64(len(p.fields)) <= f.Number {
			p.fields = append(p.fields, nil)
		}
		p.fields[f.Number] = fp
		if always {
			p.always = append(p.always, fp)
		}
	}
	return true
}

const maxNumber = 1000 // highest field number: plans are arrays; Kubernetes' numbers are below 50

func (p *structPlan) count() (n int) {
	for _, f := range p.fields {
		if f != nil {
			n++
		}
	}
	return n
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()
)

// ownMethods reports whether t has methods that replace its JSON.
func ownMethods(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(jsonUnmarshaler) || p.Implements(textUnmarshaler)
}
