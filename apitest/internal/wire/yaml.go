package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v2" // its layout is kube-apiserver's

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/internal/yamljson"
)

// PrefersYAML reports whether YAML is the first supported form that r accepts, and
// whether it must be of another kind, such as a Table.
func PrefersYAML(r *http.Request) (yes, as bool) {
	for _, c := range Clauses(r) {
		switch c.Type {
		case TypeYAML:
			return true, c.Params["as"] != ""
		case TypeJSON, "*/*", "application/*":
			return false, false
		}
	}
	return false, false
}

// YAMLWriter converts a JSON response to YAML; it passes on other responses. It does
// not support watches, which have no YAML form.
type YAMLWriter struct {
	http.ResponseWriter
	ErrorsAsJSON bool // a Status, which is not of the requested kind, stays JSON
	code         int
	json         bool
	body         bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (y *YAMLWriter) WriteHeader(code int) {
	y.code = code
	if y.json = y.Header().Get("Content-Type") == TypeJSON && !(y.ErrorsAsJSON && code >= 400); !y.json {
		y.ResponseWriter.WriteHeader(code)
	}
}

// Write implements http.ResponseWriter.
func (y *YAMLWriter) Write(b []byte) (int, error) {
	if y.code == 0 {
		y.WriteHeader(http.StatusOK)
	}
	if y.json {
		return y.body.Write(b)
	}
	return y.ResponseWriter.Write(b)
}

// Finish sends the buffered response.
func (y *YAMLWriter) Finish() {
	if !y.json || y.body.Len() == 0 { // a watch writes elsewhere
		return
	}
	y.Header().Set("Content-Type", TypeYAML)
	y.ResponseWriter.WriteHeader(y.code)
	out := toYAML(y.body.Bytes())
	y.body = bytes.Buffer{}     // sending may take long
	y.ResponseWriter.Write(out) // an error means that the client has left
}

// toYAML converts JSON of the server to YAML: keys sorted, long lines folded. It decodes one member
// of an object at a time, and one element of that if it is a list: decoded, they take a hundred
// times their bytes. If the indentation is far too large, the result is b, which is YAML too.
func toYAML(b []byte) []byte {
	if sprawls(b, true) {
		return b
	}
	members, err := object.Members(b)
	odd := func(m object.Member) bool {
		return m.Name == "" || len(m.Name) > 100 || strings.Trim(strings.ToLower(m.Name), letters) != ""
	}
	if err != nil || len(members) == 0 || slices.ContainsFunc(members, odd) {
		return encoded(b)
	}
	slices.SortFunc(members, func(a, b object.Member) int { return strings.Compare(a.Name, b.Name) })
	var out []byte
	for _, m := range members {
		list := m.Value
		if list[0] != '[' || list[object.SkipSpace(list, 1)] == ']' {
			out = append(out, encoded(slices.Concat([]byte(`{"`+m.Name+`":`), list, []byte("}")))...)
			continue
		}
		head := encoded([]byte(`{"` + m.Name + `":null}`))
		out = append(append(out, bytes.TrimSuffix(head, []byte(" null\n"))...), '\n')
		for at := object.SkipSpace(list, 1); list[at] != ']'; at = object.SkipSpace(list, at) {
			if list[at] == ',' {
				at = object.SkipSpace(list, at+1)
			}
			end := object.ValueEnd(list, at)
			out = append(out, encoded(slices.Concat([]byte("["), list[at:end], []byte("]")))...)
			at = end
		}
	}
	return out
}

// letters are those of names that YAML sorts as text.
const letters = "abcdefghijklmnopqrstuvwxyz"

// encoded converts JSON to YAML. The parser of YAML refuses JSON with some characters, and with
// names of more than 1,024 bytes.
func encoded(b []byte) []byte {
	v, err := schema.Decode(b)
	if err != nil { // 1e999 in a recording, which no number of ours can hold
		err = yaml.Unmarshal(b, &v)
	}
	if err != nil {
		panic(err)
	}
	out, err := yaml.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}

// FromYAML converts one YAML document to JSON. It is read as YAML 1.1, as in
// kube-apiserver, in which y, on and 0o17 have other meanings. JSON is unchanged.
//
// If a key occurs twice the last one counts; twice lists such keys.
func FromYAML(b []byte) (j []byte, twice []string, err error) {
	if t := bytes.TrimLeft(b, " \t\r\n"); len(t) > 0 && t[0] == '{' && json.Valid(t) && !repeats(t) {
		return t, nil, nil
	}
	if err := yamlWithin(b); err != nil {
		return nil, nil, err
	}
	var v any
	err = yaml.UnmarshalStrict(b, &v)
	if repeated := (*yaml.TypeError)(nil); errors.As(err, &repeated) {
		twice, v = repeated.Errors, nil
		err = yaml.Unmarshal(b, &v) // now the last one counts
	}
	if err != nil {
		return nil, nil, err
	}
	if v == nil {
		return []byte("{}"), nil, nil
	}
	if v, err = withNames(v); err != nil {
		return nil, nil, err
	}
	j, err = json.Marshal(v)
	return j, twice, err
}

// yamlLimits are the limits of a body.
var yamlLimits = yamljson.Limits{Bytes: BodyLimit, Documents: 1}

// yamlWithin returns an error if the expansion of b may exceed the limits.
func yamlWithin(b []byte) error {
	_, err := yamljson.NewDecoder(b, yamlLimits).Node()
	if beyond := (*yamljson.Error)(nil); errors.As(err, &beyond) {
		return beyond
	}
	return nil // other errors are reported by the parser of version 1.1
}

// repeats reports whether an object in b, which is valid JSON, has a duplicate name.
func repeats(b []byte) bool {
	if b[0] != '{' && b[0] != '[' {
		return false
	}
	seen := make(map[string]bool)
	for at := object.SkipSpace(b, 1); b[at] != '}' && b[at] != ']'; at = object.SkipSpace(b, at) {
		if b[at] == ',' {
			at = object.SkipSpace(b, at+1)
		}
		if b[0] == '{' {
			end := object.ValueEnd(b, at)
			name := string(b[at:end])
			if seen[name] {
				return true
			}
			seen[name] = true
			at = object.SkipSpace(b, object.SkipSpace(b, end)+1) // behind the colon
		}
		end := object.ValueEnd(b, at)
		if repeats(b[at:end]) {
			return true
		}
		at = end
	}
	return false
}

// withNames converts the keys of maps to strings.
func withNames(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case map[any]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			switch k.(type) {
			case string, bool, int, int64, uint64, float64:
			default:
				return nil, fmt.Errorf("a key of the type %T, which JSON has not", k)
			}
			if m[fmt.Sprint(k)], err = withNames(e); err != nil {
				return nil, err
			}
		}
		return m, nil
	case []any:
		for i, e := range v {
			if v[i], err = withNames(e); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
