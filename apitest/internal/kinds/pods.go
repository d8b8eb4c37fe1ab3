package kinds

import (
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/pods"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/kube"
)

// podKinds are the kinds of the core group about pods.
func podKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: kube.Pods, Returns: true, ShortNames: []string{"po"}, Categories: []string{"all"}, Status: true, Fields: []string{
				"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
				"status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName"}, Absent: map[string]string{"spec.hostNetwork": "false"}},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				pods.Fill(d, d.Object(o, "spec"))
				pods.FillStatus(d, rules.ObjectAt(o, "status"))
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				spec, was := rules.ObjectAt(o, "spec"), rules.ObjectAt(old, "spec")
				pods.RefuseImages(r, "spec", spec)
				pods.RefuseClaimNames(r, "spec", rules.TextAt(rules.ObjectAt(o, "metadata"), "name"), spec)
				if pods.Refuse(r, "spec", spec); old != nil {
					pods.RefuseUpdate(r, spec, was)
				}
			},
			Zero:      `"spec":{"containers":null},"status":{}`,
			Printer:   pods.Printer,
			Strategy:  Strategy{hosts: "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: "},
			Assign:    assignPod,
			NewStatus: pods.NewStatus,
		},
		{
			Info: object.Info{Resource: Bindings, NoCount: true},
		},
		{
			Info: object.Info{Resource: core("podtemplates", "PodTemplate"), Returns: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				pods.FillTemplate(d, d.Object(o, "template"))
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				r.Labels("template.labels", rules.ObjectAt(rules.ObjectAt(rules.ObjectAt(o, "template"), "metadata"), "labels"))
				pods.Refuse(r, "template.spec", rules.ObjectAt(rules.ObjectAt(o, "template"), "spec"))
			},
			Zero:     `"template":` + zeroTemplate,
			Printer:  pods.TemplatePrinter,
			Strategy: Strategy{counts: true},
		},
	}
}

// Bindings is a resource that is not stored: a create assigns a pod to a node, like
// pods/binding.
var Bindings = core("bindings", "Binding")

// assignPod is Assign for pods.
func assignPod(d *rules.Defaults, o, old map[string]any, _ func(any) bool) {
	spec := rules.ObjectAt(o, "spec")
	if spec == nil {
		return
	}
	if old == nil {
		fillPriority(d, spec)
	} else {
		d.CopyFrom(spec, "priority", rules.ObjectAt(old, "spec"))
		d.CopyFrom(spec, "preemptionPolicy", rules.ObjectAt(old, "spec"))
	}
	tolerate(d, spec, "node.kubernetes.io/not-ready")
	tolerate(d, spec, "node.kubernetes.io/unreachable")
}

// fillPriority sets the members that the plugin Priority sets without reading PriorityClasses.
func fillPriority(d *rules.Defaults, spec map[string]any) {
	switch rules.TextAt(spec, "priorityClassName") {
	case "":
		d.Set(spec, "priority", int64(0))
	case "system-cluster-critical":
		d.Set(spec, "priority", int64(2_000_000_000))
	case "system-node-critical":
		d.Set(spec, "priority", int64(2_000_001_000))
	default:
		return
	}
	d.Set(spec, "preemptionPolicy", "PreemptLowerPriority")
}

// tolerate adds a toleration of five minutes unless there is one.
func tolerate(d *rules.Defaults, spec map[string]any, taint string) {
	for t := range rules.ObjectsAt(spec, "tolerations") {
		key, effect := rules.TextAt(t, "key"), rules.TextAt(t, "effect")
		if (key == taint || key == "") && (effect == "NoExecute" || effect == "") {
			return
		}
	}
	list, _ := spec["tolerations"].([]any)
	d.Put(spec, "tolerations", append(list[:len(list):len(list)],
		map[string]any{"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int64(300)}))
}
