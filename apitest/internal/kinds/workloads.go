package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/pods"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/kube"
)

// workloadKinds are the kinds of the core group about workloads.
func workloadKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: core("replicationcontrollers", "ReplicationController"), ShortNames: []string{"rc"}, Categories: []string{"all"}, Status: true, Scale: workloadScale(), Fields: []string{"status.replicas"}},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				fillReplicationController(d, o, d.Object(o, "spec"))
				fillStatus(d, o, "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				spec := rules.ObjectAt(o, "spec")
				refuseReplicationController(r, spec)
			},
			Status:   `{"replicas":0}`,
			Zero:     `"spec":{},"status":{"replicas":0}`,
			Printer:  controllerPrinter,
			Strategy: Strategy{Orphans: true, hosts: podNames},
		},
	}
}

// labelsFrom gives o the labels of its template if it has none.
func labelsFrom(d *rules.Defaults, o, template map[string]any) {
	labels := rules.ObjectAt(rules.ObjectAt(template, "metadata"), "labels")
	if len(labels) > 0 && rules.Lacks(rules.ObjectAt(o, "metadata"), "labels") {
		d.Put(d.Object(o, "metadata"), "labels", maps.Clone(labels))
	}
}

func fillReplicationController(d *rules.Defaults, o, spec map[string]any) {
	d.Set(spec, "replicas", int64(1))
	d.Drop(spec, "minReadySeconds")
	template := rules.ObjectAt(spec, "template")
	if template == nil {
		return
	}
	labels := rules.ObjectAt(rules.ObjectAt(template, "metadata"), "labels")
	if len(labels) > 0 && rules.Lacks(spec, "selector") {
		d.Put(spec, "selector", maps.Clone(labels))
	}
	labelsFrom(d, o, template)
	pods.FillTemplate(d, template)
}

// refuseWorkload refuses what is wrong with the spec of a Deployment, ReplicaSet,
// StatefulSet or DaemonSet.
func refuseWorkload(r *rules.Refusals, res kube.Resource, spec, old map[string]any) {
	if res == kube.StatefulSets {
		if policy := rules.TextAt(spec, "podManagementPolicy"); policy != "" && policy != "OrderedReady" && policy != "Parallel" {
			r.Invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
		}
		refuseUpdateStrategy(r, rules.ObjectAt(spec, "updateStrategy"))
	}
	r.Natural("spec", spec, "replicas", "minReadySeconds", "progressDeadlineSeconds")
	if res != kube.StatefulSets {
		r.Natural("spec", spec, "revisionHistoryLimit")
	}
	kind := map[string]string{"replicasets": "deployment"}[res.Plural] // so it says
	if kind == "" {
		kind = strings.ToLower(res.Kind)
	}
	selector, _ := spec["selector"].(map[string]any)
	sound := true
	switch {
	case selector == nil && res != kube.DaemonSets:
		r.Required("spec.selector")
	case selector != nil && len(selector) == 0:
		r.Invalid("spec.selector", selector, "empty selector is invalid for "+kind)
	case res == kube.DaemonSets && selector != nil:
		before := len(r.Causes)
		r.LabelSelector("spec.selector", selector)
		sound = len(r.Causes) == before
	case selector != nil:
		sound = r.Selector("spec.selector", selector)
	}
	template := rules.ObjectAt(spec, "template")
	labels := rules.ObjectAt(rules.ObjectAt(template, "metadata"), "labels")
	if sound && (selector == nil || !rules.Selects(selector, labels)) {
		refuseMismatch(r, "spec.template", labels)
	}
	pods.RefuseTemplate(r, "spec.template", pods.WithClaims(template, spec))
	strategy := rules.ObjectAt(spec, "strategy")
	switch typ, u := rules.TextAt(strategy, "type"), rules.ObjectAt(strategy, "rollingUpdate"); {
	case res != kube.Deployments:
	case typ == "Recreate" && u != nil:
		r.Add("FieldValueForbidden", "spec.strategy.rollingUpdate", "Forbidden: may not be specified when strategy `type` is 'Recreate'")
	case typ != rollingUpdate && typ != "Recreate":
		r.Unsupported("spec.strategy", typ, "Recreate", "RollingUpdate")
	case typ == rollingUpdate && rules.ZeroShare(u["maxSurge"]) && rules.ZeroShare(u["maxUnavailable"]):
		r.Invalid("spec.strategy.rollingUpdate.maxUnavailable", u["maxUnavailable"], "may not be 0 when `maxSurge` is 0")
	}
	switch res {
	case kube.Deployments:
		r.Share("spec.strategy.rollingUpdate.maxUnavailable", rules.ObjectAt(strategy, "rollingUpdate")["maxUnavailable"])
		r.Portion("spec.strategy.rollingUpdate.maxSurge", rules.ObjectAt(strategy, "rollingUpdate")["maxSurge"])
		if n, ok := spec["progressDeadlineSeconds"].(int64); ok && n <= rules.IntAt(spec, "minReadySeconds") {
			r.Invalid("spec.progressDeadlineSeconds", n, "must be greater than minReadySeconds")
		}
	case kube.DaemonSets:
		refuseDaemonUpdate(r, rules.ObjectAt(spec, "updateStrategy"))
	case kube.StatefulSets:
		refuseClaims(r, spec)
	}
	if old == nil {
		return
	}
	if was := rules.ObjectAt(old, "selector"); was != nil && rules.Show(was) != rules.Show(selector) {
		r.Invalid("spec.selector", selector, rules.Immutable)
	}
	if res == kube.StatefulSets {
		r.Fixed("spec", spec, old, "volumeClaimTemplates", "serviceName", "podManagementPolicy")
	}
}

