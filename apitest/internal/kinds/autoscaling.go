package kinds

import (
	"strconv"

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

// fillAutoscaler fills in the spec of a HorizontalPodAutoscaler.
func fillAutoscaler(d *rules.Defaults, spec map[string]any) {
	d.Set(spec, "minReplicas", int64(1))
	if rules.Lacks(spec, "metrics") {
		d.Put(spec, "metrics", []any{map[string]any{"type": "Resource", "resource": map[string]any{
			"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": int64(80)}}}})
	}
	for m := range rules.ObjectsAt(spec, "metrics") {
		for _, name := range [...]string{"object", "pods", "resource", "containerResource", "external"} {
			if t := rules.ObjectAt(rules.ObjectAt(m, name), "target"); t != nil {
				d.Quantity(t, "value", rules.Nano)
				d.Quantity(t, "averageValue", rules.Nano)
			}
		}
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
		if rules.TextAt(ref, name) == "" {
			r.Required("spec.scaleTargetRef." + name)
		}
	}
	if rules.TextAt(ref, "apiVersion") == "" {
		r.Invalid("spec.scaleTargetRef.apiVersion", "", "apiVersion must specify API group")
	}
	if most == 0 {
		r.Required("spec.maxReplicas")
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
