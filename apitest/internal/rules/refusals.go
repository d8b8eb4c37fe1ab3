package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/causes"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// Refusals collects causes, within the limits of a [causes.List].
type Refusals struct{ causes.List }

// Add adds a cause.
func (r *Refusals) Add(reason, field, message string) {
	r.List.Add(kube.StatusCause{Reason: reason, Field: field, Message: message})
}

// Required refuses a missing field.
func (r *Refusals) Required(field string, why ...string) {
	r.Add("FieldValueRequired", field, strings.Join(append([]string{"Required value"}, why...), ": "))
}

// Invalid refuses a value with a reason.
func (r *Refusals) Invalid(field string, v any, why string) {
	if !r.Full() {
		r.Add("FieldValueInvalid", field, "Invalid value: "+Show(v)+": "+why)
	}
}

// Unsupported refuses a value that is not supported.
func (r *Refusals) Unsupported(field string, v any, supported ...string) {
	if r.Full() {
		return
	}
	supported = slices.Clone(supported) // it may be shared
	for i, s := range supported {
		supported[i] = Show(s)
	}
	r.Add("FieldValueNotSupported", field, "Unsupported value: "+Show(v)+": supported values: "+strings.Join(supported, ", "))
}

// Duplicate refuses a duplicate value.
func (r *Refusals) Duplicate(field string, v any) {
	if !r.Full() {
		r.Add("FieldValueDuplicate", field, "Duplicate value: "+Show(v))
	}
}

// Show formats a value for messages.
func Show(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return string(object.Marshal(v))
}

// OneOf refuses a string that is not supported; a missing one is valid.
func (r *Refusals) OneOf(path string, m map[string]any, name string, supported ...string) {
	r.Supported(path+"."+name, TextAt(m, name), supported...)
}

// Supported refuses s unless it is empty or supported.
func (r *Refusals) Supported(field, s string, supported ...string) {
	if s != "" && !slices.Contains(supported, s) {
		r.Unsupported(field, s, supported...)
	}
}

// Natural refuses numbers below 0.
func (r *Refusals) Natural(path string, m map[string]any, names ...string) {
	for _, name := range names {
		if n, ok := m[name].(int64); ok && n < 0 {
			r.Invalid(path+"."+name, n, "must be greater than or equal to 0")
		}
	}
}

// Port refuses a number that is not a port.
func (r *Refusals) Port(field string, v any) {
	if n, ok := v.(int64); ok && (n < 1 || n > 65535) {
		r.Invalid(field, n, "must be between 1 and 65535, inclusive")
	}
}

// Each adds a cause for each text.
func (r *Refusals) Each(field string, v any, texts []string) {
	for _, text := range texts {
		r.Invalid(field, v, text)
	}
}

// ForbiddenField is the cause of a refusal of what may not be.
func ForbiddenField(field, detail string) kube.StatusCause {
	return kube.StatusCause{Reason: "FieldValueForbidden", Message: "Forbidden: " + detail, Field: field}
}

// Immutable is why a change is refused.
const Immutable = "field is immutable"

// Fixed refuses changes of members that are immutable. path is that of m; old is nil if
// there was no object before.
func (r *Refusals) Fixed(path string, m, old map[string]any, names ...string) {
	for _, name := range names {
		if old != nil && !SameValue(m[name], old[name]) {
			r.Invalid(strings.TrimPrefix(path+"."+name, "."), m[name], Immutable)
		}
	}
}

// Unchangeable refuses changes of what is immutable.
func (r *Refusals) Unchangeable(o, old map[string]any, names ...string) {
	const why = "Forbidden: field is immutable when `immutable` is set"
	if o["immutable"] != true {
		r.Add("FieldValueForbidden", "immutable", why)
	}
	for _, name := range names {
		if !EqualText(ObjectAt(o, name), ObjectAt(old, name)) {
			r.Add("FieldValueForbidden", name, why)
		}
	}
}

// NoMore refuses numbers above another.
func (r *Refusals) NoMore(status map[string]any, most string, names ...string) {
	for _, name := range names {
		if n := IntAt(status, name); n > IntAt(status, most) {
			r.Invalid("status."+name, n, "cannot be greater than status."+most)
		}
	}
}
