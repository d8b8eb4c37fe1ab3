package rules

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

const (
	// MaxGenerated limits the used part of a generateName.
	MaxGenerated = 58

	// maxAnnotations limits the bytes of all annotations of an object, keys included.
	maxAnnotations = 256 << 10

	// mostWarnings limits those about finalizers: a response has room for fewer.
	mostWarnings = 100
)

// Metadata refuses invalid metadata of any object, except names.
func (r *Refusals) Metadata(res kube.Resource, meta map[string]any) {
	r.Labels("metadata.labels", ObjectAt(meta, "labels"))
	annotations, size := ObjectAt(meta, "annotations"), 0
	for key := range KeysOf(annotations) {
		r.Each("metadata.annotations", key, QualifiedName(strings.ToLower(key)))
		size += len(key) + len(TextAt(annotations, key))
	}
	if size > maxAnnotations {
		r.Add("FieldValueTooLong", "metadata.annotations", fmt.Sprintf("Too long: may not be more than %d bytes", maxAnnotations))
	}
	for i, e := range ListAt(meta, "finalizers") {
		name, _ := e.(string)
		wrong := QualifiedName(name)
		r.Each("metadata.finalizers", name, wrong)
		if !strings.Contains(name, "/") && !standardFinalizer(name) && !anyFinalizer(res) {
			r.Invalid(fmt.Sprintf("metadata.finalizers[%d]", i), name, "name is neither a standard finalizer name nor is it fully qualified")
		}
	}
	if list := ListAt(meta, "finalizers"); slices.Contains(list, any("orphan")) && slices.Contains(list, any("foregroundDeletion")) {
		r.Invalid("metadata.finalizers", list, "finalizer orphan and foregroundDeletion cannot be both set")
	}
	for i, e := range ListAt(meta, "ownerReferences") {
		ref, _ := e.(map[string]any)
		for _, name := range [...]string{"apiVersion", "kind", "name", "uid"} {
			if TextAt(ref, name) == "" {
				r.Required(fmt.Sprintf("metadata.ownerReferences[%d].%s", i, name), "must not be empty")
			}
		}
		if TextAt(ref, "apiVersion") == "v1" && TextAt(ref, "kind") == "Event" {
			r.Invalid(fmt.Sprintf("metadata.ownerReferences[%d]", i), ref, "/v1, Kind=Event is disallowed from being an owner")
		}
	}
	r.controllers(ListAt(meta, "ownerReferences"))
}

// anyFinalizer reports whether finalizers of res need not be qualified: those of newer
// groups and custom resources.
func anyFinalizer(res kube.Resource) bool {
	switch res.Group {
	case "coordination.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io":
		return true
	}
	_, err := object.Types().Type(res)
	return err != nil
}

// standardFinalizer reports whether a finalizer is one of Kubernetes' own.
func standardFinalizer(name string) bool {
	return name == "orphan" || name == "foregroundDeletion" || name == "kubernetes"
}

// controllers refuses several controlling owners.
func (r *Refusals) controllers(refs []any) {
	first, shown := "", sync.OnceValue(func() any { return ownersInOrder(refs) })
	for _, e := range refs {
		if r.Full() {
			return
		}
		ref, _ := e.(map[string]any)
		name := TextAt(ref, "kind") + "/" + TextAt(ref, "name")
		switch {
		case ref["controller"] != true:
		case first == "":
			first = name
		default:
			r.Invalid("metadata.ownerReferences", shown(), `Only one reference can have Controller set to true. Found "true" in references for `+first+" and "+name)
		}
	}
}

// ownersInOrder returns owner references with their members in kube-apiserver's order.
func ownersInOrder(refs []any) any {
	var list []struct {
		APIVersion         string `json:"apiVersion"`
		Kind               string `json:"kind"`
		Name               string `json:"name"`
		UID                string `json:"uid"`
		Controller         *bool  `json:"controller,omitempty"`
		BlockOwnerDeletion *bool  `json:"blockOwnerDeletion,omitempty"`
	}
	columns.DecodeLenient(object.Marshal(refs), &list)
	return list
}

// Labels refuses labels with invalid keys or values.
func (r *Refusals) Labels(field string, labels map[string]any) {
	for key := range KeysOf(labels) {
		r.Each(field, key, QualifiedName(key))
		v, _ := labels[key].(string)
		r.Each(field, v, LabelValue(v))
	}
}

// KeysOf iterates over the keys of m in order.
func KeysOf(m map[string]any) iter.Seq[string] {
	if len(m) == 0 {
		return func(func(string) bool) {}
	}
	return slices.Values(object.SortedKeys(m))
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// MetaCauses returns errors for fields that an update must not set: a DELETE sets the
// time of the deletion, and finalizers are fixed by then.
func MetaCauses(old, o *object.Meta) (causes []kube.StatusCause) {
	if o.UID != "" && o.UID != old.UID {
		causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Field: "metadata.uid",
			Message: fmt.Sprintf("Invalid value: %q: field is immutable", o.UID)})
	}
	if old.DeletionTimestamp == "" && o.DeletionTimestamp != "" {
		causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Field: "metadata.deletionTimestamp",
			Message: fmt.Sprintf("Invalid value: %q: field is immutable", o.DeletionTimestamp)})
	}
	if n := o.DeletionGracePeriodSeconds; old.DeletionGracePeriodSeconds == nil && n != nil {
		causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Field: "metadata.deletionGracePeriodSeconds",
			Message: fmt.Sprintf("Invalid value: %d: field is immutable", *n)})
	}
	had := setOf(old.Finalizers)
	more := slices.DeleteFunc(slices.Clone(o.Finalizers), func(s string) bool { return had[s] })
	if old.DeletionTimestamp != "" && len(more) > 0 {
		slices.Sort(more)
		causes = append(causes, ForbiddenField("metadata.finalizers",
			fmt.Sprintf("no new finalizers can be added if the object is being deleted, found new finalizers %#v", more)))
	}
	return causes
}

// FinalizerWarnings returns warnings for new finalizers of o that may conflict with
// others, because they are not qualified: as many as a response can have. old may be nil. o
// is a custom resource: other resources refuse them.
func FinalizerWarnings(old, o *object.Object) (warnings []string) {
	var had map[string]bool
	if old != nil {
		had = setOf(old.Meta.Finalizers)
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(o.Meta.Finalizers))) {
		if standardFinalizer(name) || strings.Contains(name, "/") || had[name] {
			continue
		}
		if len(warnings) == mostWarnings {
			break
		}
		how := ""
		if strings.Contains(name, ".") {
			how = "including a path (/) "
		}
		warnings = append(warnings, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name %sto avoid accidental conflicts with other finalizer writers", name, how))
	}
	return warnings
}
