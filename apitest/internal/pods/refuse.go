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

// Refuse refuses what is wrong with a pod. Its containers may mount its volumes,
// and those that come from claims, which have the names of claimed.
func Refuse(r *rules.Refusals, path string, spec map[string]any, claimed ...string) {
	volumes := make(map[string]bool)
	for i, e := range rules.ListAt(spec, "volumes") {
		v, _ := e.(map[string]any)
		refuseName(r, fmt.Sprintf("%s.volumes[%d].name", path, i), rules.TextAt(v, "name"), volumes)
	}
	for _, name := range claimed {
		volumes[name] = true
	}
	if rules.Lacks(spec, "containers") {
		r.Required(path + ".containers")
	}
	names := make(map[string]bool)
	for _, list := range [...]string{"containers", "initContainers"} {
		for i, e := range rules.ListAt(spec, list) {
			c, _ := e.(map[string]any)
			at := fmt.Sprintf("%s.%s[%d]", path, list, i)
			refuseName(r, at+".name", rules.TextAt(c, "name"), names)
			refuseContainer(r, at, c, volumes)
		}
	}
	if n, ok := spec["activeDeadlineSeconds"].(int64); ok && (n < 1 || n > math.MaxInt32) {
		r.Invalid(path+".activeDeadlineSeconds", n, "must be between 1 and 2147483647, inclusive")
	}
	r.OneOf(path, spec, "restartPolicy", "Always", "OnFailure", "Never")
	r.OneOf(path, spec, "dnsPolicy", "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
}

// refuseName refuses a name that is missing, not a label or there already, and notes it.
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

func refuseContainer(r *rules.Refusals, path string, c map[string]any, volumes map[string]bool) {
	switch image := rules.TextAt(c, "image"); {
	case image == "":
		r.Required(path + ".image")
	case image != strings.TrimSpace(image):
		r.Invalid(path+".image", image, "must not have leading or trailing whitespace")
	}
	r.OneOf(path, c, "imagePullPolicy", "Always", "IfNotPresent", "Never")
	for i, e := range rules.ListAt(c, "ports") {
		p, _ := e.(map[string]any)
		at := fmt.Sprintf("%s.ports[%d]", path, i)
		if name := rules.TextAt(p, "name"); name != "" {
			r.Each(at+".name", name, rules.PortName(name))
		}
		if n := p["containerPort"]; n == nil || n == int64(0) {
			r.Required(at + ".containerPort")
		} else {
			r.Port(at+".containerPort", n)
		}
		r.OneOf(at, p, "protocol", "SCTP", "TCP", "UDP")
	}
	for i, e := range rules.ListAt(c, "env") {
		v, _ := e.(map[string]any)
		at := fmt.Sprintf("%s.env[%d]", path, i)
		switch name := rules.TextAt(v, "name"); {
		case name == "":
			r.Required(at + ".name")
		case strings.IndexFunc(name, func(c rune) bool { return c < ' ' || c > '~' || c == '=' }) >= 0:
			r.Invalid(at+".name", name, "a valid environment variable name must consist only of printable ASCII characters other than '='")
		}
		if v["valueFrom"] != nil && rules.TextAt(v, "value") != "" {
			r.Invalid(at+".valueFrom", "", "may not be specified when `value` is not empty")
		}
	}
	for i, e := range rules.ListAt(c, "volumeMounts") {
		m, _ := e.(map[string]any)
		at := fmt.Sprintf("%s.volumeMounts[%d]", path, i)
		switch name := rules.TextAt(m, "name"); {
		case name == "":
			r.Required(at + ".name")
		case !volumes[name]:
			r.Add("FieldValueNotFound", at+".name", "Not found: "+rules.Show(name))
		}
		if rules.TextAt(m, "mountPath") == "" {
			r.Required(at + ".mountPath")
		}
	}
	for _, name := range [...]string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if p := rules.ObjectAt(c, name); p != nil {
			refuseProbe(r, path+"."+name, p)
		}
	}
}

func refuseProbe(r *rules.Refusals, path string, p map[string]any) {
	handled := false
	for _, name := range [...]string{"exec", "httpGet", "tcpSocket", "grpc"} {
		if h := rules.ObjectAt(p, name); h != nil {
			handled = true
			r.Port(path+"."+name+".port", h["port"])
		}
	}
	if !handled {
		r.Required(path, "must specify a handler type")
	}
	r.Natural(path, p, "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
}

// RefuseEphemeral refuses debug containers that are wrong, and the loss or change of one.
func RefuseEphemeral(r *rules.Refusals, spec, old map[string]any) {
	const path = "spec.ephemeralContainers"
	names, volumes := map[string]bool{}, map[string]bool{}
	for _, list := range ContainerLists[:2] {
		for c := range rules.ObjectsAt(spec, list) {
			names[rules.TextAt(c, "name")] = true
		}
	}
	for v := range rules.ObjectsAt(spec, "volumes") {
		volumes[rules.TextAt(v, "name")] = true
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

// RefuseResized refuses another class of service.
func RefuseResized(r *rules.Refusals, spec, old map[string]any) {
	if was := QOSClass(old); QOSClass(spec) != was {
		r.Invalid("spec", was, "Pod QOS Class may not change as a result of resizing")
	}
}

const podMayChange = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`," +
	"`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

// RefuseUpdate refuses changes of a pod but for the few that its kubelet can follow.
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
	refuseFewerTolerations(r, rules.ListAt(spec, "tolerations"), rules.ListAt(old, "tolerations"))
	if !rules.SameValue(settledPod(spec), settledPod(old)) {
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

// settledPod returns a copy of spec without what may change.
func settledPod(spec map[string]any) map[string]any {
	c := schema.Copy(spec)
	delete(c, "activeDeadlineSeconds")
	delete(c, "tolerations")
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

// QOSClass says how well a pod is served, by what its containers, or the pod as a
// whole, ask for. See
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
