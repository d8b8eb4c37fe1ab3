package kinds

import (
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/kube"
)

// autoscalingKinds are the kinds of autoscaling.
func autoscalingKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: kube.Resource{Group: "autoscaling", Version: "v2", Plural: "horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler", Namespaced: true}, ShortNames: []string{"hpa"}, Categories: []string{"all"}, Status: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				fillAutoscaler(d, d.Object(o, "spec"))
				status := rules.ObjectAt(o, "status")
				d.Drop(status, "currentReplicas")
				d.DropIn(status, "conditions", "reason", "message")
				for m := range rules.ObjectsAt(status, "currentMetrics") {
					fillMetric(d, m, "current")
				}
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				spec := rules.ObjectAt(o, "spec")
				refuseAutoscaler(r, spec)
			},
			Status:  `{"desiredReplicas":0,"currentMetrics":null}`,
			Zero:    `"spec":{"scaleTargetRef":{"kind":"","name":""},"maxReplicas":0},"status":{"desiredReplicas":0,"currentMetrics":null}`,
			Printer: autoscalerPrinter,
		},
	}
}

// fillMetric normalizes the quantities of a metric: of its target, or of what is current.
func fillMetric(d *rules.Defaults, m map[string]any, name string) {
	for _, source := range [...]string{"object", "pods", "resource", "containerResource", "external"} {
		if t := rules.ObjectAt(rules.ObjectAt(m, source), name); t != nil {
			d.Quantity(t, "value", rules.Nano)
			d.Quantity(t, "averageValue", rules.Nano)
		}
	}
}

// fillAutoscaler fills in the spec of a HorizontalPodAutoscaler.
func fillAutoscaler(d *rules.Defaults, spec map[string]any) {
	d.Set(spec, "minReplicas", int64(1))
	if rules.Lacks(spec, "metrics") {
		d.Put(spec, "metrics", []any{map[string]any{"type": "Resource", "resource": map[string]any{
			"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": int64(80)}}}})
	}
	for m := range rules.ObjectsAt(spec, "metrics") {
		fillMetric(d, m, "target")
		d.Drop(rules.ObjectAt(rules.ObjectAt(m, "object"), "describedObject"), "apiVersion")
	}
	behavior := rules.ObjectAt(spec, "behavior")
	if behavior == nil {
		return
	}
	policy := func(typ string, value int64) any {
		return map[string]any{"type": typ, "value": value, "periodSeconds": int64(15)}
	}
	up, down := d.Object(behavior, "scaleUp"), d.Object(behavior, "scaleDown")
	d.Set(up, "stabilizationWindowSeconds", int64(0))
	d.Set(up, "selectPolicy", "Max")
	d.Set(up, "policies", []any{policy("Pods", 4), policy("Percent", 100)})
	d.Set(down, "selectPolicy", "Max")
	d.Set(down, "policies", []any{policy("Percent", 100)})
}

func refuseAutoscaler(r *rules.Refusals, spec map[string]any) {
	most := rules.IntAt(spec, "maxReplicas")
	if most < rules.IntAt(spec, "minReplicas") {
		r.Invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
	}
	ref := rules.ObjectAt(spec, "scaleTargetRef")
	for _, name := range [...]string{"kind", "name"} {
		r.Named("spec.scaleTargetRef", ref, name, rules.SegmentName)
	}
	if version := rules.TextAt(ref, "apiVersion"); version != "v1" && !strings.Contains(version, "/") {
		r.Invalid("spec.scaleTargetRef.apiVersion", version, "apiVersion must specify API group")
	}
	switch {
	case most == 0:
		r.Required("spec.maxReplicas")
	case most < 0:
		r.Invalid("spec.maxReplicas", most, "must be greater than 0")
	}
	r.Natural("spec", spec, "minReplicas")
	outside := false // a metric that exists without pods
	for at, m := range rules.Elements("spec", spec, "metrics") {
		refuseMetric(r, at, m)
		outside = outside || m["type"] == "Object" || m["type"] == "External"
	}
	if spec["minReplicas"] == int64(0) && !outside {
		r.Forbidden("spec.metrics", "must specify at least one Object or External metric to support scaling to zero replicas")
	}
	behavior := rules.ObjectAt(spec, "behavior")
	for _, name := range [...]string{"scaleUp", "scaleDown"} {
		if b := rules.ObjectAt(behavior, name); b != nil {
			refuseScaling(r, "spec.behavior."+name, b)
		}
	}
}

