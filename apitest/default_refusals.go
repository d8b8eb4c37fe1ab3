package apitest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// refusals collects causes.
type refusals struct{ causes []kube.StatusCause }

func (r *refusals) add(reason, field, message string) {
	r.causes = append(r.causes, kube.StatusCause{Reason: reason, Field: field, Message: message})
}

func (r *refusals) required(field string, why ...string) {
	r.add("FieldValueRequired", field, strings.Join(append([]string{"Required value"}, why...), ": "))
}

func (r *refusals) invalid(field string, v any, why string) {
	r.add("FieldValueInvalid", field, "Invalid value: "+show(v)+": "+why)
}

func (r *refusals) unsupported(field string, v any, supported ...string) {
	for i, s := range supported {
		supported[i] = show(s)
	}
	r.add("FieldValueNotSupported", field, "Unsupported value: "+show(v)+": supported values: "+strings.Join(supported, ", "))
}

func (r *refusals) duplicate(field string, v any) {
	r.add("FieldValueDuplicate", field, "Duplicate value: "+show(v))
}

// show writes a value as messages have it.
func show(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return string(object.Marshal(v))
}

// oneOf refuses a string that is not among those supported; none at all passes.
func (r *refusals) oneOf(path string, m map[string]any, name string, supported ...string) {
	r.supported(path+"."+name, string1(m, name), supported...)
}

func (r *refusals) supported(field, s string, supported ...string) {
	if s != "" && !slices.Contains(supported, s) {
		r.unsupported(field, s, supported...)
	}
}

// natural refuses numbers below 0.
func (r *refusals) natural(path string, m map[string]any, names ...string) {
	for _, name := range names {
		if n, ok := m[name].(int64); ok && n < 0 {
			r.invalid(path+"."+name, n, "must be greater than or equal to 0")
		}
	}
}

func (r *refusals) port(field string, v any) {
	if n, ok := v.(int64); ok && (n < 1 || n > 65535) {
		r.invalid(field, n, "must be between 1 and 65535, inclusive")
	}
}

// each adds a cause for each text.
func (r *refusals) each(field string, v any, texts []string) {
	for _, text := range texts {
		r.invalid(field, v, text)
	}
}

// forbiddenField is the cause of a refusal of what may not be.
func forbiddenField(field, detail string) kube.StatusCause {
	return kube.StatusCause{Reason: "FieldValueForbidden", Message: "Forbidden: " + detail, Field: field}
}
