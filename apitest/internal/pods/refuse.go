package pods

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/schema"
)

// Refuse validates the spec of a pod.
func Refuse(r *rules.Refusals, path string, spec map[string]any) {
	volumes := mounts(refuseVolumes(r, path, spec))
	if rules.Lacks(spec, "containers") {
		r.Required(path + ".containers")
	}
	names := make(map[string]bool)
	for _, list := range [...]string{"containers", "initContainers"} {
		for at, c := range rules.Elements(path, spec, list) {
			refuseName(r, at+".name", rules.TextAt(c, "name"), names)
			refuseRestarts(r, at, c)
			if list == "initContainers" && c["restartPolicy"] != "Always" {
				c = withoutHooks(r, at, c)
			}
			refuseContainer(r, at, c, volumes)
		}
	}
	if n, ok := spec["activeDeadlineSeconds"].(int64); ok && (n < 1 || n > math.MaxInt32) {
		r.Invalid(path+".activeDeadlineSeconds", n, "must be between 1 and 2147483647, inclusive")
	}
	r.OneOf(path, spec, "restartPolicy", "Always", "OnFailure", "Never")
	refuseHostPorts(r, path, spec)
	refuseNetwork(r, path, spec)
	refuseSecurity(r, path+".securityContext", rules.ObjectAt(spec, "securityContext"))
	refuseScheduling(r, path, spec)
	for _, name := range [...]string{"serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"} {
		r.Maybe(path, spec, name, rules.Subdomain)
	}
	if os := rules.ObjectAt(spec, "os"); os != nil {
		switch name := rules.TextAt(os, "name"); name {
		case "":
			r.Required(path + ".os.name")
		case "linux", "windows":
		default:
			r.Unsupported(path+".os", name, "linux", "windows")
		}
	}
}

// refuseHostPorts refuses ports of the host that several containers use, and those that the
// network of the host cannot map.
func refuseHostPorts(r *rules.Refusals, path string, spec map[string]any) {
	used := map[string]bool{}
	for at, c := range rules.Elements(path, spec, "containers") {
		for at, p := range rules.Elements(at, c, "ports") {
			host := rules.IntAt(p, "hostPort")
			if host == 0 {
				continue
			}
			if spec["hostNetwork"] == true && host != rules.IntAt(p, "containerPort") {
				r.Invalid(at+".hostPort", host, "must match `containerPort` when `hostNetwork` is true")
			}
			port := fmt.Sprintf("%s/%s/%d", rules.TextAt(p, "protocol"), rules.TextAt(p, "hostIP"), host)
			if used[port] {
				r.Duplicate(at+".hostPort", port)
			}
			used[port] = true
		}
	}
}

