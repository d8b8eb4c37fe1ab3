package kinds

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/schema"
	"github.com/listwatch/listwatch/kube"
)

// What may not change.

// MetaCauses says what an update may not set: when an object is to be gone is said
// by a DELETE, and what is to wait for has been said by then.
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
	more := slices.DeleteFunc(slices.Clone(o.Finalizers), func(s string) bool { return slices.Contains(old.Finalizers, s) })
	if old.DeletionTimestamp != "" && len(more) > 0 {
		slices.Sort(more)
		causes = append(causes, ForbiddenField("metadata.finalizers",
			fmt.Sprintf("no new finalizers can be added if the object is being deleted, found new finalizers %#v", more)))
	}
	return causes
}

// SameValue reports whether two values are equal, where none and an empty one are.
func SameValue(a, b any) bool {
	return reflect.DeepEqual(a, b) || nothing(a) && nothing(b)
}

func nothing(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil
}

const podMayChange = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`," +
	"`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

// podUpdate refuses changes of a pod but for the few that its kubelet can follow.
// kube-apiserver adds a diff of the two in Go's names, which is left out.
func (r *Refusals) podUpdate(spec, old map[string]any) {
	for _, name := range [...]string{"containers", "initContainers"} {
		list, before := ListAt(spec, name), ListAt(old, name)
		if len(list) != len(before) {
			r.add("FieldValueForbidden", "spec."+name, "Forbidden: pod updates may not add or remove containers")
			return
		}
	}
	const field = "spec.activeDeadlineSeconds"
	is, set := spec["activeDeadlineSeconds"].(int64)
	was, had := old["activeDeadlineSeconds"].(int64)
	switch {
	case set && (is < 0 || is > math.MaxInt32):
		r.invalid(field, is, "must be between 0 and 2147483647, inclusive")
		return
	case set && had && was < is:
		r.invalid(field, is, "must be less than or equal to previous value")
		return
	case had && !set:
		r.invalid(field, nil, "must not update from a positive integer to nil value")
	}
	r.onlyMore(ListAt(spec, "tolerations"), ListAt(old, "tolerations"))
	if !SameValue(settledPod(spec), settledPod(old)) {
		r.add("FieldValueForbidden", "spec", "Forbidden: "+podMayChange)
	}
}

// onlyMore refuses the loss of a toleration.
func (r *Refusals) onlyMore(list, old []any) {
	for _, o := range old {
		found := false
		for _, e := range list {
			a, _ := schema.Copy(e).(map[string]any)
			b, _ := schema.Copy(o).(map[string]any)
			delete(a, "tolerationSeconds")
			delete(b, "tolerationSeconds")
			found = found || SameValue(a, b)
		}
		if !found {
			r.add("FieldValueForbidden", "spec.tolerations", "Forbidden: existing toleration can not be modified except its tolerationSeconds")
			return
		}
	}
}

// settledPod returns a copy of spec without what may change.
func settledPod(spec map[string]any) map[string]any {
	c := schema.Copy(spec)
	delete(c, "activeDeadlineSeconds")
	delete(c, "tolerations")
	for _, name := range [...]string{"containers", "initContainers"} {
		for e := range ObjectsAt(c, name) {
			delete(e, "image")
		}
	}
	return c
}

// jobUpdate refuses changes of what a Job runs. The value is in the names of JSON,
// where kube-apiserver has those of Go. While a Job is suspended and none of its pods
// runs, where they are to run and what they need may change.
func (r *Refusals) jobUpdate(spec, old, status map[string]any) {
	if !SameValue(spec["selector"], old["selector"]) {
		r.invalid("spec.selector", spec["selector"], immutable)
	}
	template, was := ObjectAt(spec, "template"), ObjectAt(old, "template")
	switch waits := waiting(old, status); {
	case waits && !SameValue(ObjectAt(settledTemplate(template), "spec"), ObjectAt(settledTemplate(was), "spec")):
		r.invalid("spec.template.spec", template["spec"], immutable)
	case !waits && !SameValue(template, was):
		r.invalid("spec.template", template, immutable)
	}
	if !SameValue(spec["completionMode"], old["completionMode"]) {
		r.invalid("spec.completionMode", spec["completionMode"], immutable)
	}
}

// waiting reports whether a Job is suspended and has no pods.
func waiting(spec, status map[string]any) bool {
	suspended := status["startTime"] == nil
	for c := range ObjectsAt(status, "conditions") {
		suspended = suspended || c["type"] == "Suspended" && c["status"] == "True"
	}
	active, _ := status["active"].(int64)
	return spec["suspend"] == true && suspended && active == 0
}

// settledTemplate returns a copy without what may change while a Job waits.
func settledTemplate(template map[string]any) map[string]any {
	c := schema.Copy(template)
	spec := ObjectAt(c, "spec")
	for _, name := range [...]string{"nodeSelector", "tolerations", "schedulingGates"} {
		delete(spec, name)
	}
	if affinity := ObjectAt(spec, "affinity"); affinity != nil {
		if delete(affinity, "nodeAffinity"); len(affinity) == 0 {
			delete(spec, "affinity")
		}
	}
	for _, name := range [...]string{"containers", "initContainers"} {
		for e := range ObjectsAt(spec, name) {
			delete(e, "resources")
		}
	}
	return c
}

func (r *Refusals) lease(spec map[string]any) {
	if n, ok := spec["leaseDurationSeconds"].(int64); ok && n <= 0 {
		r.invalid("spec.leaseDurationSeconds", n, "must be greater than 0")
	}
	if n, ok := spec["leaseTransitions"].(int64); ok && n < 0 {
		r.invalid("spec.leaseTransitions", n, "must be greater than or equal to 0")
	}
}

func (r *Refusals) storageClass(o, old map[string]any) {
	r.supported("reclaimPolicy", TextAt(o, "reclaimPolicy"), "Delete", "Retain")
	r.supported("volumeBindingMode", TextAt(o, "volumeBindingMode"), "Immediate", "WaitForFirstConsumer")
	if TextAt(o, "provisioner") == "" {
		r.required("provisioner")
	}
	if old == nil {
		return
	}
	for _, name := range [...]string{"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"} {
		if !SameValue(o[name], old[name]) {
			r.invalid(name, nil, immutable)
		}
	}
}

func (r *Refusals) endpointSlice(o, old map[string]any) {
	typ := TextAt(o, "addressType")
	if typ == "" {
		r.required("addressType")
	}
	r.supported("addressType", typ, "FQDN", "IPv4", "IPv6")
	if old != nil && typ != TextAt(old, "addressType") {
		r.invalid("addressType", nil, immutable)
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

// mostPriority is the highest priority of users; system classes are above.
const mostPriority = 1_000_000_000

func (r *Refusals) priorityClass(o, old map[string]any) {
	if old != nil {
		if IntAt(o, "value") != IntAt(old, "value") {
			r.add("FieldValueForbidden", "value", "Forbidden: may not be changed in an update.")
		}
		if !SameValue(o["preemptionPolicy"], old["preemptionPolicy"]) {
			r.invalid("preemptionPolicy", o["preemptionPolicy"], immutable)
		}
		return
	}
	if IntAt(o, "value") > mostPriority {
		r.add("FieldValueForbidden", "value", fmt.Sprintf("Forbidden: maximum allowed value of a user defined priority is %d", mostPriority))
	}
	r.supported("preemptionPolicy", TextAt(o, "preemptionPolicy"), "PreemptLowerPriority", "Never")
}