// refuseDaemonUpdate refuses what is wrong with the update strategy of a DaemonSet.
func refuseDaemonUpdate(r *rules.Refusals, strategy map[string]any) {
	const path = "spec.updateStrategy"
	u := rules.ObjectAt(strategy, "rollingUpdate")
	switch typ := rules.TextAt(strategy, "type"); {
	case typ == "OnDelete":
	case typ != rollingUpdate:
		r.Unsupported(path, typ, "OnDelete", "RollingUpdate")
	case u == nil:
		r.Required(path + ".rollingUpdate")
	default:
		at := path + ".rollingUpdate"
		r.Share(at+".maxUnavailable", u["maxUnavailable"])
		r.Share(at+".maxSurge", u["maxSurge"])
		switch idle, surge := rules.ZeroShare(u["maxUnavailable"]), rules.ZeroShare(u["maxSurge"]); {
		case idle && surge:
			r.Required(at+".maxUnavailable", "cannot be 0 when maxSurge is 0")
		case !idle && !surge:
			r.Invalid(at+".maxSurge", u["maxSurge"], "may not be set when maxUnavailable is non-zero")
		}
	}
}

// refuseClaims refuses what is wrong with the claims of a StatefulSet and its name.
func refuseClaims(r *rules.Refusals, spec map[string]any) {
	retention := rules.ObjectAt(spec, "persistentVolumeClaimRetentionPolicy")
	for _, name := range [...]string{"whenDeleted", "whenScaled"} {
		r.Supported("spec.persistentVolumeClaimRetentionPolicy."+name, rules.TextAt(retention, name), "Delete", "Retain")
	}
	for at, c := range rules.Elements("spec", spec, "volumeClaimTemplates") {
		pods.RefuseClaim(r, at+".spec", rules.ObjectAt(c, "spec"))
	}
	r.Maybe("spec", spec, "serviceName", rules.Subdomain)
	if n, ok := rules.ObjectAt(spec, "ordinals")["start"].(int64); ok && n < 0 {
		r.Invalid("spec.ordinals.start", n, "must be greater than or equal to 0")
	}
}

// refuseUpdateStrategy validates the update strategy of a StatefulSet. The usual error is a
// patch of the type that leaves the defaults of the previous type.
func refuseUpdateStrategy(r *rules.Refusals, strategy map[string]any) {
	const path = "spec.updateStrategy"
	u, some := strategy["rollingUpdate"].(map[string]any)
	shown := "null" // as Go has it
	if some {
		shown = fmt.Sprintf(`{"Partition":%d,"MaxUnavailable":%s}`, rules.IntAt(u, "partition"), rules.Show(u["maxUnavailable"]))
	}
	switch typ := rules.TextAt(strategy, "type"); typ {
	case "", rollingUpdate:
		r.Natural(path+".rollingUpdate", u, "partition")
		r.Share(path+".rollingUpdate.maxUnavailable", u["maxUnavailable"])
		if v := u["maxUnavailable"]; rules.ZeroShare(v) {
			r.Invalid(path+".rollingUpdate.maxUnavailable", v, "cannot be 0")
		}
	case "OnDelete":
		if some {
			r.Invalid(path+".rollingUpdate", json.RawMessage(shown), "only allowed for updateStrategy 'RollingUpdate'")
		}
	default:
		r.Invalid(path, json.RawMessage(fmt.Sprintf(`{"Type":%q,"RollingUpdate":%s}`, typ, shown)), "must be 'RollingUpdate' or 'OnDelete'")
	}
}

// refuseMismatch refuses labels that a selector does not select.
func refuseMismatch(r *rules.Refusals, template string, labels map[string]any) {
	var shown any
	if labels != nil {
		shown = labels
	}
	r.Invalid(template+".metadata.labels", shown, "`selector` does not match template `labels`")
}

func refuseReplicationController(r *rules.Refusals, spec map[string]any) {
	r.Natural("spec", spec, "replicas", "minReadySeconds")
	template := rules.ObjectAt(spec, "template")
	selector := rules.ObjectAt(spec, "selector")
	if len(selector) == 0 {
		r.Required("spec.selector")
	}
	if template == nil {
		r.Required("spec.template")
		return
	}
	if labels := rules.ObjectAt(rules.ObjectAt(template, "metadata"), "labels"); !rules.Selects(map[string]any{"matchLabels": selector}, labels) {
		refuseMismatch(r, "spec.template", labels)
	}
	pods.RefuseTemplate(r, "spec.template", template)
}

// controllerPrinter is the printer of ReplicationControllers, whose selector is a map of
// labels.
var controllerPrinter = columns.Printer{Columns: pods.ReplicaColumns(), Cells: pods.ReplicaCells(func(labels *map[string]string) string {
	return columns.LabelList(columns.Or(labels, nil))
})}