// refuseNetwork validates the host names and DNS settings of a pod.
func refuseNetwork(r *rules.Refusals, path string, spec map[string]any) {
	r.OneOf(path, spec, "dnsPolicy", "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
	config := rules.ObjectAt(spec, "dnsConfig")
	if rules.TextAt(spec, "dnsPolicy") == "None" {
		if config == nil {
			r.Required(path+".dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None")
		} else if rules.Lacks(config, "nameservers") {
			r.Required(path+".dnsConfig.nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None")
		}
	}
	at := path + ".dnsConfig"
	for field, s := range rules.Texts(at, config, "nameservers") {
		r.IP(field, s)
	}
	for field, s := range rules.Texts(at, config, "searches") {
		if s != "." {
			s = strings.TrimSuffix(s, ".")
			r.Each(field, s, rules.Subdomain(strings.ReplaceAll(s, "_", "-")))
		}
	}
	for at, o := range rules.Elements(at, config, "options") {
		if rules.TextAt(o, "name") == "" {
			r.Required(at, "must not be empty")
		}
	}
	r.Maybe(path, spec, "hostname", rules.LabelName)
	r.Maybe(path, spec, "subdomain", rules.LabelName)
	for at, a := range rules.Elements(path, spec, "hostAliases") {
		r.IP(at+".ip", rules.TextAt(a, "ip"))
		for field, s := range rules.Texts(at, a, "hostnames") {
			r.Each(field, s, rules.Subdomain(s))
		}
	}
}

// RefuseImages refuses images with spaces around them, which templates may have.
func RefuseImages(r *rules.Refusals, path string, spec map[string]any) {
	for _, list := range [...]string{"containers", "initContainers"} {
		for at, c := range rules.Elements(path, spec, list) {
			if image := rules.TextAt(c, "image"); image != strings.TrimSpace(image) {
				r.Invalid(at+".image", image, "must not have leading or trailing whitespace")
			}
		}
	}
}

// refuseName refuses a name that is missing, not a label, or used already; it records the
// name.
func refuseName(r *rules.Refusals, field, name string, seen map[string]bool) {
	switch wrong := rules.LabelName(name); {
	case name == "":
		r.Required(field)
	case len(wrong) > 0:
		r.Each(field, name, wrong)
	case seen[name]:
		r.Duplicate(field, name)
	}
	seen[name] = true
}

// RefuseEphemeral validates debug containers, and refuses the removal or change of one.
func RefuseEphemeral(r *rules.Refusals, spec, old map[string]any) {
	const path = "spec.ephemeralContainers"
	names, volumes := map[string]bool{}, mounts{}
	for _, list := range ContainerLists[:2] {
		for c := range rules.ObjectsAt(spec, list) {
			names[rules.TextAt(c, "name")] = true
		}
	}
	for v := range rules.ObjectsAt(spec, "volumes") {
		volumes[rules.TextAt(v, "name")] = v
	}
	list := rules.ListAt(spec, "ephemeralContainers")
	for i, e := range list {
		c, _ := e.(map[string]any)
		at := fmt.Sprintf("%s[%d]", path, i)
		refuseName(r, at+".name", rules.TextAt(c, "name"), names)
		refuseContainer(r, at, c, volumes)
	}
	if len(r.Causes) > 0 {
		return
	}
	for before := range rules.ObjectsAt(old, "ephemeralContainers") {
		i := slices.IndexFunc(list, func(e any) bool {
			c, _ := e.(map[string]any)
			return c["name"] == before["name"]
		})
		switch {
		case i < 0:
			r.Add("FieldValueForbidden", path, fmt.Sprintf("Forbidden: existing ephemeral containers %q may not be removed\n", before["name"]))
		case !rules.SameValue(list[i], before):
			r.Add("FieldValueForbidden", path, fmt.Sprintf("Forbidden: existing ephemeral containers %q may not be changed\n", before["name"]))
		}
	}
}

// RefuseResized refuses a change of the QoS class.
func RefuseResized(r *rules.Refusals, spec, old map[string]any) {
	if was := QOSClass(old); QOSClass(spec) != was {
		r.Invalid("spec", was, "Pod QOS Class may not change as a result of resizing")
	}
}

const podMayChange = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`," +
	"`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

// RefuseUpdate refuses all changes of a pod except the few that a kubelet can apply.
// kube-apiserver adds a diff of the two in Go's names, which is left out.
func RefuseUpdate(r *rules.Refusals, spec, old map[string]any) {
	for _, name := range [...]string{"containers", "initContainers"} {
		list, before := rules.ListAt(spec, name), rules.ListAt(old, name)
		if len(list) != len(before) {
			r.Add("FieldValueForbidden", "spec."+name, "Forbidden: pod updates may not add or remove containers")
			return
		}
	}
	const field = "spec.activeDeadlineSeconds"
	is, set := spec["activeDeadlineSeconds"].(int64)
	was, had := old["activeDeadlineSeconds"].(int64)
	switch {
	case set && (is < 0 || is > math.MaxInt32):
		r.Invalid(field, is, "must be between 0 and 2147483647, inclusive")
		return
	case set && had && was < is:
		r.Invalid(field, is, "must be less than or equal to previous value")
		return
	case had && !set:
		r.Invalid(field, nil, "must not update from a positive integer to nil value")
	}
	gated := !rules.Lacks(old, "schedulingGates")
	refuseMoreGates(r, rules.ListAt(spec, "schedulingGates"), rules.ListAt(old, "schedulingGates"))
	if gated {
		refuseWider(r, spec, old)
	}
	refuseFewerTolerations(r, rules.ListAt(spec, "tolerations"), rules.ListAt(old, "tolerations"))
	if !rules.SameValue(settledPod(spec, gated), settledPod(old, gated)) {
		r.Add("FieldValueForbidden", "spec", "Forbidden: "+podMayChange)
	}
}

// refuseFewerTolerations refuses the loss of a toleration.
func refuseFewerTolerations(r *rules.Refusals, list, old []any) {
	for _, o := range old {
		found := false
		for _, e := range list {
			a, _ := schema.Copy(e).(map[string]any)
			b, _ := schema.Copy(o).(map[string]any)
			delete(a, "tolerationSeconds")
			delete(b, "tolerationSeconds")
			found = found || rules.SameValue(a, b)
		}
		if !found {
			r.Add("FieldValueForbidden", "spec.tolerations", "Forbidden: existing toleration can not be modified except its tolerationSeconds")
			return
		}
	}
}

// refuseMoreGates refuses scheduling gates that were not there before.
func refuseMoreGates(r *rules.Refusals, list, old []any) {
	for i, e := range list {
		if !slices.ContainsFunc(old, func(o any) bool { return rules.SameValue(o, e) }) {
			g, _ := e.(map[string]any)
			r.Add("FieldValueForbidden", fmt.Sprintf("spec.schedulingGates[%d].name", i),
				fmt.Sprintf("Forbidden: only deletion is allowed, but found new scheduling gate '%s'", rules.TextAt(g, "name")))
		}
	}
}

// refuseWider refuses that a gated pod may run where it could not before: its node selector
// and each term of its required node affinity may only grow.
func refuseWider(r *rules.Refusals, spec, old map[string]any) {
	selector := rules.ObjectAt(spec, "nodeSelector")
	for name, v := range rules.ObjectAt(old, "nodeSelector") {
		if selector[name] != v {
			r.Invalid("spec.nodeSelector", selector, "only additions to spec.nodeSelector are allowed (no mutations or deletions)")
			break
		}
	}
	const path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
	before := requiredTerms(old)
	if before == nil {
		return
	}
	terms := requiredTerms(spec)
	if len(terms) != len(before) {
		r.Invalid(path+".nodeSelectorTerms", terms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
		return
	}
	for i := range terms {
		is, _ := terms[i].(map[string]any)
		was, _ := before[i].(map[string]any)
		for _, name := range [...]string{"matchExpressions", "matchFields"} {
			list, kept := rules.ListAt(is, name), rules.ListAt(was, name)
			if len(is) == 0 != (len(was) == 0) || len(list) < len(kept) || !rules.SameValue(list[:len(kept)], kept) {
				r.Invalid(fmt.Sprintf("%s.nodeSelectorTerms[%d]", path, i), is, "only additions are allowed (no mutations or deletions)")
				break
			}
		}
	}
}

// requiredTerms returns the terms of the required node affinity.
func requiredTerms(spec map[string]any) []any {
	affinity := rules.ObjectAt(rules.ObjectAt(spec, "affinity"), "nodeAffinity")
	return rules.ListAt(rules.ObjectAt(affinity, "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms")
}

// settledPod returns a copy of spec without what may change, while the pod waits for gates
// also where it may run.
func settledPod(spec map[string]any, gated bool) map[string]any {
	c := schema.Copy(spec)
	for _, name := range [...]string{"activeDeadlineSeconds", "tolerations", "schedulingGates"} {
		delete(c, name)
	}
	if gated {
		delete(c, "nodeSelector")
		if a := rules.ObjectAt(c, "affinity"); a != nil {
			if delete(a, "nodeAffinity"); len(a) == 0 {
				delete(c, "affinity")
			}
		}
	}
	for _, name := range [...]string{"containers", "initContainers"} {
		for e := range rules.ObjectsAt(c, name) {
			delete(e, "image")
		}
	}
	return c
}

// NewStatus returns the status of a new Pod.
func NewStatus(o map[string]any) map[string]any {
	spec := rules.ObjectAt(o, "spec")
	status := map[string]any{"phase": "Pending", "qosClass": QOSClass(spec)}
	if !rules.Lacks(spec, "schedulingGates") {
		status["conditions"] = []any{map[string]any{
			"type": "PodScheduled", "status": "False", "lastProbeTime": nil, "lastTransitionTime": object.Timestamp(),
			"reason": "SchedulingGated", "message": "Scheduling is blocked due to non-empty scheduling gates"}}
	}
	return status
}

// QOSClass returns the QoS class of a pod, from the requests and limits of its containers
// or of the whole pod. See
// https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/.
func QOSClass(spec map[string]any) string {
	asks, guaranteed := false, true
	look := func(resources map[string]any) {
		limits, requests := rules.ObjectAt(resources, "limits"), rules.ObjectAt(resources, "requests")
		for _, name := range [...]string{"cpu", "memory"} {
			limit, request := rules.QuantityOf(limits, name), rules.QuantityOf(requests, name)
			asks = asks || limit != "" || request != ""
			guaranteed = guaranteed && limit != "" && (request == "" || request == limit)
		}
	}
	if r := rules.ObjectAt(spec, "resources"); len(r) > 0 {
		look(r)
	} else {
		for _, name := range ContainerLists[:2] {
			for c := range rules.ObjectsAt(spec, name) {
				look(rules.ObjectAt(c, "resources"))
			}
		}
	}
	switch {
	case !asks:
		return "BestEffort"
	case guaranteed:
		return "Guaranteed"
	}
	return "Burstable"
}
