package kinds

import (
	"cmp"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

// policyKinds are the kinds of policy.
func policyKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: Named("policy", "poddisruptionbudgets", "PodDisruptionBudget"), ShortNames: []string{"pdb"}, Status: true},
			Defaults: func(d *Defaults, o map[string]any) {
				d.Object(o, "spec")
			},
			Status:   `{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}`,
			Zero:     `"spec":{},"status":{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}`,
			Printer:  budgetPrinter,
			Strategy: Strategy{Guarded: true, name: SegmentName},
		},
	}
}

var budgetPrinter = Printer{
	Columns: columns(
		column("Min Available", "pods that must stay"),
		column("Max Unavailable", "pods that may go"),
		integerColumn("Allowed Disruptions", "pods that may go now"),
		ageColumn(),
	),
	Cells: func(r *Row) {
		var spec struct{ MinAvailable, MaxUnavailable loose }
		var status struct{ DisruptionsAllowed int }
		r.read("spec", &spec)
		r.read("status", &status)
		r.add(r.Meta.Name, cmp.Or(string(spec.MinAvailable), "N/A"), cmp.Or(string(spec.MaxUnavailable), "N/A"),
			status.DisruptionsAllowed, r.age())
	},
}
