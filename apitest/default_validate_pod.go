package apitest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// What is wrong with pods, and with what makes pods.

// podSpec refuses what is wrong with a pod. Its containers may mount its volumes,
// and those that come from claims, which have the names of claimed.
func (r *refusals) podSpec(path string, spec map[string]any, claimed ...string) {
	volumes := make(map[string]bool)
	for i, e := range list1(spec, "volumes") {
		v, _ := e.(map[string]any)
		r.name(fmt.Sprintf("%s.volumes[%d].name", path, i), string1(v, "name"), volumes)
	}
	for _, name := range claimed {
		volumes[name] = true
	}
	if lacks(spec, "containers") {
		r.required(path + ".containers")
	}
	names := make(map[string]bool)
	for _, list := range [...]string{"containers", "initContainers"} {
		for i, e := range list1(spec, list) {
			c, _ := e.(map[string]any)
			at := fmt.Sprintf("%s.%s[%d]", path, list, i)
			r.name(at+".name", string1(c, "name"), names)
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
func (r *refusals) name(field, name string, seen map[string]bool) {
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

func (r *refusals) container(path string, c map[string]any, volumes map[string]bool) {
	switch image := string1(c, "image"); {
	case image == "":
		r.required(path + ".image")
	case image != strings.TrimSpace(image):
		r.invalid(path+".image", image, "must not have leading or trailing whitespace")
	}
	r.oneOf(path, c, "imagePullPolicy", "Always", "IfNotPresent", "Never")
	for i, e := range list1(c, "ports") {
		p, _ := e.(map[string]any)
		at := fmt.Sprintf("%s.ports[%d]", path, i)
		if name := string1(p, "name"); name != "" {
			r.each(at+".name", name, portName(name))
		}
		if n := p["containerPort"]; n == nil || n == int64(0) {
			r.required(at + ".containerPort")
		} else {
			r.port(at+".containerPort", n)
		}
		r.oneOf(at, p, "protocol", "SCTP", "TCP", "UDP")
	}
	for i, e := range list1(c, "env") {
		v, _ := e.(map[string]any)
		at := fmt.Sprintf("%s.env[%d]", path, i)
		switch name := string1(v, "name"); {
		case name == "":
			r.required(at + ".name")
		case strings.IndexFunc(name, func(c rune) bool { return c < ' ' || c > '~' || c == '=' }) >= 0:
			r.invalid(at+".name", name, "a valid environment variable name must consist only of printable ASCII characters other than '='")
		}
		if v["valueFrom"] != nil && string1(v, "value") != "" {
			r.invalid(at+".valueFrom", "", "may not be specified when `value` is not empty")
		}
	}
	for i, e := range list1(c, "volumeMounts") {
		m, _ := e.(map[string]any)
		at := fmt.Sprintf("%s.volumeMounts[%d]", path, i)
		switch name := string1(m, "name"); {
		case name == "":
			r.required(at + ".name")
		case !volumes[name]:
			r.add("FieldValueNotFound", at+".name", "Not found: "+show(name))
		}
		if string1(m, "mountPath") == "" {
			r.required(at + ".mountPath")
		}
	}
	for _, name := range [...]string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if p := object1(c, name); p != nil {
			r.probe(path+"."+name, p)
		}
	}
}

func (r *refusals) probe(path string, p map[string]any) {
	handled := false
	for _, name := range [...]string{"exec", "httpGet", "tcpSocket", "grpc"} {
		if h := object1(p, name); h != nil {
			handled = true
			r.port(path+"."+name+".port", h["port"])
		}
	}
	if !handled {
		r.required(path, "must specify a handler type")
	}
	r.natural(path, p, "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
}

// workload refuses what is wrong with the spec of a Deployment, ReplicaSet,
// StatefulSet or DaemonSet.
func (r *refusals) workload(res kube.Resource, spec, old map[string]any) {
	r.natural("spec", spec, "replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
	kind := map[string]string{"replicasets": "deployment"}[res.Plural] // so it says
	if kind == "" {
		kind = strings.ToLower(res.Kind)
	}
	selector, _ := spec["selector"].(map[string]any)
	sound := true
	switch {
	case selector == nil && res != kube.DaemonSets:
		r.required("spec.selector")
	case selector != nil && len(selector) == 0:
		r.invalid("spec.selector", selector, "empty selector is invalid for "+kind)
	case selector != nil:
		sound = r.selector("spec.selector", selector)
	}
	template := object1(spec, "template")
	labels := object1(object1(template, "metadata"), "labels")
	if sound && (selector == nil || !selects(selector, labels)) {
		r.mismatch("spec.template", labels)
	}
	var claimed []string
	for claim := range objects(spec, "volumeClaimTemplates") {
		claimed = append(claimed, string1(object1(claim, "metadata"), "name"))
	}
	r.template("spec.template", template, claimed...)
	if policy := string1(spec, "podManagementPolicy"); policy != "" && policy != "OrderedReady" && policy != "Parallel" {
		r.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
	}
	strategy := object1(spec, "strategy")
	switch typ, u := string1(strategy, "type"), object1(strategy, "rollingUpdate"); {
	case res != kube.Deployments:
	case typ == "Recreate" && u != nil:
		r.add("FieldValueForbidden", "spec.strategy.rollingUpdate", "Forbidden: may not be specified when strategy `type` is 'Recreate'")
	case typ == rollingUpdate && zeroOrPercent(u["maxSurge"]) && zeroOrPercent(u["maxUnavailable"]):
		r.invalid("spec.strategy.rollingUpdate.maxUnavailable", u["maxUnavailable"], "may not be 0 when `maxSurge` is 0")
	}
	if old == nil {
		return
	}
	if was := object1(old, "selector"); was != nil && show(was) != show(selector) {
		r.invalid("spec.selector", selector, immutable)
	}
	if res == kube.StatefulSets && string1(old, "serviceName") != string1(spec, "serviceName") {
		r.invalid("spec.serviceName", string1(spec, "serviceName"), immutable)
	}
}

func zeroOrPercent(v any) bool { return v == int64(0) || v == "0%" }

// mismatch refuses labels that a selector does not select.
func (r *refusals) mismatch(template string, labels map[string]any) {
	var shown any
	if labels != nil {
		shown = labels
	}
	r.invalid(template+".metadata.labels", shown, "`selector` does not match template `labels`")
}

// template refuses what is wrong with a template whose pods run for ever.
func (r *refusals) template(path string, t map[string]any, claimed ...string) {
	r.labels(path+".labels", object1(object1(t, "metadata"), "labels"))
	spec := object1(t, "spec")
	before := len(r.causes)
	r.podSpec(path+".spec", spec, claimed...)
	if policy := string1(spec, "restartPolicy"); policy != "" && policy != "Always" {
		field := path + ".spec.restartPolicy"
		r.causes = append(r.causes[:before], slices.DeleteFunc(r.causes[before:], func(c kube.StatusCause) bool { return c.Field == field })...)
		r.unsupported(field, policy, "Always")
	}
}

// selector refuses what is wrong with a selector, and reports whether nothing is.
func (r *refusals) selector(path string, s map[string]any) bool {
	before := len(r.causes)
	r.labels(path+".matchLabels", object1(s, "matchLabels"))
	for i, e := range list1(s, "matchExpressions") {
		x, _ := e.(map[string]any)
		at := fmt.Sprintf("%s.matchExpressions[%d]", path, i)
		switch op := string1(x, "operator"); op {
		case "In", "NotIn":
			if lacks(x, "values") {
				r.required(at+".values", "must be specified when `operator` is 'In' or 'NotIn'")
			}
		case "Exists", "DoesNotExist":
			if !lacks(x, "values") {
				r.add("FieldValueForbidden", at+".values", "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
			}
		default:
			r.invalid(at+".operator", op, "not a valid selector operator")
		}
		r.each(at+".key", string1(x, "key"), qualifiedName(string1(x, "key")))
	}
	if len(r.causes) == before {
		return true
	}
	r.invalid(path, s, "invalid label selector")
	return false
}

// selects reports whether a sound selector selects labels.
func selects(s, labels map[string]any) bool {
	for k, v := range object1(s, "matchLabels") {
		if got, ok := labels[k]; !ok || fmt.Sprint(got) != fmt.Sprint(v) {
			return false
		}
	}
	for x := range objects(s, "matchExpressions") {
		v, has := labels[string1(x, "key")]
		in := slices.ContainsFunc(list1(x, "values"), func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(v) })
		switch x["operator"] {
		case "In":
			if !has || !in {
				return false
			}
		case "NotIn":
			if has && in {
				return false
			}
		case "Exists", "DoesNotExist":
			if has != (x["operator"] == "Exists") {
				return false
			}
		}
	}
	return true
}

func (r *refusals) replicationController(spec map[string]any) {
	r.natural("spec", spec, "replicas", "minReadySeconds")
	template := object1(spec, "template")
	selector := object1(spec, "selector")
	if len(selector) == 0 {
		r.required("spec.selector")
	}
	if template == nil {
		r.required("spec.template")
		return
	}
	if labels := object1(object1(template, "metadata"), "labels"); !selects(map[string]any{"matchLabels": selector}, labels) {
		r.mismatch("spec.template", labels)
	}
	r.template("spec.template", template)
}

func (r *refusals) job(o, spec, old map[string]any) {
	template := object1(spec, "template")
	labels := object1(object1(template, "metadata"), "labels")
	if old != nil && object1(spec, "selector") == nil {
		r.required("spec.selector")
	}
	r.jobTemplate("spec.template", template)
	if old != nil {
		if selector := object1(spec, "selector"); selector == nil || !selects(selector, labels) {
			r.mismatch("spec.template", labels)
		}
		r.jobUpdate(spec, old)
	}
}

// jobTemplate refuses what is wrong with a template whose pods come to an end.
func (r *refusals) jobTemplate(path string, t map[string]any) {
	r.labels(path+".labels", object1(object1(t, "metadata"), "labels"))
	spec := object1(t, "spec")
	r.podSpec(path+".spec", spec)
	if policy := string1(spec, "restartPolicy"); policy == "" || policy == "Always" {
		r.required(path+".spec.restartPolicy", `valid values: "OnFailure", "Never"`)
	}
}

func (r *refusals) cronJob(spec map[string]any) {
	job := object1(object1(spec, "jobTemplate"), "spec")
	r.jobTemplate("spec.jobTemplate.spec.template", object1(job, "template"))
	schedule := string1(spec, "schedule")
	fields := strings.Fields(schedule)
	switch {
	case schedule == "":
		r.required("spec.schedule")
	case !strings.HasPrefix(schedule, "@") && len(fields) != 5:
		r.invalid("spec.schedule", schedule, fmt.Sprintf("expected exactly 5 fields, found %d: %s", len(fields), fields))
	}
	r.oneOf("spec", spec, "concurrencyPolicy", "Allow", "Forbid", "Replace")
	r.natural("spec", spec, "successfulJobsHistoryLimit", "failedJobsHistoryLimit", "startingDeadlineSeconds")
}
