package schema

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// goField is a field of a Go struct in kube-apiserver, for the errors that name it.
type goField struct {
	owner *node
	path  int // the length of its path
}

// member returns the field of the member name of n; within a map it is the map's.
func (f goField) member(n *node, name string, path int) goField {
	if n.declares(name) {
		return goField{n.target(), path}
	}
	return f
}

// mismatch returns the error of Go's encoding/json that the value at r.i is of
// another type than n.
func (r *reader) mismatch(n *node, at goField) error {
	t := n.target()
	if strings.HasSuffix(t.name, ".Quantity") && r.b[r.i] == '"' {
		start := r.i
		text := r.string()
		r.i = start
		if !quantity.MatchString(text) {
			return fmt.Errorf("quantities must match the regular expression '%s'", quantity)
		}
	}
	if strings.HasSuffix(t.name, ".IntOrString") {
		return r.mismatchOfInt()
	}
	if len(t.types) != 1 || strings.HasSuffix(t.name, ".Quantity") {
		return nil // any, or something that decodes itself
	}
	var word, want string
	switch c := r.b[r.i]; c {
	case 'n':
		return nil
	case '{':
		word, want = "object", "object"
	case '[':
		word, want = "array", "array"
	case '"':
		word, want = "string", "string"
	case 't', 'f':
		word, want = "bool", "boolean"
	default:
		word, want = "number", "integer"
		start := r.i
		text := r.number()
		r.i = start
		if t.is("number") {
			want = "number"
		} else if t.is("integer") {
			if !strings.ContainsAny(text, ".eE") && (t.format != "int32" || fitsInt32(text)) {
				return nil
			}
			word, want = "number "+text, ""
		}
	}
	if t.is(want) {
		if want == "string" {
			return r.checkText(t)
		}
		return nil
	}
	if at.owner == nil {
		return fmt.Errorf("json: cannot unmarshal %s into Go value of type %s", word, t.goType())
	}
	owner := at.owner.name[strings.LastIndexByte(at.owner.name, '.')+1:]
	return fmt.Errorf("json: cannot unmarshal %s into Go struct field %s.%s of type %s",
		word, owner, withoutIndexes(r.path.text[:at.path]), t.goType())
}

// mismatchOfInt is mismatch for an IntOrString, which decodes a number into an int32.
func (r *reader) mismatchOfInt() error {
	start := r.i
	text := r.number()
	r.i = start
	if text == "" || fitsInt32(text) {
		return nil
	}
	return fmt.Errorf("json: cannot unmarshal number %s into Go value of type int32", text)
}

// quantity is what kube-apiserver has quantities match, before it looks closer.
var quantity = regexp.MustCompile(`^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$`)

// checkText refuses a string that is no time or not base64.
func (r *reader) checkText(t *node) error {
	if t.format != "date-time" && t.format != "byte" {
		return nil
	}
	start := r.i
	text := r.string()
	r.i = start
	var err error
	switch {
	case t.format == "byte":
		_, err = base64.StdEncoding.DecodeString(text)
	case t.name == microTimeName:
		_, err = time.Parse("2006-01-02T15:04:05.000000Z07:00", text)
	default:
		_, err = time.Parse(time.RFC3339, text)
	}
	return err
}

func fitsInt32(text string) bool {
	_, err := strconv.ParseInt(text, 10, 32)
	return err == nil
}

// goType returns the name of the Go type of values of n.
func (n *node) goType() string {
	t := n.target()
	switch {
	case t.is("integer"):
		if t.format == "" {
			return "int64"
		}
		return t.format
	case t.is("number"):
		return "float64"
	case t.is("boolean"):
		return "bool"
	case t.is("string") && t.format == "byte":
		return "[]uint8"
	case t.is("array") && t.items != nil:
		return "[]" + t.items.goType()
	case t.is("object") && t.name != "":
		parts := strings.Split(t.name, ".")
		return strings.Join(parts[max(0, len(parts)-2):], ".")
	case t.is("object") && t.extra != nil:
		return "map[string]" + t.extra.goType()
	case t.is("string"):
		return "string"
	}
	return "map[string]interface {}"
}

func withoutIndexes(path []byte) string {
	for {
		i := bytes.IndexByte(path, '[')
		if i < 0 {
			return string(path)
		}
		j := bytes.IndexByte(path[i:], ']')
		if j < 0 {
			return string(path)
		}
		path = append(path[:i:i], path[i+j+1:]...)
	}
}
