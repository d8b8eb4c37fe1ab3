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

	"github.com/listwatch/listwatch/kube"
)

// object is one state of one object: immutable once it is stored.
type object struct {
	key    kube.Key
	rv     uint64
	meta   objectMeta
	fields []member // what is neither kind, apiVersion nor metadata
	body   []byte   // the whole as it goes over the wire
	raw    []byte   // metadata's value, a part of body
	item   int      // body[item:] follows kind and apiVersion, for typed lists
}

// objectMeta is metadata in the order of kube-apiserver's fields.
type objectMeta struct {
	Name                       string            `json:"name,omitempty"`
	GenerateName               string            `json:"generateName,omitempty"`
	Namespace                  string            `json:"namespace,omitempty"`
	UID                        string            `json:"uid,omitempty"`
	ResourceVersion            string            `json:"resourceVersion,omitempty"`
	Generation                 int64             `json:"generation,omitempty"`
	CreationTimestamp          string            `json:"creationTimestamp,omitempty"`
	DeletionTimestamp          string            `json:"deletionTimestamp,omitempty"`
	DeletionGracePeriodSeconds *int64            `json:"deletionGracePeriodSeconds,omitempty"`
	Labels                     map[string]string `json:"labels,omitempty"`
	Annotations                map[string]string `json:"annotations,omitempty"`
	OwnerReferences            json.RawMessage   `json:"ownerReferences,omitempty"`
	Finalizers                 []string          `json:"finalizers,omitempty"`
	ManagedFields              json.RawMessage   `json:"managedFields,omitempty"`
}

type member struct {
	name  string
	value json.RawMessage
}

// members splits a JSON object, keeping the order; of a repeated name the last
// value counts.
func members(b []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil {
		return nil, err
	} else if t != json.Delim('{') {
		return nil, errors.New("want a JSON object")
	}
	var ms []member
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: t.(string)} // the decoder has checked that a name is a string
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(ms, func(o member) bool { return o.name == m.name }); i >= 0 {
			ms[i] = m
			continue
		}
		ms = append(ms, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, errors.New("something follows the JSON object")
	}
	return ms, nil
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
				return nil, fmt.Errorf("metadata: %w", err)
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
	if !res.Namespaced {
		o.meta.Namespace = ""
	}
	o.key = kube.Key{Namespace: o.meta.Namespace, Name: o.meta.Name}
	return o, nil
}

// canonical drops the space in valid JSON and escapes as kube-apiserver does.
func canonical(b []byte) []byte {
	var compact, escaped bytes.Buffer
	if err := json.Compact(&compact, b); err != nil {
		panic(err) // the decoder has checked it
	}
	json.HTMLEscape(&escaped, compact.Bytes())
	return escaped.Bytes()
}

// seal fixes rv and encodes o. Built-in types go out in the order of their Go
// structs, custom resources sorted.
func (o *object) seal(info *ResourceInfo, rv uint64) {
	o.rv = rv
	o.meta.ResourceVersion = ""
	if rv > 0 { // it is stored
		o.meta.ResourceVersion = strconv.FormatUint(rv, 10)
	}
	o.key = kube.Key{Namespace: o.meta.Namespace, Name: o.meta.Name}
	meta := marshal(o.meta)
	head := []member{{"kind", marshal(info.Kind)}, {"apiVersion", marshal(info.APIVersion())}}
	if info.builtIn {
		o.body = appendMembers(nil, head)
		o.item = len(o.body)
		o.body = appendMembers(o.body, append([]member{{"metadata", meta}}, o.fields...))
	} else {
		meta = sortedJSON(meta)
		all := append(append(head, member{"metadata", meta}), o.fields...)
		slices.SortFunc(all, func(a, b member) int { return cmp.Compare(a.name, b.name) })
		o.body = appendMembers(nil, all)
	}
	o.body = append(append([]byte{'{'}, o.body[1:]...), '}')
	at := bytes.Index(o.body, append([]byte(`"metadata":`), meta...)) + len(`"metadata":`)
	o.raw = o.body[at : at+len(meta)]
}

// appendMembers appends ,"name":value for each member.
func appendMembers(b []byte, ms []member) []byte {
	for _, m := range ms {
		b = append(b, ',')
		b = append(b, marshal(m.name)...)
		b = append(b, ':')
		b = append(b, m.value...)
	}
	return b
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("apitest: encode %T: %v", v, err))
	}
	return b
}

func sortedJSON(b []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		panic(err) // we encoded it
	}
	return marshal(v)
}

// at returns o as it was, stamped with another revision: what a DELETED event
// carries.
func (o *object) at(info *ResourceInfo, rv uint64) *object {
	c := *o
	c.seal(info, rv)
	return &c
}

// appendItem appends o as an item of a LIST.
func (o *object) appendItem(b []byte, info *ResourceInfo) []byte {
	if !info.builtIn {
		return append(b, o.body...)
	}
	return append(append(b, '{'), o.body[o.item+1:]...)
}

// same reports whether o and p differ in nothing but revision, generation and
// the times in managedFields.
func (o *object) same(p *object) bool {
	a, b := o.meta, p.meta
	a.ResourceVersion, b.ResourceVersion = "", ""
	a.Generation, b.Generation = 0, 0
	if !sameManagers(a.ManagedFields, b.ManagedFields) {
		return false
	}
	a.ManagedFields, b.ManagedFields = nil, nil
	return bytes.Equal(marshal(a), marshal(b)) && o.sameFields(p, func(string) bool { return true })
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
	pick := func(ms []member) []byte {
		ms = slices.DeleteFunc(slices.Clone(ms), func(m member) bool { return !which(m.name) })
		slices.SortFunc(ms, func(a, b member) int { return cmp.Compare(a.name, b.name) })
		return appendMembers(nil, ms)
	}
	a, b := pick(o.fields), pick(p.fields)
	if bytes.Equal(a, b) || len(a) == 0 || len(b) == 0 {
		return bytes.Equal(a, b)
	}
	sorted := func(b []byte) []byte { return sortedJSON(append(append([]byte{'{'}, b[1:]...), '}')) }
	return bytes.Equal(sorted(a), sorted(b))
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
		o.fields = append(o.fields, member{name, value})
	}
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