// metricSources are the members of a metric, by its type.
var metricSources = map[string]string{"Resource": "resource", "ContainerResource": "containerResource", "Pods": "pods", "Object": "object", "External": "external"}

func refuseMetric(r *rules.Refusals, path string, m map[string]any) {
	typ := rules.TextAt(m, "type")
	if typ == "" {
		r.Required(path+".type", "must specify a metric source type")
	}
	source, ok := metricSources[typ]
	if !ok {
		r.Unsupported(path+".type", typ, "ContainerResource", "External", "Object", "Pods", "Resource")
	}
	for _, name := range [...]string{"containerResource", "external", "object", "pods", "resource"} {
		s := rules.ObjectAt(m, name)
		switch {
		case s == nil && name == source:
			r.Required(path+"."+name, "must populate information for the given metric source")
			continue
		case s == nil:
			continue
		case ok && name != source:
			r.Forbidden(path+"."+name, "must populate the given metric source only")
			continue
		}
		at := path + "." + name
		switch name {
		case "resource":
			r.Needed(at, s, "name")
		case "containerResource":
			r.Needed(at, s, "name")
			r.Named(at, s, "container", rules.LabelName)
			refuseContainerResource(r, at+".name", rules.TextAt(s, "name"))
		case "object":
			ref := rules.ObjectAt(s, "describedObject")
			r.Named(at+".describedObject", ref, "kind", rules.SegmentName)
			r.Named(at+".describedObject", ref, "name", rules.SegmentName)
		}
		if name == "object" || name == "pods" || name == "external" {
			id := rules.ObjectAt(s, "metric")
			r.Named(at+".metric", id, "name", rules.SegmentName)
		}
		refuseTarget(r, at+".target", rules.ObjectAt(s, "target"), name)
	}
}

// standardResources are the resources without a domain that no container has.
var standardResources = []string{"requests.cpu", "requests.memory", "requests.ephemeral-storage", "limits.cpu", "limits.memory",
	"limits.ephemeral-storage", "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
	"persistentvolumeclaims", "storage", "requests.storage", "services.nodeports", "services.loadbalancers"}

// refuseContainerResource refuses a name that is no resource of a container.
func refuseContainerResource(r *rules.Refusals, field, name string) {
	if name == "" {
		return // it is required
	}
	wrong, qualified := rules.QualifiedName(name), strings.Contains(name, "/")
	r.Each(field, name, wrong)
	ofContainers := name == "cpu" || name == "memory" || name == "ephemeral-storage" || strings.HasPrefix(name, "hugepages-")
	switch {
	case !qualified && !ofContainers:
		if len(wrong) == 0 && !slices.Contains(standardResources, name) {
			r.Invalid(field, name, "must be a standard resource type or fully qualified")
		}
		r.Invalid(field, name, "must be a standard resource for containers")
	case qualified && !strings.Contains(name, "kubernetes.io/") && strings.HasPrefix(name, "requests."):
		r.Invalid(field, name, "doesn't follow extended resource name standard")
	}
}

func refuseTarget(r *rules.Refusals, path string, t map[string]any, source string) {
	typ := rules.TextAt(t, "type")
	if typ == "" {
		r.Required(path+".type", "must specify a metric target type")
	}
	if typ != "Utilization" && typ != "Value" && typ != "AverageValue" {
		r.Invalid(path+".type", typ, "must be either Utilization, Value, or AverageValue")
	}
	for _, name := range [...]string{"value", "averageValue"} {
		if q := rules.TextAt(t, name); q == "0" || strings.HasPrefix(q, "-") {
			r.Invalid(path+"."+name, q, "must be positive")
		}
	}
	utilization, used := t["averageUtilization"].(int64)
	if used && utilization < 1 {
		r.Invalid(path+".averageUtilization", utilization, "must be greater than 0")
	}
	value, average := rules.Has(t, "value"), rules.Has(t, "averageValue")
	switch source {
	case "resource", "containerResource":
		if !used && !average {
			r.Required(path+".averageUtilization", "must set either a target raw value or a target utilization")
		}
		if used && average {
			r.Forbidden(path+".averageValue", "may not set both a target raw value and a target utilization")
		}
	case "pods":
		if !average {
			r.Required(path+".averageValue", "must specify a positive target averageValue")
		}
	default:
		if !value && !average {
			r.Required(path+".averageValue", "must set either a target value for metric or a per-pod target")
		}
		if value && average {
			r.Forbidden(path+".value", "may not set both a target value for metric and a per-pod target")
		}
	}
}

