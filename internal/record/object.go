package record

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/secret"
	"github.com/listwatch/listwatch/kube"
)

// RawObject returns r's object as the server wrote it, but for what is redacted
// and for kind and apiVersion, which a server may leave out. Of a row it returns
// the object that it was made of.
func RawObject(r *Record, redact bool) ([]byte, error) {
	if r.Object.GetKind() != "" && r.Object.GetKind() != "Table" && r.Object.GetAPIVersion() != "" && !(redact && secret.Is(r.Resource)) {
		return []byte(r.Object.JSON()), nil
	}
	m, err := MapOf(r, redact)
	if err != nil {
		return nil, err
	}
	return codec.Encode(m)
}

// MapOf decodes r's object as kubectl does: numbers are int64 or float64.
func MapOf(r *Record, redact bool) (map[string]any, error) { return r.Decode(r.Object, redact) }

// Before decodes the object as it was before.
func (r *Record) Before(redact bool) (map[string]any, error) { return r.Decode(r.Old, redact) }

func (r *Record) Decode(o codec.Raw, redact bool) (map[string]any, error) {
	m, err := FieldsOf(o)
	if err != nil {
		return nil, err
	}
	if m["kind"] == nil {
		m["kind"] = r.Resource.Kind
	}
	if m["apiVersion"] == nil {
		m["apiVersion"] = r.Resource.APIVersion()
	}
	if redact && secret.Is(r.Resource) {
		secret.Redact(m)
	}
	return numbers(m).(map[string]any), nil
}

// WithoutManaged returns o less its managedFields.
func WithoutManaged(o codec.RawFull) codec.Raw {
	r, err := codec.ParseRaw([]byte(o.JSON()))
	if err != nil { // it never does: o was parsed
		return o.Raw
	}
	return r
}

// FieldsOf decodes o, or what the row of a Table was made of.
func FieldsOf(o codec.Raw) (map[string]any, error) {
	if o.GetKind() != "Table" {
		var m map[string]any
		err := o.Decode(&m)
		return m, err
	}
	var table struct {
		Rows []struct {
			Object map[string]any `json:"object"`
		} `json:"rows"`
	}
	if err := o.Decode(&table); err != nil {
		return nil, err
	}
	if len(table.Rows) == 0 || table.Rows[0].Object == nil {
		return nil, errors.New("the server sent a row without its object")
	}
	m := table.Rows[0].Object
	if meta, ok := m["metadata"].(map[string]any); ok {
		delete(meta, "managedFields") // as of any other object
	}
	return m, nil
}

// objectMeta is what rows need of an object's metadata.
type objectMeta struct {
	Created string            `json:"creationTimestamp"`
	Labels  map[string]string `json:"labels"`
}

// MetaOf returns that of o, or of what the row of a Table was made of.
func MetaOf(o codec.Raw) (objectMeta, error) {
	type object struct {
		Metadata objectMeta `json:"metadata"`
	}
	if o.GetKind() != "Table" {
		var one object
		err := o.Decode(&one)
		return one.Metadata, err
	}
	var table struct {
		Rows []struct {
			Object object `json:"object"`
		} `json:"rows"`
	}
	if err := o.Decode(&table); err != nil || len(table.Rows) == 0 {
		return objectMeta{}, err
	}
	return table.Rows[0].Object.Metadata, nil
}

// CreatedOf is when the object of metaOf was made; zero where it does not say.
func CreatedOf(o codec.Raw) time.Time {
	meta, err := MetaOf(o)
	if err != nil {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, meta.Created)
	if err != nil {
		return time.Time{}
	}
	return at
}

// numbers replaces each json.Number below v by the int64 or float64 that
// kubectl makes of it.
func numbers(v any) any {
	return Leaves(v, func(v any) any {
		number, ok := v.(json.Number)
		if !ok {
			return v
		}
		if n, err := strconv.ParseInt(string(number), 10, 64); err == nil {
			return n
		}
		if f, err := number.Float64(); err == nil {
			return f
		}
		return v
	})
}

// Leaves replaces, in place, what is neither an object nor a list.
func Leaves(v any, replace func(any) any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = Leaves(e, replace)
		}
		return v
	case []any:
		for i, e := range v {
			v[i] = Leaves(e, replace)
		}
		return v
	}
	return replace(v)
}

// Raw is codec.Raw or codec.RawFull.
type Raw interface {
	kube.Object
	Identity() codec.Identity
	JSON() string
	MemorySize() int
}

// RawAs is the reverse of stream.asRaw.
func RawAs[T Raw](o codec.Raw) T {
	if o, ok := any(o).(T); ok {
		return o
	}
	return any(codec.RawFull{Raw: o}).(T)
}

// Forget removes fields from v; a path through a list goes to each element.
func Forget(v any, fields [][]string) {
	for _, path := range fields {
		forgetPath(v, path)
	}
}

func forgetPath(v any, path []string) {
	switch v := v.(type) {
	case map[string]any:
		if len(path) == 1 {
			delete(v, path[0])
			return
		}
		forgetPath(v[path[0]], path[1:])
	case []any:
		for _, e := range v {
			forgetPath(e, path)
		}
	}
}
