package object

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/apitest/internal/schema"
)

// Types are kube-apiserver's. All servers of a process share them, because parsing them
// takes a while and they do not change.
var Types = sync.OnceValue(func() *schema.Catalog { return new(schema.Catalog) })

// TypeOf returns the type of r. A resource without a known type accepts anything.
func TypeOf(r *Info) *schema.Type {
	if r.BuiltIn {
		if t, err := Types().Type(r.Resource); err == nil {
			return t
		}
	}
	t, err := Types().Custom(r.Resource, r.Schema)
	if err != nil {
		t, err = Types().Custom(r.Resource, nil)
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
			b = append(AppendString(b, name), ':')
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

// InOrder returns managedFields in the order of built-in types.
func InOrder(raw json.RawMessage) json.RawMessage {
	var entries []managedEntry
	if len(raw) == 0 || json.Unmarshal(raw, &entries) != nil {
		return raw
	}
	return Marshal(entries)
}

// Decoded returns o decoded by package schema.
func (o *Object) Decoded() map[string]any { return DecodeValue(o.Body) }

// Parts returns o, which may be new and have no body, decoded by package schema,
// without its revision and managedFields. The caller must not modify nested values,
// which it shares with o.
func (o *Object) Parts(info *Info) map[string]any {
	m := o.Meta
	m.ResourceVersion = ""
	v := make(map[string]any, len(o.Fields)+3)
	v["kind"], v["apiVersion"], v["metadata"] = info.Kind, info.APIVersion(), m.value()
	for _, f := range o.Fields {
		if v[f.Name] = f.decoded; f.decoded == nil {
			v[f.Name] = decoded(f.Value)
		}
	}
	return v
}

// Share spares o the decoding of what is as it is in old, of which live are the
// parts. assigned says that the spec may be changed yet.
func (o *Object) Share(old *Object, live map[string]any, assigned bool) {
	o.Fields = slices.Clone(o.Fields)
	for i, f := range o.Fields {
		if was, ok := old.Field(f.Name); ok && f.decoded == nil && !(assigned && f.Name == "spec") && bytes.Equal(was, f.Value) {
			o.Fields[i].decoded = live[f.Name]
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

// DecodeValue decodes JSON of this server.
func DecodeValue(b []byte) map[string]any {
	v, err := schema.DecodeObject(b)
	if err != nil {
		panic(fmt.Sprintf("apitest: a stored object is not JSON: %v", err))
	}
	return v
}

// Whole returns a copy of o, which may be new, with its body.
func (o *Object) Whole(info *Info) *Object {
	w := *o
	w.Seal(info, 0)
	return &w
}

// SetAt returns the JSON object raw with value at a dotted path.
func SetAt(raw json.RawMessage, path string, value any) json.RawMessage {
	if path == "" {
		return Marshal(value)
	}
	top := map[string]any{}
	if len(raw) > 0 {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if dec.Decode(&top) != nil || top == nil {
			top = map[string]any{}
		}
	}
	parts := strings.Split(path, ".")
	at := top
	for _, p := range parts[:len(parts)-1] {
		next, ok := at[p].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[p] = next
		}
		at = next
	}
	at[parts[len(parts)-1]] = value
	return Marshal(top)
}
