package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// workloadKinds are the kinds of the core group about workloads.
func workloadKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: core("replicationcontrollers", "ReplicationController"), ShortNames: []string{"rc"}, Categories: []string{"all"}, Status: true, Scale: workloadScale(), Fields: []string{"status.replicas"}},
			Defaults: func(d *Defaults, o map[string]any) {
				d.replicationController(o, d.Object(o, "spec"))
			},
			Validate: func(r *Refusals, o, old map[string]any) {
				spec := ObjectAt(o, "spec")
				r.replicationController(spec)
			},
			Status:   `{"replicas":0}`,
			Zero:     `"spec":{},"status":{"replicas":0}`,
			Printer:  controllerPrinter,
			Strategy: Strategy{Orphans: true, hosts: podNames},
		},
	}
}

// labelsFrom gives o the labels of its template if it has none.
func (d *Defaults) labelsFrom(o, template map[string]any) {
	labels := ObjectAt(ObjectAt(template, "metadata"), "labels")
	if len(labels) > 0 && Lacks(ObjectAt(o, "metadata"), "labels") {
		d.put(d.Object(o, "metadata"), "labels", maps.Clone(labels))
	}
}

func (d *Defaults) replicationController(o, spec map[string]any) {
	d.set(spec, "replicas", int64(1))
	d.Drop(spec, "minReadySeconds")
	template := ObjectAt(spec, "template")
	if template == nil {
		return
	}
	labels := ObjectAt(ObjectAt(template, "metadata"), "labels")
	if len(labels) > 0 && Lacks(spec, "selector") {
		d.put(spec, "selector", maps.Clone(labels))
	}
	d.labelsFrom(o, template)
	d.template(template)
}

