package object

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// Object is one state of one object: immutable once it is stored.
type Object struct {
	Key      kube.Key
	Revision uint64
	Meta     Meta
	Fields   []Member     // the members other than kind, apiVersion and metadata
	Body     []byte       // the encoded object
	RawMeta  []byte       // metadata's value, a part of body
	Version  string       // of the resource, in which it is encoded
	item     int          // body[item:] follows kind and apiVersion, for typed lists
	Known    *schema.Type // the type that it was checked against, with its managedFields; nil = unknown
	Moved    bool         // it was stored in another version, whose fields it may have
	Hidden   bool         // kube-apiserver stores it differently from how it shows it, so that any write to it is a change
}

// Parse decodes the object of a client or a test. kind and apiVersion may be missing;
// otherwise they must be those of res.
func Parse(res kube.Resource, b []byte) (*Object, error) {
	ms, err := Members(b)
	if err != nil {
		return nil, err
	}
	o := &Object{}
	for _, m := range ms {
		var s string
		switch m.Name {
		case "kind", "apiVersion":
			want := res.Kind
			if m.Name == "apiVersion" {
				want = res.APIVersion()
			}
			if err := json.Unmarshal(m.Value, &s); err != nil || s != want && s != "" {
				return nil, fmt.Errorf("%s in the data (%s) does not match the expected %s (%s)", m.Name, m.Value, m.Name, want)
			}
		case "metadata":
			if err := json.Unmarshal(m.Value, &o.Meta); err != nil {
				return nil, errors.New(strings.Replace(err.Error(), "field objectMeta.", "field ObjectMeta.", 1))
			}
		default:
			m.Value = canonical(m.Value)
			o.Fields = append(o.Fields, m)
		}
	}
	if string(o.Meta.OwnerReferences) == "null" {
		o.Meta.OwnerReferences = nil
	}
	if string(o.Meta.ManagedFields) == "null" {
		o.Meta.ManagedFields = nil
	}
	o.settleKey(res)
	return o, nil
}

func (o *Object) settleKey(res kube.Resource) {
	if !res.Namespaced {
		o.Meta.Namespace = ""
	}
	o.Key = kube.Key{Namespace: o.Meta.Namespace, Name: o.Meta.Name}
}

// Of is Parse for the encoding of v. It reports false for errors and rare cases. It
// keeps parts of v.
func Of(res kube.Resource, v map[string]any, builtIn bool) (*Object, bool) {
	meta, ok := v["metadata"].(map[string]any)
	if !ok && v["metadata"] != nil {
		return nil, false
	}
	for name, want := range map[string]string{"kind": res.Kind, "apiVersion": res.APIVersion()} {
		if s, ok := v[name].(string); v[name] != nil && (!ok || s != want && s != "") {
			return nil, false
		}
	}
	o := &Object{Fields: make([]Member, 0, len(v))}
	if o.Meta, ok = metaOf(meta, builtIn); !ok {
		return nil, false
	}
	if list := meta["managedFields"]; list != nil && builtIn {
		if o.Meta.ManagedFields, ok = managedInOrder(list); !ok {
			return nil, false
		}
	}
	for _, name := range SortedKeys(v) {
		if name == "kind" || name == "apiVersion" || name == "metadata" {
			continue
		}
		o.Fields = append(o.Fields, Member{name, Marshal(v[name]), v[name]})
	}
	o.settleKey(res)
	return o, true
}

// Seal sets rv and encodes o. Built-in types are encoded in the order of their Go
// structs, custom resources sorted. The fields become parts of the body, so that
// nothing is stored twice.
func (o *Object) Seal(info *Info, rv uint64) {
	o.Revision, o.Version = rv, info.Version
	o.Meta.ResourceVersion = ""
	if rv > 0 { // it is stored
		o.Meta.ResourceVersion = strconv.FormatUint(rv, 10)
	}
	o.Key = kube.Key{Namespace: o.Meta.Namespace, Name: o.Meta.Name}
	size := 512 + len(o.Meta.ManagedFields) + len(o.Meta.OwnerReferences)
	for _, m := range o.Fields {
		size += len(m.Name) + len(m.Value) + 4
	}
	b := make([]byte, 0, size)
	fields := make([]Member, len(o.Fields))
	var raw, end int // of the metadata
	head := func() {
		b = AppendString(append(b, `,"kind":`...), info.Kind)
	}
	version := func() {
		b = AppendString(append(b, `,"apiVersion":`...), info.APIVersion())
	}
	meta := func() {
		b = append(b, `,"metadata":`...)
		raw = len(b)
		if info.BuiltIn {
			b = o.Meta.append(b)
		} else {
			b = o.Meta.appendSorted(b)
		}
		end = len(b)
	}
	field := func(i int) {
		m := o.Fields[i]
		b = append(AppendString(append(b, ','), m.Name), ':')
		at := len(b)
		b = append(b, m.Value...)
		fields[i] = Member{Name: m.Name, Value: b[at:len(b):len(b)]}
	}
	if info.BuiltIn {
		head()
		version()
		o.item = len(b)
		meta()
		for i := range o.Fields {
			field(i)
		}
	} else {
		type part struct {
			name string
			add  func()
		}
		parts := []part{{"kind", head}, {"apiVersion", version}, {"metadata", meta}}
		for i, m := range o.Fields {
			parts = append(parts, part{m.Name, func() { field(i) }})
		}
		slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.name, b.name) })
		for _, p := range parts {
			p.add()
		}
	}
	b[0] = '{'
	b = append(b, '}')
	o.Body, o.RawMeta, o.Fields = b, b[raw:end:end], fields
}

