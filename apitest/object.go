package apitest

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

	"github.com/listwatch/listwatch/apitest/schema"
	"github.com/listwatch/listwatch/kube"
)

// object is one state of one object: immutable once it is stored.
type object struct {
	key     kube.Key
	rv      uint64
	meta    objectMeta
	fields  []member     // what is neither kind, apiVersion nor metadata
	body    []byte       // the whole as it goes over the wire
	raw     []byte       // metadata's value, a part of body
	version string       // of the resource, in which it is encoded
	item    int          // body[item:] follows kind and apiVersion, for typed lists
	known   *schema.Type // of which it is known to be, with its managedFields; nil: not known
	hidden  bool         // kube-apiserver keeps it otherwise than it shows it, so that any write to it is one
}

// parseObject reads what a client or a test hands in. kind and apiVersion may
// be missing; where they stand they must be those of res.
func parseObject(res kube.Resource, b []byte) (*object, error) {
	ms, err := members(b)
	if err != nil {
		return nil, err
	}
	o := &object{}
	for _, m := range ms {
		var s string
		switch m.name {
		case "kind", "apiVersion":
			want := res.Kind
			if m.name == "apiVersion" {
				want = res.APIVersion()
			}
			if err := json.Unmarshal(m.value, &s); err != nil || s != want && s != "" {
				return nil, fmt.Errorf("%s in the data (%s) does not match the expected %s (%s)", m.name, m.value, m.name, want)
			}
		case "metadata":
			if err := json.Unmarshal(m.value, &o.meta); err != nil {
				return nil, errors.New(strings.Replace(err.Error(), "field objectMeta.", "field ObjectMeta.", 1))
			}
		default:
			m.value = canonical(m.value)
			o.fields = append(o.fields, m)
		}
	}
	if string(o.meta.OwnerReferences) == "null" {
		o.meta.OwnerReferences = nil
	}
	if string(o.meta.ManagedFields) == "null" {
		o.meta.ManagedFields = nil
	}
	o.settleKey(res)
	return o, nil
}

func (o *object) settleKey(res kube.Resource) {
	if !res.Namespaced {
		o.meta.Namespace = ""
	}
	o.key = kube.Key{Namespace: o.meta.Namespace, Name: o.meta.Name}
}

// objectOf is parseObject of what v is encoded as. It reports false for what would
// be an error, or is rare. It keeps parts of v.
func objectOf(res kube.Resource, v map[string]any, builtIn bool) (*object, bool) {
	meta, ok := v["metadata"].(map[string]any)
	if !ok && v["metadata"] != nil {
		return nil, false
	}
	for name, want := range map[string]string{"kind": res.Kind, "apiVersion": res.APIVersion()} {
		if s, ok := v[name].(string); v[name] != nil && (!ok || s != want && s != "") {
			return nil, false
		}
	}
	o := &object{fields: make([]member, 0, len(v))}
	if o.meta, ok = metaOf(meta, builtIn); !ok {
		return nil, false
	}
	if list := meta["managedFields"]; list != nil && builtIn {
		if o.meta.ManagedFields, ok = managedInOrder(list); !ok {
			return nil, false
		}
	}
	for _, name := range sortedKeys(v) {
		if name == "kind" || name == "apiVersion" || name == "metadata" {
			continue
		}
		o.fields = append(o.fields, member{name, marshal(v[name]), v[name]})
	}
	o.settleKey(res)
	return o, true
}