// workload refuses what is wrong with the spec of a Deployment, ReplicaSet,
// StatefulSet or DaemonSet.
func (r *Refusals) workload(res kube.Resource, spec, old map[string]any) {
	if res == kube.StatefulSets {
		if policy := TextAt(spec, "podManagementPolicy"); policy != "" && policy != "OrderedReady" && policy != "Parallel" {
			r.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
		}
		r.updateStrategy(ObjectAt(spec, "updateStrategy"))
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
	template := ObjectAt(spec, "template")
	labels := ObjectAt(ObjectAt(template, "metadata"), "labels")
	if sound && (selector == nil || !selects(selector, labels)) {
		r.mismatch("spec.template", labels)
	}
	var claimed []string
	for claim := range ObjectsAt(spec, "volumeClaimTemplates") {
		claimed = append(claimed, TextAt(ObjectAt(claim, "metadata"), "name"))
	}
	r.template("spec.template", template, claimed...)
	strategy := ObjectAt(spec, "strategy")
	switch typ, u := TextAt(strategy, "type"), ObjectAt(strategy, "rollingUpdate"); {
	case res != kube.Deployments:
	case typ == "Recreate" && u != nil:
		r.add("FieldValueForbidden", "spec.strategy.rollingUpdate", "Forbidden: may not be specified when strategy `type` is 'Recreate'")
	case typ == rollingUpdate && zeroOrPercent(u["maxSurge"]) && zeroOrPercent(u["maxUnavailable"]):
		r.invalid("spec.strategy.rollingUpdate.maxUnavailable", u["maxUnavailable"], "may not be 0 when `maxSurge` is 0")
	}
	if old == nil {
		return
	}
	if was := ObjectAt(old, "selector"); was != nil && show(was) != show(selector) {
		r.invalid("spec.selector", selector, immutable)
	}
	if res == kube.StatefulSets && TextAt(old, "serviceName") != TextAt(spec, "serviceName") {
		r.invalid("spec.serviceName", TextAt(spec, "serviceName"), immutable)
	}
}

// updateStrategy refuses what is wrong with the update strategy of a StatefulSet, most of
// all one that a patch of its type leaves with the defaults of another.
func (r *Refusals) updateStrategy(strategy map[string]any) {
	const path = "spec.updateStrategy"
	u, some := strategy["rollingUpdate"].(map[string]any)
	shown := "null" // as Go has it
	if some {
		shown = fmt.Sprintf(`{"Partition":%d,"MaxUnavailable":%s}`, IntAt(u, "partition"), show(u["maxUnavailable"]))
	}
	switch typ := TextAt(strategy, "type"); typ {
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
func (r *Refusals) mismatch(template string, labels map[string]any) {
	var shown any
	if labels != nil {
		shown = labels
	}
	r.invalid(template+".metadata.labels", shown, "`selector` does not match template `labels`")
}

// template refuses what is wrong with a template whose pods run for ever.
func (r *Refusals) template(path string, t map[string]any, claimed ...string) {
	r.labels(path+".labels", ObjectAt(ObjectAt(t, "metadata"), "labels"))
	spec := ObjectAt(t, "spec")
	before := len(r.Causes)
	r.podSpec(path+".spec", spec, claimed...)
	if policy := TextAt(spec, "restartPolicy"); policy != "" && policy != "Always" {
		field := path + ".spec.restartPolicy"
		r.Causes = append(r.Causes[:before], slices.DeleteFunc(r.Causes[before:], func(c kube.StatusCause) bool { return c.Field == field })...)
		r.unsupported(field, policy, "Always")
	}
}

// selector refuses what is wrong with a selector, and reports whether nothing is.
func (r *Refusals) selector(path string, s map[string]any) bool {
	before := len(r.Causes)
	r.labels(path+".matchLabels", ObjectAt(s, "matchLabels"))
	for i, e := range ListAt(s, "matchExpressions") {
		x, _ := e.(map[string]any)
		at := fmt.Sprintf("%s.matchExpressions[%d]", path, i)
		switch op := TextAt(x, "operator"); op {
		case "In", "NotIn":
			if Lacks(x, "values") {
				r.required(at+".values", "must be specified when `operator` is 'In' or 'NotIn'")
			}
		case "Exists", "DoesNotExist":
			if !Lacks(x, "values") {
				r.add("FieldValueForbidden", at+".values", "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
			}
		default:
			r.invalid(at+".operator", op, "not a valid selector operator")
		}
		r.each(at+".key", TextAt(x, "key"), qualifiedName(TextAt(x, "key")))
	}
	if len(r.Causes) == before {
		return true
	}
	r.invalid(path, s, "invalid label selector")
	return false
}

// selects reports whether a sound selector selects labels.
func selects(s, labels map[string]any) bool {
	for k, v := range ObjectAt(s, "matchLabels") {
		if got, ok := labels[k]; !ok || fmt.Sprint(got) != fmt.Sprint(v) {
			return false
		}
	}
	for x := range ObjectsAt(s, "matchExpressions") {
		v, has := labels[TextAt(x, "key")]
		in := slices.ContainsFunc(ListAt(x, "values"), func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(v) })
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

func (r *Refusals) replicationController(spec map[string]any) {
	r.natural("spec", spec, "replicas", "minReadySeconds")
	template := ObjectAt(spec, "template")
	selector := ObjectAt(spec, "selector")
	if len(selector) == 0 {
		r.required("spec.selector")
	}
	if template == nil {
		r.required("spec.template")
		return
	}
	if labels := ObjectAt(ObjectAt(template, "metadata"), "labels"); !selects(map[string]any{"matchLabels": selector}, labels) {
		r.mismatch("spec.template", labels)
	}
	r.template("spec.template", template)
}

// Columns that workloads have for -o wide.
func containersColumn() columns.Definition {
	return columns.Wide("Containers", "names of the containers")
}

func imagesColumn() columns.Definition { return columns.Wide("Images", "images of the containers") }

func selectorColumn() columns.Definition {
	return columns.Wide("Selector", "labels of what is selected")
}

// podTemplate is the part of a workload that says what its pods are.
type podTemplate struct {
	Metadata struct {
		Labels map[string]string
	}
	Spec struct {
		Containers   []container
		NodeSelector map[string]string
	}
}

// containers returns the names and the images of the containers.
func (t *podTemplate) containers() (names, images string) {
	var n, i []string
	for _, c := range t.Spec.Containers {
		n, i = append(n, c.Name), append(i, c.Image)
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}

// controllerPrinter is that of replication controllers, whose selector is just
// labels.
var controllerPrinter = columns.Printer{Columns: replicaColumns(), Cells: replicaCells(func(labels *map[string]string) string {
	return columns.LabelList(columns.Or(labels, nil))
})}

func replicaColumns() []columns.Definition {
	return columns.List(
		columns.Integer("Desired", "pods wanted"),
		columns.Integer("Current", "pods that are there"),
		columns.Integer("Ready", "pods that are ready"),
		columns.AgeColumn(), containersColumn(), imagesColumn(), selectorColumn(),
	)
}

func replicaCells[S any](text func(selector *S) string) func(r *columns.Row) {
	return func(r *columns.Row) {
		var spec struct {
			Replicas int
			Template podTemplate
			Selector *S
		}
		var status struct{ Replicas, ReadyReplicas int }
		r.Read("spec", &spec)
		r.Read("status", &status)
		names, images := spec.Template.containers()
		r.Add(r.Meta.Name, spec.Replicas, status.Replicas, status.ReadyReplicas, r.Age(), names, images, text(spec.Selector))
	}
}