// Stamped returns o with another revision, for a DELETED event.
func (o *Object) Stamped(info *Info, rv uint64) *Object {
	c := *o
	c.Seal(info, rv)
	return &c
}

// AppendItem appends o as an item of a LIST.
func (o *Object) AppendItem(b []byte, info *Info) []byte {
	if !info.BuiltIn {
		return append(b, o.Body...)
	}
	return append(append(b, '{'), o.Body[o.item+1:]...)
}

// Same reports whether o and p differ in nothing but revision, generation and
// the times in managedFields.
func (o *Object) Same(p *Object) bool {
	return o.Meta.same(&p.Meta) && o.SameFields(p, func(string) bool { return true }) &&
		sameManagers(o.Meta.ManagedFields, p.Meta.ManagedFields)
}

// sameManagers compares two values of managedFields, times aside.
func sameManagers(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	timeless := func(raw json.RawMessage) []byte {
		var list []map[string]any
		if json.Unmarshal(raw, &list) != nil {
			return raw
		}
		for _, entry := range list {
			delete(entry, "time")
		}
		return Marshal(list)
	}
	return len(a) > 0 && len(b) > 0 && bytes.Equal(timeless(a), timeless(b))
}

// SameFields compares the members that which selects.
func (o *Object) SameFields(p *Object, which func(name string) bool) bool {
	n := 0
	for _, m := range o.Fields {
		if !which(m.Name) {
			continue
		}
		n++
		if other, ok := p.Field(m.Name); !ok || !sameJSON(m.Value, other) {
			return false
		}
	}
	for _, m := range p.Fields {
		if which(m.Name) {
			n--
		}
	}
	return n == 0
}

// Field returns the value of a member, other than kind, apiVersion and metadata.
func (o *Object) Field(name string) (json.RawMessage, bool) {
	for _, m := range o.Fields {
		if m.Name == name {
			return m.Value, true
		}
	}
	return nil, false
}

// SetLabel sets a label; o may share its labels with another object.
func (o *Object) SetLabel(name, value string) {
	labels := maps.Clone(o.Meta.Labels)
	if labels == nil {
		labels = make(map[string]string)
	}
	labels[name] = value
	o.Meta.Labels = labels
}

// SetField sets a member, or removes it; o may share its members with another object.
func (o *Object) SetField(name string, value json.RawMessage, present bool) {
	o.Fields = slices.DeleteFunc(slices.Clone(o.Fields), func(m Member) bool { return m.Name == name })
	if present {
		o.Fields = append(o.Fields, Member{Name: name, Value: value})
	}
}

// SetValue is SetField with a value of package schema, which is kept.
func (o *Object) SetValue(name string, v any) {
	o.SetField(name, Marshal(v), true)
	o.Fields[len(o.Fields)-1].decoded = v
}

// Size returns the bytes of the JSON of o; o may be nil.
func (o *Object) Size() int {
	if o == nil {
		return 0
	}
	return len(o.Body)
}

// Forget gives up values that are decoded: they are a hundred times as large as the JSON. o may be
// nil.
func (o *Object) Forget() {
	if o == nil {
		return
	}
	o.Fields = slices.Clone(o.Fields) // another object may have them too
	for i := range o.Fields {
		o.Fields[i].decoded = nil
	}
}

// Lookup returns the value at a dotted path below the top, nil if there is none.
func (o *Object) Lookup(path string) any {
	first, rest, _ := strings.Cut(path, ".")
	raw, ok := o.Field(first)
	if first == "metadata" {
		raw, ok = o.RawMeta, true
	}
	if !ok {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil
	}
	for rest != "" {
		first, rest, _ = strings.Cut(rest, ".")
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[first]
	}
	return v
}

// FieldText returns the value at path as a field selector sees it.
func (o *Object) FieldText(path string) string {
	switch path {
	case "metadata.name":
		return o.Key.Name
	case "metadata.namespace":
		return o.Key.Namespace
	}
	switch v := o.Lookup(path).(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// Integer returns the number at path, 0 if there is none.
func (o *Object) Integer(path string) int64 {
	n, _ := o.Lookup(path).(json.Number)
	i, _ := n.Int64()
	return i
}

// HasNull reports whether there is a null at path.
func (o *Object) HasNull(path string) bool {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return false
	}
	in, _ := o.Lookup(path[:i]).(map[string]any)
	v, ok := in[path[i+1:]]
	return ok && v == nil
}
