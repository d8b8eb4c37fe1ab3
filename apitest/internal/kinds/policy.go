package kinds

import (
	"cmp"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
)

// policyKinds are the kinds of policy.
func policyKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: Named("policy", "poddisruptionbudgets", "PodDisruptionBudget"), ShortNames: []string{"pdb"}, Status: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				d.Object(o, "spec")
			},
			Validate: func(r *rules.Refusals, o, _ map[string]any) {
				spec := rules.ObjectAt(o, "spec")
				if rules.Has(spec, "minAvailable") && rules.Has(spec, "maxUnavailable") {
					r.Invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")
				}
				r.Share("spec.minAvailable", spec["minAvailable"])
				r.Share("spec.maxUnavailable", spec["maxUnavailable"])
				r.LabelSelector("spec.selector", rules.ObjectAt(spec, "selector"))
				if s, ok := spec["unhealthyPodEvictionPolicy"].(string); ok && s != "AlwaysAllow" && s != "IfHealthyBudget" {
					r.Unsupported("spec.unhealthyPodEvictionPolicy", s, "AlwaysAllow", "IfHealthyBudget")
				}
			},
			Status:   `{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}`,
			Zero:     `"spec":{},"status":{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}`,
			Printer:  budgetPrinter,
			Strategy: Strategy{Guarded: true, name: rules.SegmentName},
		},
	}
}

var budgetPrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Min Available", "pods that must stay"),
		columns.Text("Max Unavailable", "pods that may go"),
		columns.Integer("Allowed Disruptions", "pods that may go now"),
		columns.AgeColumn(),
	),
	Cells: func(r *columns.Row) {
		var spec struct{ MinAvailable, MaxUnavailable columns.Loose }
		var status struct{ DisruptionsAllowed int }
		r.Read("spec", &spec)
		r.Read("status", &status)
		r.Add(r.Meta.Name, cmp.Or(string(spec.MinAvailable), "N/A"), cmp.Or(string(spec.MaxUnavailable), "N/A"),
			status.DisruptionsAllowed, r.Age())
	},
}