func refuseScaling(r *rules.Refusals, path string, b map[string]any) {
	r.Between(path, b, "stabilizationWindowSeconds", 0, 3600)
	if s, ok := b["selectPolicy"].(string); ok && s != "Max" && s != "Min" && s != "Disabled" {
		r.Unsupported(path+".selectPolicy", s, "Disabled", "Max", "Min")
	}
	if rules.Lacks(b, "policies") {
		r.Required(path+".policies", "must specify at least one Policy")
	}
	for at, p := range rules.Elements(path, b, "policies") {
		if typ := rules.TextAt(p, "type"); typ != "Pods" && typ != "Percent" {
			r.Unsupported(at+".type", typ, "Percent", "Pods")
		}
		if n := rules.IntAt(p, "value"); n < 1 {
			r.Invalid(at+".value", n, "must be greater than zero")
		}
		if n := rules.IntAt(p, "periodSeconds"); n < 1 {
			r.Invalid(at+".periodSeconds", n, "must be greater than zero")
		} else if n > 1800 {
			r.Invalid(at+".periodSeconds", n, "must be less than or equal to 1800")
		}
	}
}

var autoscalerPrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Reference", "what is scaled"),
		columns.Text("Targets", "what is measured, and what it should be"),
		columns.Text("MinPods", "fewest pods"),
		columns.Text("MaxPods", "most pods"),
		columns.Text("Replicas", "pods now"),
		columns.AgeColumn(),
	),
	Cells: func(r *columns.Row) {
		var spec struct {
			ScaleTargetRef struct{ Kind, Name string }
			MinReplicas    *int
			MaxReplicas    int
			Metrics        []metric
		}
		var status struct {
			CurrentReplicas int
			CurrentMetrics  []metric
		}
		r.Read("spec", &spec)
		r.Read("status", &status)
		var targets []string
		for i := range spec.Metrics {
			now := &metricValue{}
			if i < len(status.CurrentMetrics) {
				if s := status.CurrentMetrics[i].source(spec.Metrics[i].Type); s != nil {
					now = &s.Current
				}
			}
			targets = append(targets, spec.Metrics[i].target(now))
		}
		least, all := columns.Unset, columns.None
		if spec.MinReplicas != nil {
			least = strconv.Itoa(*spec.MinReplicas)
		}
		if len(targets) > 0 {
			all = columns.SomeOf(2, targets, ", ")
		}
		r.Add(r.Meta.Name, spec.ScaleTargetRef.Kind+"/"+spec.ScaleTargetRef.Name, all, least,
			spec.MaxReplicas, status.CurrentReplicas, r.Age())
	},
}

// metric is a metric as it should be or, in the status, as it is.
type metric struct {
	Type                                                string
	External, Pods, Object, Resource, ContainerResource *metricSource
}

type metricSource struct {
	Name            string
	Target, Current metricValue
}

type metricValue struct {
	Value, AverageValue *columns.Quantity
	AverageUtilization  *int
}

func (m *metric) source(typ string) *metricSource {
	return map[string]*metricSource{"External": m.External, "Pods": m.Pods, "Object": m.Object,
		"Resource": m.Resource, "ContainerResource": m.ContainerResource}[typ]
}

// target returns what m is now, and what it should be.
func (m *metric) target(now *metricValue) string {
	amount := func(q *columns.Quantity) string {
		if q == nil {
			return columns.Unknown
		}
		return q.String()
	}
	percent := func(n *int, other string) string {
		if n == nil {
			return other
		}
		return strconv.Itoa(*n) + "%"
	}
	s := m.source(m.Type)
	if s == nil {
		return "<unknown type>"
	}
	switch average := s.Target.AverageValue; {
	case m.Type == "Pods":
		return amount(now.AverageValue) + "/" + amount(average)
	case m.Type == "External" || m.Type == "Object":
		if average != nil {
			return amount(now.AverageValue) + "/" + average.String() + " (avg)"
		}
		return amount(now.Value) + "/" + amount(s.Target.Value)
	case average != nil:
		return s.Name + ": " + amount(now.AverageValue) + "/" + average.String()
	}
	return s.Name + ": " + percent(now.AverageUtilization, columns.Unknown) + "/" + percent(s.Target.AverageUtilization, "<auto>")
}
