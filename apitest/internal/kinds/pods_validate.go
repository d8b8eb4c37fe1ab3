package kinds

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/schema"
)

// podSpec refuses what is wrong with a pod. Its containers may mount its volumes,
// and those that come from claims, which have the names of claimed.
func (r *Refusals) podSpec(path string, spec map[string]any, claimed ...string) {
	volumes := make(map[string]bool)
	for i, e := range ListAt(spec, "volumes") {
		v, _ := e.(map[string]any)
		r.name(fmt.Sprintf("%s.volumes[%d].name", path, i), TextAt(v, "name"), volumes)
	}
	for _, name := range claimed {
		volumes[name] = true
	}
	if Lacks(spec, "containers") {
		r.required(path + ".containers")
	}
	names := make(map[string]bool)
	for _, list := range [...]string{"containers", "initContainers"} {
		for i, e := range ListAt(spec, list) {
			c, _ := e.(map[string]any)
			at := fmt.Sprintf("%s.%s[%d]", path, list, i)
			r.name(at+".name", TextAt(c, "name"), names)
			r.container(at, c, volumes)
		}
	}
	if n, ok := spec["activeDeadlineSeconds"].(int64); ok && (n < 1 || n > math.MaxInt32) {
		r.invalid(path+".activeDeadlineSeconds", n, "must be between 1 and 2147483647, inclusive")
	}
	r.oneOf(path, spec, "restartPolicy", "Always", "OnFailure", "Never")
	r.oneOf(path, spec, "dnsPolicy", "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
}

// name refuses a name that is missing, not a label or there already, and notes it.
func (r *Refusals) name(field, name string, seen map[string]bool) {
	switch wrong := labelName(name); {
	case name == "":
		r.required(field)
	case len(wrong) > 0:
		r.each(field, name, wrong)
	case seen[name]:
		r.duplicate(field, name)
	}
	seen[name] = true
}

func (r *Refusals) container(path string, c map[string]any, volumes map[string]bool) {
	switch image := TextAt(c, "image"); {
	case image == "":
		r.required(path + ".image")
	case image != strings.TrimSpace(image):
		r.invalid(path+".image", image, "must not have leading or trailing whitespace")
	}
	r.oneOf(path, c, "imagePullPolicy", "Always", "IfNotPresent", "Never")
	for i, e := range ListAt(c, "ports") {
		p, _ := e.(map[string]any)
		at := fmt.Sprintf("%s.ports[%d]", path, i)
		if name := TextAt(p, "name"); name != "" {
			r.each(at+".name", name, portName(name))
		}
		if n := p["containerPort"]; n == nil || n == int64(0) {
			r.required(at + ".containerPort")
		} else {
			r.port(at+".containerPort", n)
		}
		r.oneOf(at, p, "protocol", "SCTP", "TCP", "UDP")
	}
	for i, e := range ListAt(c, "env") {
		v, _ := e.(map[string]any)
		at := fmt.Sprintf("%s.env[%d]", path, i)
		switch name := TextAt(v, "name"); {
		case name == "":
			r.required(at + ".name")
		case strings.IndexFunc(name, func(c rune) bool { return c < ' ' || c > '~' || c == '=' }) >= 0:
			r.invalid(at+".name", name, "a valid environment variable name must consist only of printable ASCII characters other than '='")
		}
		if v["valueFrom"] != nil && TextAt(v, "value") != "" {
			r.invalid(at+".valueFrom", "", "may not be specified when `value` is not empty")
		}
	}
	for i, e := range ListAt(c, "volumeMounts") {
		m, _ := e.(map[string]any)
		at := fmt.Sprintf("%s.volumeMounts[%d]", path, i)
		switch name := TextAt(m, "name"); {
		case name == "":
			r.required(at + ".name")
		case !volumes[name]:
			r.add("FieldValueNotFound", at+".name", "Not found: "+show(name))
		}
		if TextAt(m, "mountPath") == "" {
			r.required(at + ".mountPath")
		}
	}
	for _, name := range [...]string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if p := ObjectAt(c, name); p != nil {
			r.probe(path+"."+name, p)
		}
	}
}

func (r *Refusals) probe(path string, p map[string]any) {
	handled := false
	for _, name := range [...]string{"exec", "httpGet", "tcpSocket", "grpc"} {
		if h := ObjectAt(p, name); h != nil {
			handled = true
			r.port(path+"."+name+".port", h["port"])
		}
	}
	if !handled {
		r.required(path, "must specify a handler type")
	}
	r.natural(path, p, "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
}

// Ephemeral refuses debug containers that are wrong, and the loss or change of one.
func (r *Refusals) Ephemeral(spec, old map[string]any) {
	const path = "spec.ephemeralContainers"
	names, volumes := map[string]bool{}, map[string]bool{}
	for _, list := range ContainerLists[:2] {
		for c := range ObjectsAt(spec, list) {
			names[TextAt(c, "name")] = true
		}
	}
	for v := range ObjectsAt(spec, "volumes") {
		volumes[TextAt(v, "name")] = true
	}
	list := ListAt(spec, "ephemeralContainers")
	for i, e := range list {
		c, _ := e.(map[string]any)
		at := fmt.Sprintf("%s[%d]", path, i)
		r.name(at+".name", TextAt(c, "name"), names)
		r.container(at, c, volumes)
	}
	if len(r.Causes) > 0 {
		return
	}
	for before := range ObjectsAt(old, "ephemeralContainers") {
		i := slices.IndexFunc(list, func(e any) bool {
			c, _ := e.(map[string]any)
			return c["name"] == before["name"]
		})
		switch {
		case i < 0:
			r.add("FieldValueForbidden", path, fmt.Sprintf("Forbidden: existing ephemeral containers %q may not be removed\n", before["name"]))
		case !SameValue(list[i], before):
			r.add("FieldValueForbidden", path, fmt.Sprintf("Forbidden: existing ephemeral containers %q may not be changed\n", before["name"]))
		}
	}
}

// Resized refuses another class of service.
func (r *Refusals) Resized(spec, old map[string]any) {
	if was := QOSClass(old); QOSClass(spec) != was {
		r.invalid("spec", was, "Pod QOS Class may not change as a result of resizing")
	}
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

func statusOfNewPod(o map[string]any) map[string]any {
	spec := ObjectAt(o, "spec")
	status := map[string]any{"phase": "Pending", "qosClass": QOSClass(spec)}
	if !Lacks(spec, "schedulingGates") {
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
		limits, requests := ObjectAt(resources, "limits"), ObjectAt(resources, "requests")
		for _, name := range [...]string{"cpu", "memory"} {
			limit, request := quantityOf(limits, name), quantityOf(requests, name)
			asks = asks || limit != "" || request != ""
			guaranteed = guaranteed && limit != "" && (request == "" || request == limit)
		}
	}
	if r := ObjectAt(spec, "resources"); len(r) > 0 {
		look(r)
	} else {
		for _, name := range ContainerLists[:2] {
			for c := range ObjectsAt(spec, name) {
				look(ObjectAt(c, "resources"))
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
