package kinds

import (
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// Refusals collects causes.
type Refusals struct{ Causes []kube.StatusCause }

func (r *Refusals) add(reason, field, message string) {
	r.Causes = append(r.Causes, kube.StatusCause{Reason: reason, Field: field, Message: message})
}

func (r *Refusals) required(field string, why ...string) {
	r.add("FieldValueRequired", field, strings.Join(append([]string{"Required value"}, why...), ": "))
}

func (r *Refusals) invalid(field string, v any, why string) {
	r.add("FieldValueInvalid", field, "Invalid value: "+show(v)+": "+why)
}

func (r *Refusals) unsupported(field string, v any, supported ...string) {
	for i, s := range supported {
		supported[i] = show(s)
	}
	r.add("FieldValueNotSupported", field, "Unsupported value: "+show(v)+": supported values: "+strings.Join(supported, ", "))
}

func (r *Refusals) duplicate(field string, v any) {
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
func (r *Refusals) oneOf(path string, m map[string]any, name string, supported ...string) {
	r.supported(path+"."+name, TextAt(m, name), supported...)
}

func (r *Refusals) supported(field, s string, supported ...string) {
	if s != "" && !slices.Contains(supported, s) {
		r.unsupported(field, s, supported...)
	}
}

// natural refuses numbers below 0.
func (r *Refusals) natural(path string, m map[string]any, names ...string) {
	for _, name := range names {
		if n, ok := m[name].(int64); ok && n < 0 {
			r.invalid(path+"."+name, n, "must be greater than or equal to 0")
		}
	}
}

func (r *Refusals) port(field string, v any) {
	if n, ok := v.(int64); ok && (n < 1 || n > 65535) {
		r.invalid(field, n, "must be between 1 and 65535, inclusive")
	}
}

// each adds a cause for each text.
func (r *Refusals) each(field string, v any, texts []string) {
	for _, text := range texts {
		r.invalid(field, v, text)
	}
}

// ForbiddenField is the cause of a refusal of what may not be.
func ForbiddenField(field, detail string) kube.StatusCause {
	return kube.StatusCause{Reason: "FieldValueForbidden", Message: "Forbidden: " + detail, Field: field}
}

const immutable = "field is immutable"

// unchangeable refuses changes of what is immutable.
func (r *Refusals) unchangeable(o, old map[string]any, names ...string) {
	const why = "Forbidden: field is immutable when `immutable` is set"
	if o["immutable"] != true {
		r.add("FieldValueForbidden", "immutable", why)
	}
	for _, name := range names {
		if !equalText(ObjectAt(o, name), ObjectAt(old, name)) {
			r.add("FieldValueForbidden", name, why)
		}
	}
}

// noMore refuses numbers above another.
func (r *Refusals) noMore(status map[string]any, most string, names ...string) {
	for _, name := range names {
		if n := IntAt(status, name); n > IntAt(status, most) {
			r.invalid("status."+name, n, "cannot be greater than status."+most)
		}
	}
}

// Status refuses what is wrong with the object of a write to its status.
func (r *Refusals) Status(res kube.Resource, o map[string]any) {
	meta := ObjectAt(o, "metadata")
	r.Metadata(res, meta)
	status := ObjectAt(o, "status")
	r.natural("status", status, "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas", "currentReplicas", "desiredReplicas", "active", "succeeded", "failed")
	switch res {
	case kube.Deployments:
		r.noMore(status, "replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
	case kube.StatefulSets:
		r.noMore(status, "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
	}
	if res == kube.Services && ObjectAt(o, "spec")["type"] != "LoadBalancer" && !Lacks(ObjectAt(status, "loadBalancer"), "ingress") {
		r.add("FieldValueForbidden", "status.loadBalancer.ingress", "Forbidden: may only be used when `spec.type` is 'LoadBalancer'")
	}
	if res != kube.Namespaces {
		return
	}
	phase := TextAt(status, "phase")
	switch gone := TextAt(meta, "deletionTimestamp") != ""; {
	case !gone && phase != "Active":
		r.invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")
	case gone && phase != "Terminating":
		r.invalid("status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")
	}
}
