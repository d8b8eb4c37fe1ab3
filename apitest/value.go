package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/listwatch/listwatch/apitest/schema"
)

// builtInTypes are kube-apiserver's. Parsing them takes a while and nothing in
// them changes, so all servers of a process share them.
var builtInTypes = sync.OnceValue(func() *schema.Catalog { return new(schema.Catalog) })

// typeOf returns the type of what r serves. A resource of which nothing is known
// takes anything.
func typeOf(r *resourceInfo) *schema.Type {
	if r.builtIn {
		if t, err := builtInTypes().Type(r.Resource); err == nil {
			return t
		}
	}
	t, err := builtInTypes().Custom(r.Resource, r.Schema)
	if err != nil {
		t, err = builtInTypes().Custom(r.Resource, nil)
	}
	if err != nil {
		panic(err) // an empty schema is always good
	}
	return t
}

// managedEntry is an entry of managedFields in the order of kube-apiserver's own
// types.
type managedEntry struct {
	Manager     string          `json:"manager,omitempty"`
	Operation   string          `json:"operation,omitempty"`
	APIVersion  string          `json:"apiVersion,omitempty"`
	Time        string          `json:"time,omitempty"`
	FieldsType  string          `json:"fieldsType,omitempty"`
	FieldsV1    json.RawMessage `json:"fieldsV1,omitempty"`
	Subresource string          `json:"subresource,omitempty"`
}

// managedInOrder returns the value of managedFields likewise. It reports false for
// what is rare.
func managedInOrder(v any) (json.RawMessage, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	names := [...]string{"manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"}
	b := append(make([]byte, 0, 1024), '[')
	for i, e := range list {
		entry, ok := e.(map[string]any)
		if !ok {
			return nil, false
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		known := 0
		for _, name := range names {
			field, ok := entry[name]
			if !ok {
				continue
			}
			known++
			text, isText := field.(string)
			if fields, ok := field.(map[string]any); isText == (name == "fieldsV1") || !isText && (!ok || fields == nil) {
				return nil, false
			}
			if isText && text == "" {
				continue
			}
			if b[len(b)-1] != '{' {
				b = append(b, ',')
			}
			b = append(appendString(b, name), ':')
			var err error
			if b, err = schema.Append(b, field); err != nil {
				return nil, false
			}
		}
		if known < len(entry) {
			return nil, false
		}
		b = append(b, '}')
	}
	return append(b, ']'), true
}

// inOrder returns managedFields as built-in types have it.
func inOrder(raw json.RawMessage) json.RawMessage {
	var entries []managedEntry
	if len(raw) == 0 || json.Unmarshal(raw, &entries) != nil {
		return raw
	}
	return marshal(entries)
}

// value returns o as package schema has it.
func (o *object) value() map[string]any { return decodeValue(o.body) }

// parts returns o, which may be new and have no body, as package schema has it,
// without its revision and managedFields. What it shares with o, a change to it
// that goes no further must not change.
func (o *object) parts(info *resourceInfo) map[string]any {
	m := o.meta
	m.ResourceVersion = ""
	v := make(map[string]any, len(o.fields)+3)
	v["kind"], v["apiVersion"], v["metadata"] = info.Kind, info.APIVersion(), m.value()
	for _, f := range o.fields {
		if v[f.name] = f.decoded; f.decoded == nil {
			v[f.name] = decoded(f.value)
		}
	}
	return v
}

// share spares o the decoding of what is as it is in old, of which live are the
// parts. assigned says that the spec may be changed yet.
func (o *object) share(old *object, live map[string]any, assigned bool) {
	o.fields = slices.Clone(o.fields)
	for i, f := range o.fields {
		if was, ok := old.field(f.name); ok && f.decoded == nil && !(assigned && f.name == "spec") && bytes.Equal(was, f.value) {
			o.fields[i].decoded = live[f.name]
		}
	}
}

// decoded returns the value of a part of an object.
func decoded(b []byte) any {
	v, err := schema.Decode(b)
	if err != nil {
		panic(fmt.Sprintf("apitest: a part of an object is not JSON: %v", err))
	}
	return v
}

// decodeValue decodes what this server has encoded.
func decodeValue(b []byte) map[string]any {
	v, err := schema.DecodeObject(b)
	if err != nil {
		panic(fmt.Sprintf("apitest: a stored object is not JSON: %v", err))
	}
	return v
}

// whole returns a copy of o, which may be new, with its body.
func (o *object) whole(info *resourceInfo) *object {
	w := *o
	w.seal(info, 0)
	return &w
}
