package object

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Meta is metadata in the order of kube-apiserver's fields.
type Meta struct {
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

// append appends m as json.Marshal writes it.
func (m *Meta) append(b []byte) []byte {
	w := metaWriter{append(b, '{')}
	w.text("name", m.Name)
	w.text("generateName", m.GenerateName)
	w.text("namespace", m.Namespace)
	w.text("uid", m.UID)
	w.text("resourceVersion", m.ResourceVersion)
	w.number("generation", m.Generation)
	w.text("creationTimestamp", m.CreationTimestamp)
	w.text("deletionTimestamp", m.DeletionTimestamp)
	w.pointer("deletionGracePeriodSeconds", m.DeletionGracePeriodSeconds)
	w.texts("labels", m.Labels)
	w.texts("annotations", m.Annotations)
	w.raw("ownerReferences", m.OwnerReferences)
	w.list("finalizers", m.Finalizers)
	w.raw("managedFields", m.ManagedFields)
	return append(w.b, '}')
}

// appendSorted is append with the members in the order of their names, at every
// depth.
func (m *Meta) appendSorted(b []byte) []byte {
	w := metaWriter{append(b, '{')}
	w.texts("annotations", m.Annotations)
	w.text("creationTimestamp", m.CreationTimestamp)
	w.pointer("deletionGracePeriodSeconds", m.DeletionGracePeriodSeconds)
	w.text("deletionTimestamp", m.DeletionTimestamp)
	w.list("finalizers", m.Finalizers)
	w.text("generateName", m.GenerateName)
	w.number("generation", m.Generation)
	w.texts("labels", m.Labels)
	w.sorted("managedFields", m.ManagedFields)
	w.text("name", m.Name)
	w.text("namespace", m.Namespace)
	w.sorted("ownerReferences", m.OwnerReferences)
	w.text("resourceVersion", m.ResourceVersion)
	w.text("uid", m.UID)
	return append(w.b, '}')
}

// metaWriter writes members and omits empty ones.
type metaWriter struct{ b []byte }

func (w *metaWriter) name(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(append(append(w.b, '"'), name...), '"', ':')
}

func (w *metaWriter) text(name, v string) {
	if v != "" {
		w.name(name)
		w.b = AppendString(w.b, v)
	}
}

func (w *metaWriter) number(name string, v int64) {
	if v != 0 {
		w.pointer(name, &v)
	}
}

func (w *metaWriter) pointer(name string, v *int64) {
	if v != nil {
		w.name(name)
		w.b = strconv.AppendInt(w.b, *v, 10)
	}
}

func (w *metaWriter) texts(name string, v map[string]string) {
	if len(v) == 0 {
		return
	}
	w.name(name)
	w.b = append(w.b, '{')
	for i, k := range SortedKeys(v) {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = append(AppendString(w.b, k), ':')
		w.b = AppendString(w.b, v[k])
	}
	w.b = append(w.b, '}')
}

func (w *metaWriter) list(name string, v []string) {
	if len(v) == 0 {
		return
	}
	w.name(name)
	w.b = append(w.b, '[')
	for i, s := range v {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = AppendString(w.b, s)
	}
	w.b = append(w.b, ']')
}

func (w *metaWriter) raw(name string, v json.RawMessage) {
	if len(v) > 0 {
		w.name(name)
		w.b = append(w.b, canonical(v)...)
	}
}

func (w *metaWriter) sorted(name string, v json.RawMessage) {
	if len(v) > 0 {
		w.name(name)
		w.b = append(w.b, sortedJSON(v)...)
	}
}

// same reports whether m and o differ in nothing but revision, generation and
// managedFields.
func (m *Meta) same(o *Meta) bool {
	period := func(p *int64) int64 {
		if p == nil {
			return -1
		}
		return *p
	}
	return m.Name == o.Name && m.GenerateName == o.GenerateName && m.Namespace == o.Namespace && m.UID == o.UID &&
		m.CreationTimestamp == o.CreationTimestamp && m.DeletionTimestamp == o.DeletionTimestamp &&
		period(m.DeletionGracePeriodSeconds) == period(o.DeletionGracePeriodSeconds) &&
		maps.Equal(m.Labels, o.Labels) && maps.Equal(m.Annotations, o.Annotations) && slices.Equal(m.Finalizers, o.Finalizers) &&
		(bytes.Equal(m.OwnerReferences, o.OwnerReferences) || bytes.Equal(canonical(m.OwnerReferences), canonical(o.OwnerReferences)))
}

// value returns m as package schema has it, without managedFields.
func (m *Meta) value() map[string]any {
	v := make(map[string]any, 8)
	text := func(name, s string) {
		if s != "" {
			v[name] = s
		}
	}
	texts := func(name string, of map[string]string) {
		if len(of) == 0 {
			return
		}
		values := make(map[string]any, len(of))
		for k, s := range of {
			values[k] = s
		}
		v[name] = values
	}
	text("name", m.Name)
	text("generateName", m.GenerateName)
	text("namespace", m.Namespace)
	text("uid", m.UID)
	text("resourceVersion", m.ResourceVersion)
	if m.Generation != 0 {
		v["generation"] = m.Generation
	}
	text("creationTimestamp", m.CreationTimestamp)
	text("deletionTimestamp", m.DeletionTimestamp)
	if m.DeletionGracePeriodSeconds != nil {
		v["deletionGracePeriodSeconds"] = *m.DeletionGracePeriodSeconds
	}
	texts("labels", m.Labels)
	texts("annotations", m.Annotations)
	if len(m.OwnerReferences) > 0 {
		v["ownerReferences"] = decoded(m.OwnerReferences)
	}
	if len(m.Finalizers) > 0 {
		list := make([]any, len(m.Finalizers))
		for i, name := range m.Finalizers {
			list[i] = name
		}
		v["finalizers"] = list
	}
	return v
}

// metaOf is what decoding the JSON of v would make of it, without managedFields of
// built-in types. It reports false for what
// would be an error, or is rare.
func metaOf(v map[string]any, builtIn bool) (m Meta, ok bool) {
	for name, field := range v {
		s, isText := field.(string)
		isText = isText || field == nil
		switch name {
		case "name":
			m.Name, ok = s, isText
		case "generateName":
			m.GenerateName, ok = s, isText
		case "namespace":
			m.Namespace, ok = s, isText
		case "uid":
			m.UID, ok = s, isText
		case "resourceVersion":
			m.ResourceVersion, ok = s, isText
		case "creationTimestamp":
			m.CreationTimestamp, ok = s, isText
		case "deletionTimestamp":
			m.DeletionTimestamp, ok = s, isText
		case "selfLink":
			ok = true // it is gone
		case "generation":
			m.Generation, ok = field.(int64)
		case "labels":
			m.Labels, ok = textsOf(field)
		case "annotations":
			m.Annotations, ok = textsOf(field)
		case "ownerReferences":
			if ok = true; field != nil {
				m.OwnerReferences = Marshal(field)
			}
		case "finalizers":
			var list []any
			list, ok = field.([]any)
			m.Finalizers = make([]string, len(list))
			for i, e := range list {
				var is bool
				m.Finalizers[i], is = e.(string)
				ok = ok && is
			}
		case "managedFields":
			if ok = true; field != nil && !builtIn {
				m.ManagedFields = Marshal(field)
			}
		default:
			ok = false
		}
		if !ok {
			return Meta{}, false
		}
	}
	return m, true
}

func textsOf(v any) (map[string]string, bool) {
	m, ok := v.(map[string]any)
	texts := make(map[string]string, len(m))
	for k, e := range m {
		s, is := e.(string)
		texts[k] = s
		ok = ok && is
	}
	return texts, ok
}

// Timestamp returns the current time in the format of metadata.
func Timestamp() string { return time.Now().UTC().Format(time.RFC3339) }
