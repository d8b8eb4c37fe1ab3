package pods

import (
	"fmt"

	"github.com/listwatch/listwatch/apitest/internal/rules"
)

// refuseScheduling validates the members that limit where a pod may run.
func refuseScheduling(r *rules.Refusals, path string, spec map[string]any) {
	r.Labels(path+".nodeSelector", rules.ObjectAt(spec, "nodeSelector"))
	r.Tolerations(path, spec)
	refuseSpread(r, path, spec)
	affinity, at := rules.ObjectAt(spec, "affinity"), path+".affinity"
	if node := rules.ObjectAt(affinity, "nodeAffinity"); node != nil {
		const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
		if s := rules.ObjectAt(node, required); s != nil {
			r.NodeSelector(at+".nodeAffinity."+required, s)
		}
		for at, t := range rules.Elements(at+".nodeAffinity", node, preferred) {
			refuseWeight(r, at, t)
			r.NodeTerm(at+".preference", rules.ObjectAt(t, "preference"))
		}
	}
	for _, name := range [...]string{"podAffinity", "podAntiAffinity"} {
		refusePodAffinity(r, at+"."+name, rules.ObjectAt(affinity, name))
	}
	seen := map[string]bool{}
	for at, g := range rules.Elements(path, spec, "schedulingGates") {
		name := rules.TextAt(g, "name")
		r.Each(at, name, rules.QualifiedName(name))
		if seen[name] {
			r.Duplicate(at, name)
		}
		seen[name] = true
	}
	for at, g := range rules.Elements(path, spec, "readinessGates") {
		name := rules.TextAt(g, "conditionType")
		r.Each(at+".conditionType", name, rules.QualifiedName(name))
	}
}

func refuseWeight(r *rules.Refusals, at string, t map[string]any) {
	if n := rules.IntAt(t, "weight"); n < 1 || n > 100 {
		r.Invalid(at+".weight", n, "must be in the range 1-100")
	}
}

func refusePodAffinity(r *rules.Refusals, path string, a map[string]any) {
	for at, t := range rules.Elements(path, a, "requiredDuringSchedulingIgnoredDuringExecution") {
		refuseAffinityTerm(r, at, t)
	}
	for at, t := range rules.Elements(path, a, "preferredDuringSchedulingIgnoredDuringExecution") {
		refuseWeight(r, at, t)
		refuseAffinityTerm(r, at+".podAffinityTerm", rules.ObjectAt(t, "podAffinityTerm"))
	}
}

func refuseAffinityTerm(r *rules.Refusals, at string, t map[string]any) {
	r.LabelSelector(at+".labelSelector", rules.ObjectAt(t, "labelSelector"))
	r.LabelSelector(at+".namespaceSelector", rules.ObjectAt(t, "namespaceSelector"))
	for _, name := range rules.Texts(at, t, "namespaces") {
		r.Each(at+".namespace", name, rules.LabelName(name))
	}
	key := rules.TextAt(t, "topologyKey")
	if key == "" {
		r.Required(at+".topologyKey", "can not be empty")
	}
	r.Each(at+".topologyKey", key, rules.QualifiedName(key))
}

func refuseSpread(r *rules.Refusals, path string, spec map[string]any) {
	pairOf := func(c map[string]any) string {
		return fmt.Sprintf("{%s, %s}", rules.TextAt(c, "topologyKey"), rules.TextAt(c, "whenUnsatisfiable"))
	}
	left := map[string]int{}
	for c := range rules.ObjectsAt(spec, "topologySpreadConstraints") {
		left[pairOf(c)]++
	}
	for at, c := range rules.Elements(path, spec, "topologySpreadConstraints") {
		action := rules.TextAt(c, "whenUnsatisfiable")
		if n := rules.IntAt(c, "maxSkew"); n < 1 {
			r.Invalid(at+".maxSkew", n, "must be greater than zero")
		}
		r.Needed(at, c, "topologyKey")
		if action != "DoNotSchedule" && action != "ScheduleAnyway" {
			r.Unsupported(at+".whenUnsatisfiable", action, "DoNotSchedule", "ScheduleAnyway")
		}
		pair := pairOf(c)
		if left[pair]--; left[pair] > 0 {
			r.Duplicate(at+".{topologyKey, whenUnsatisfiable}", pair)
		}
		if n, ok := c["minDomains"].(int64); ok {
			if n < 1 {
				r.Invalid(at+".minDomains", n, "must be greater than zero")
			}
			if action != "DoNotSchedule" {
				r.Invalid(at+".minDomains", n, "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not "+action)
			}
		}
		for _, name := range [...]string{"nodeAffinityPolicy", "nodeTaintsPolicy"} {
			if s, ok := c[name].(string); ok && s != "Honor" && s != "Ignore" {
				r.Unsupported(at+"."+name, s, "Honor", "Ignore")
			}
		}
		if !rules.Lacks(c, "matchLabelKeys") && rules.ObjectAt(c, "labelSelector") == nil {
			r.Forbidden(at+".matchLabelKeys", "must not be specified when labelSelector is not set")
		}
		for field, key := range rules.Texts(at, c, "matchLabelKeys") {
			r.Each(field, key, rules.QualifiedName(key))
		}
		r.LabelSelector(at+".labelSelector", rules.ObjectAt(c, "labelSelector"))
	}
}
