package kinds

import "strconv"

var autoscalerPrinter = Printer{
	Columns: columns(
		column("Reference", "what is scaled"),
		column("Targets", "what is measured, and what it should be"),
		column("MinPods", "fewest pods"),
		column("MaxPods", "most pods"),
		column("Replicas", "pods now"),
		ageColumn(),
	),
	Cells: func(r *Row) {
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
		r.read("spec", &spec)
		r.read("status", &status)
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
		least, all := unset, none
		if spec.MinReplicas != nil {
			least = strconv.Itoa(*spec.MinReplicas)
		}
		if len(targets) > 0 {
			all = someOf(2, targets, ", ")
		}
		r.add(r.Meta.Name, spec.ScaleTargetRef.Kind+"/"+spec.ScaleTargetRef.Name, all, least,
			spec.MaxReplicas, status.CurrentReplicas, r.age())
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
	Value, AverageValue *quantity
	AverageUtilization  *int
}

func (m *metric) source(typ string) *metricSource {
	return map[string]*metricSource{"External": m.External, "Pods": m.Pods, "Object": m.Object,
		"Resource": m.Resource, "ContainerResource": m.ContainerResource}[typ]
}

// target returns what m is now, and what it should be.
func (m *metric) target(now *metricValue) string {
	amount := func(q *quantity) string {
		if q == nil {
			return unknown
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
	return s.Name + ": " + percent(now.AverageUtilization, unknown) + "/" + percent(s.Target.AverageUtilization, "<auto>")
}
