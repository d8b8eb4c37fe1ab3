package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
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
	refusePodTemplate(r, "spec.template", withClaims(template, spec))
	strategy := rules.ObjectAt(spec, "strategy")
	switch typ, u := rules.TextAt(strategy, "type"), rules.ObjectAt(strategy, "rollingUpdate"); {
	case res != kube.Deployments:
	case typ == "Recreate" && u != nil:
		r.Add("FieldValueForbidden", "spec.strategy.rollingUpdate", "Forbidden: may not be specified when strategy `type` is 'Recreate'")
	case typ != rollingUpdate && typ != "Recreate":
		r.Unsupported("spec.strategy", typ, "Recreate", "RollingUpdate")
	case typ == rollingUpdate && zeroOrPercent(u["maxSurge"]) && zeroOrPercent(u["maxUnavailable"]):
		r.Invalid("spec.strategy.rollingUpdate.maxUnavailable", u["maxUnavailable"], "may not be 0 when `maxSurge` is 0")
	}
	switch res {
	case kube.Deployments:
		refuseShare(r, "spec.strategy.rollingUpdate.maxUnavailable", rules.ObjectAt(strategy, "rollingUpdate")["maxUnavailable"])
		refuseShare(r, "spec.strategy.rollingUpdate.maxSurge", rules.ObjectAt(strategy, "rollingUpdate")["maxSurge"])
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
	if res == kube.StatefulSets && rules.TextAt(old, "serviceName") != rules.TextAt(spec, "serviceName") {
		r.Invalid("spec.serviceName", rules.TextAt(spec, "serviceName"), rules.Immutable)
	}
}

// withClaims returns the template of a StatefulSet with the volumes of its claims, which
// replace those of the same names.
func withClaims(template, spec map[string]any) map[string]any {
	if rules.Lacks(spec, "volumeClaimTemplates") {
		return template
	}
	var volumes []any
	claims := map[string]bool{}
	for c := range rules.ObjectsAt(spec, "volumeClaimTemplates") {
		name := rules.TextAt(rules.ObjectAt(c, "metadata"), "name")
		claims[name] = true
		volumes = append(volumes, map[string]any{"name": name, "persistentVolumeClaim": map[string]any{"claimName": name}})
	}
	for v := range rules.ObjectsAt(rules.ObjectAt(template, "spec"), "volumes") {
		if !claims[rules.TextAt(v, "name")] {
			volumes = append(volumes, v)
		}
	}
	t := maps.Clone(template)
	pod := maps.Clone(rules.ObjectAt(template, "spec"))
	if pod == nil {
		pod = map[string]any{}
	}
	pod["volumes"] = volumes
	if t == nil {
		t = map[string]any{}
	}
	t["spec"] = pod
	return t
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
		refuseShare(r, at+".maxUnavailable", u["maxUnavailable"])
		refuseShare(r, at+".maxSurge", u["maxSurge"])
		switch idle, surge := zeroOrPercent(u["maxUnavailable"]), zeroOrPercent(u["maxSurge"]); {
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

// refuseUpdateStrategy refuses what is wrong with the update strategy of a StatefulSet, most of
// all one that a patch of its type leaves with the defaults of another.
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
		refuseShare(r, path+".rollingUpdate.maxUnavailable", u["maxUnavailable"])
		if v := u["maxUnavailable"]; zeroOrPercent(v) {
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

// zeroOrPercent reports whether a number or share is 0: one that is no number counts so.
func zeroOrPercent(v any) bool {
	text, ok := v.(string)
	n, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
	return v == int64(0) || ok && (err != nil || n == 0)
}

// refuseMismatch refuses labels that a selector does not select.
func refuseMismatch(r *rules.Refusals, template string, labels map[string]any) {
	var shown any
	if labels != nil {
		shown = labels
	}
	r.Invalid(template+".metadata.labels", shown, "`selector` does not match template `labels`")
}

// refusePodTemplate refuses what is wrong with a template whose pods run for ever.
func refusePodTemplate(r *rules.Refusals, path string, t map[string]any) {
	r.Labels(path+".labels", rules.ObjectAt(rules.ObjectAt(t, "metadata"), "labels"))
	for key := range rules.KeysOf(rules.ObjectAt(rules.ObjectAt(t, "metadata"), "annotations")) {
		r.Each(path+".annotations", key, rules.QualifiedName(strings.ToLower(key)))
	}
	spec := rules.ObjectAt(t, "spec")
	pods.Refuse(r, path+".spec", spec)
	if policy := rules.TextAt(spec, "restartPolicy"); policy != "" && policy != "Always" {
		r.Unsupported(path+".spec.restartPolicy", policy, "Always")
	}
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
	refusePodTemplate(r, "spec.template", template)
}

// controllerPrinter is that of replication controllers, whose selector is just
// labels.
var controllerPrinter = columns.Printer{Columns: replicaColumns(), Cells: replicaCells(func(labels *map[string]string) string {
	return columns.LabelList(columns.Or(labels, nil))
})}
