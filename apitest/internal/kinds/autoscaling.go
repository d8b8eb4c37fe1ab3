package kinds

import (
	"strconv"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// autoscalingKinds are the kinds of autoscaling.
func autoscalingKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: kube.Resource{Group: "autoscaling", Version: "v2", Plural: "horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler", Namespaced: true}, ShortNames: []string{"hpa"}, Categories: []string{"all"}, Status: true},
			Defaults: func(d *Defaults, o map[string]any) {
				d.autoscaler(d.Object(o, "spec"))
			},
			Validate: func(r *Refusals, o, old map[string]any) {
				spec := ObjectAt(o, "spec")
				r.autoscaler(spec)
			},
			Status:  `{"desiredReplicas":0,"currentMetrics":null}`,
			Zero:    `"spec":{"scaleTargetRef":{"kind":"","name":""},"maxReplicas":0},"status":{"desiredReplicas":0,"currentMetrics":null}`,
			Printer: autoscalerPrinter,
		},
	}
}

// autoscaler fills in the spec of a HorizontalPodAutoscaler.
func (d *Defaults) autoscaler(spec map[string]any) {
	d.set(spec, "minReplicas", int64(1))
	if Lacks(spec, "metrics") {
		d.put(spec, "metrics", []any{map[string]any{"type": "Resource", "resource": map[string]any{
			"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": int64(80)}}}})
	}
	for m := range ObjectsAt(spec, "metrics") {
		for _, name := range [...]string{"object", "pods", "resource", "containerResource", "external"} {
			if t := ObjectAt(ObjectAt(m, name), "target"); t != nil {
				d.quantity(t, "value", nano)
				d.quantity(t, "averageValue", nano)
			}
		}
	}
	behavior := ObjectAt(spec, "behavior")
	if behavior == nil {
		return
	}
	policy := func(typ string, value int64) any {
		return map[string]any{"type": typ, "value": value, "periodSeconds": int64(15)}
	}
	up, down := d.Object(behavior, "scaleUp"), d.Object(behavior, "scaleDown")
	d.set(up, "stabilizationWindowSeconds", int64(0))
	d.set(up, "selectPolicy", "Max")
	d.set(up, "policies", []any{policy("Pods", 4), policy("Percent", 100)})
	d.set(down, "selectPolicy", "Max")
	d.set(down, "policies", []any{policy("Percent", 100)})
}

func (r *Refusals) autoscaler(spec map[string]any) {
	most := IntAt(spec, "maxReplicas")
	if most < IntAt(spec, "minReplicas") {
		r.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
	}
	ref := ObjectAt(spec, "scaleTargetRef")
	for _, name := range [...]string{"kind", "name"} {
		if TextAt(ref, name) == "" {
			r.required("spec.scaleTargetRef." + name)
		}
	}
	if TextAt(ref, "apiVersion") == "" {
		r.invalid("spec.scaleTargetRef.apiVersion", "", "apiVersion must specify API group")
	}
	if most == 0 {
		r.required("spec.maxReplicas")
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