// seal fixes rv and encodes o. Built-in types go out in the order of their Go
// structs, custom resources sorted. The fields become parts of the body, so that
// nothing is kept twice.
func (o *object) seal(info *resourceInfo, rv uint64) {
	o.rv, o.version = rv, info.Version
	o.meta.ResourceVersion = ""
	if rv > 0 { // it is stored
		o.meta.ResourceVersion = strconv.FormatUint(rv, 10)
	}
	o.key = kube.Key{Namespace: o.meta.Namespace, Name: o.meta.Name}
	size := 512 + len(o.meta.ManagedFields) + len(o.meta.OwnerReferences)
	for _, m := range o.fields {
		size += len(m.name) + len(m.value) + 4
	}
	b := make([]byte, 0, size)
	fields := make([]member, len(o.fields))
	var raw, end int // of the metadata
	head := func() {
		b = appendString(append(b, `,"kind":`...), info.Kind)
	}
	version := func() {
		b = appendString(append(b, `,"apiVersion":`...), info.APIVersion())
	}
	meta := func() {
		b = append(b, `,"metadata":`...)
		raw = len(b)
		if info.builtIn {
			b = o.meta.append(b)
		} else {
			b = o.meta.appendSorted(b)
		}
		end = len(b)
	}
	field := func(i int) {
		m := o.fields[i]
		b = append(appendString(append(b, ','), m.name), ':')
		at := len(b)
		b = append(b, m.value...)
		fields[i] = member{name: m.name, value: b[at:len(b):len(b)]}
	}
	if info.builtIn {
		head()
		version()
		o.item = len(b)
		meta()
		for i := range o.fields {
			field(i)
		}
	} else {
		type part struct {
			name string
			add  func()
		}
		parts := []part{{"kind", head}, {"apiVersion", version}, {"metadata", meta}}
		for i, m := range o.fields {
			parts = append(parts, part{m.name, func() { field(i) }})
		}
		slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.name, b.name) })
		for _, p := range parts {
			p.add()
		}
	}
	b[0] = '{'
	b = append(b, '}')
	o.body, o.raw, o.fields = b, b[raw:end:end], fields
}

// at returns o as it was, stamped with another revision: what a DELETED event
// carries.
func (o *object) at(info *resourceInfo, rv uint64) *object {
	c := *o
	c.seal(info, rv)
	return &c
}

// appendItem appends o as an item of a LIST.
func (o *object) appendItem(b []byte, info *resourceInfo) []byte {
	if !info.builtIn {
		return append(b, o.body...)
	}
	return append(append(b, '{'), o.body[o.item+1:]...)
}

// same reports whether o and p differ in nothing but revision, generation and
// the times in managedFields.
func (o *object) same(p *object) bool {
	return o.meta.same(&p.meta) && o.sameFields(p, func(string) bool { return true }) &&
		sameManagers(o.meta.ManagedFields, p.meta.ManagedFields)
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
		return marshal(list)
	}
	return len(a) > 0 && len(b) > 0 && bytes.Equal(timeless(a), timeless(b))
}

// sameFields compares the members that which selects.
func (o *object) sameFields(p *object, which func(name string) bool) bool {
	n := 0
	for _, m := range o.fields {
		if !which(m.name) {
			continue
		}
		n++
		if other, ok := p.field(m.name); !ok || !sameJSON(m.value, other) {
			return false
		}
	}
	for _, m := range p.fields {
		if which(m.name) {
			n--
		}
	}
	return n == 0
}

func (o *object) field(name string) (json.RawMessage, bool) {
	for _, m := range o.fields {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// setLabel sets a label; o may share its labels with another object.
func (o *object) setLabel(name, value string) {
	labels := maps.Clone(o.meta.Labels)
	if labels == nil {
		labels = make(map[string]string)
	}
	labels[name] = value
	o.meta.Labels = labels
}

func (o *object) setField(name string, value json.RawMessage, present bool) {
	o.fields = slices.DeleteFunc(slices.Clone(o.fields), func(m member) bool { return m.name == name })
	if present {
		o.fields = append(o.fields, member{name: name, value: value})
	}
}

// setValue is setField with a value as package schema has it, which is kept.
func (o *object) setValue(name string, v any) {
	o.setField(name, marshal(v), true)
	o.fields[len(o.fields)-1].decoded = v
}

// lookup returns the value at a dotted path below the top, nil where there is
// none.
func (o *object) lookup(path string) any {
	first, rest, _ := strings.Cut(path, ".")
	raw, ok := o.field(first)
	if first == "metadata" {
		raw, ok = o.raw, true
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

// text returns the value at path as a field selector sees it.
func (o *object) text(path string) string {
	switch path {
	case "metadata.name":
		return o.key.Name
	case "metadata.namespace":
		return o.key.Namespace
	}
	switch v := o.lookup(path).(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// integer returns the number at path, 0 where there is none.
func (o *object) integer(path string) int64 {
	n, _ := o.lookup(path).(json.Number)
	i, _ := n.Int64()
	return i
}

// hasNull reports whether there is a null at path.
func (o *object) hasNull(path string) bool {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return false
	}
	in, _ := o.lookup(path[:i]).(map[string]any)
	v, ok := in[path[i+1:]]
	return ok && v == nil
}
