package apitest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// workload refuses what is wrong with the spec of a Deployment, ReplicaSet,
// StatefulSet or DaemonSet.
func (r *refusals) workload(res kube.Resource, spec, old map[string]any) {
	if res == kube.StatefulSets {
		if policy := string1(spec, "podManagementPolicy"); policy != "" && policy != "OrderedReady" && policy != "Parallel" {
			r.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
		}
		r.updateStrategy(object1(spec, "updateStrategy"))
	}
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

// updateStrategy refuses what is wrong with the update strategy of a StatefulSet, most of
// all one that a patch of its type leaves with the defaults of another.
func (r *refusals) updateStrategy(strategy map[string]any) {
	const path = "spec.updateStrategy"
	u, some := strategy["rollingUpdate"].(map[string]any)
	shown := "null" // as Go has it
	if some {
		shown = fmt.Sprintf(`{"Partition":%d,"MaxUnavailable":%s}`, int1(u, "partition"), show(u["maxUnavailable"]))
	}
	switch typ := string1(strategy, "type"); typ {
	case "", rollingUpdate:
		r.natural(path+".rollingUpdate", u, "partition")
		if v := u["maxUnavailable"]; zeroOrPercent(v) {
			r.invalid(path+".rollingUpdate.maxUnavailable", v, "cannot be 0")
		}
	case "OnDelete":
		if some {
			r.invalid(path+".rollingUpdate", json.RawMessage(shown), "only allowed for updateStrategy 'RollingUpdate'")
		}
	default:
		r.invalid(path, json.RawMessage(fmt.Sprintf(`{"Type":%q,"RollingUpdate":%s}`, typ, shown)), "must be 'RollingUpdate' or 'OnDelete'")
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
		r.jobUpdate(spec, old, object1(o, "status"))
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
