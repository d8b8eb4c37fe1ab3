package kinds

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/kube"
)

// Strategy is how kube-apiserver's writes of a built-in resource differ from those of most
// resources.
type Strategy struct {
	Upserts bool                       // a PUT creates a missing object
	Guarded bool                       // an update needs a resourceVersion
	Orphans bool                       // a DELETE without a propagation policy orphans the dependents
	Plain   bool                       // a DELETE ignores dependents
	name    func(name string) []string // what is wrong with a name; nil = subdomain
	counts  bool                       // has a generation although it has no spec
	hosts   string                     // what its name is used for: a warning if it is not a DNS label
}

// StrategyOf returns the strategy of r.
func StrategyOf(r *object.Info) Strategy {
	if !r.BuiltIn {
		return Strategy{Guarded: true}
	}
	return kindOf(r.Resource).Strategy
}

// NameCauses returns the causes for which the name of a new object, and its generateName, are
// refused.
func NameCauses(r *object.Info, m *object.Meta) (causes []kube.StatusCause) {
	check := StrategyOf(r).name
	if check == nil {
		check = rules.Subdomain
	}
	add := func(field, is string, wrong []string) {
		for _, text := range wrong {
			causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Message: fmt.Sprintf("Invalid value: %q: %s", is, text), Field: field})
		}
	}
	if base := m.GenerateName; base != "" {
		whole := base
		if len(base) > 1 && strings.HasSuffix(base, "-") {
			whole = base[:len(base)-2] + "a" // a generateName may end in "-", a name may not
		}
		add("metadata.generateName", base, check(whole))
	}
	if m.Name == "" {
		return append(causes, kube.StatusCause{Reason: "FieldValueRequired", Message: "Required value: name or generateName is required", Field: "metadata.name"})
	}
	add("metadata.name", m.Name, check(m.Name))
	return causes
}

// NameWarnings returns the warnings about the name of a new object.
func NameWarnings(r *object.Info, name string) []string {
	hosts := StrategyOf(r).hosts
	if hosts == "" {
		return nil
	}
	wrong := rules.LabelName(name)
	if r.Resource == kube.Jobs || r.Resource == kube.CronJobs { // the name is short, or refused
		wrong = slices.DeleteFunc(wrong, func(s string) bool { return s == rules.TooLong(63, "characters") })
	}
	if len(wrong) == 0 {
		return nil
	}
	return []string{hosts + "[" + strings.Join(wrong, " ") + "]"}
}

// podNames is the use of the names of objects that create pods.
const podNames = "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: "

// CountsGeneration reports whether o has metadata.generation.
func CountsGeneration(r *object.Info, o *object.Object) bool {
	if r.NoCount || StrategyOf(r).counts {
		return !r.NoCount
	}
	_, ok := o.Field("spec")
	return ok || !r.BuiltIn
}

// MovesGeneration reports whether an update from old to o increments the generation.
func MovesGeneration(r *object.Info, old, o *object.Object) bool {
	switch {
	case r.Plural == "priorityclasses":
		return false
	case r.Resource == kube.EndpointSlices && !bytes.Equal(object.Marshal(old.Meta.Labels), object.Marshal(o.Meta.Labels)):
		return true
	case r.Resource == kube.EndpointSlices:
		kept := *o
		NullLists(&kept, "endpoints", "ports")
		o = &kept
	}
	return !o.SameFields(old, func(name string) bool { return name != "status" || !r.BuiltIn && !r.Status })
}

// RefuseStatus validates the object of a write to its status.
func RefuseStatus(r *rules.Refusals, res kube.Resource, o map[string]any) {
	meta := rules.ObjectAt(o, "metadata")
	r.Metadata(res, meta)
	status := rules.ObjectAt(o, "status")
	r.Natural("status", status, "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas", "currentReplicas", "desiredReplicas", "active", "succeeded", "failed")
	switch res {
	case kube.Deployments:
		r.NoMore(status, "replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
	case kube.StatefulSets:
		r.NoMore(status, "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
	}
	if res == kube.Services && rules.ObjectAt(o, "spec")["type"] != "LoadBalancer" && !rules.Lacks(rules.ObjectAt(status, "loadBalancer"), "ingress") {
		r.Add("FieldValueForbidden", "status.loadBalancer.ingress", "Forbidden: may only be used when `spec.type` is 'LoadBalancer'")
	}
	if res != kube.Namespaces {
		return
	}
	phase := rules.TextAt(status, "phase")
	switch gone := rules.TextAt(meta, "deletionTimestamp") != ""; {
	case !gone && phase != "Active":
		r.Invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")
	case gone && phase != "Terminating":
		r.Invalid("status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")
	}
}
