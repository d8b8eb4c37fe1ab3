package kinds

import (
	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/kube"
)

// coordinationKinds are the kinds of coordination.k8s.io.
func coordinationKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: kube.Leases, NoCount: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				d.Object(o, "spec")
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				spec := rules.ObjectAt(o, "spec")
				refuseLease(r, spec)
			},
			Zero:     `"spec":{}`,
			Printer:  leasePrinter,
			Strategy: Strategy{Upserts: true, Guarded: true},
		},
	}
}

func refuseLease(r *rules.Refusals, spec map[string]any) {
	if n, ok := spec["leaseDurationSeconds"].(int64); ok && n <= 0 {
		r.Invalid("spec.leaseDurationSeconds", n, "must be greater than 0")
	}
	if n, ok := spec["leaseTransitions"].(int64); ok && n < 0 {
		r.Invalid("spec.leaseTransitions", n, "must be greater than or equal to 0")
	}
}

var leasePrinter = columns.Printer{
	Columns: columns.List(columns.Text("Holder", "who has the lease"), columns.AgeColumn()),
	Cells: func(r *columns.Row) {
		var spec struct{ HolderIdentity string }
		r.Read("spec", &spec)
		r.Add(r.Meta.Name, spec.HolderIdentity, r.Age())
	},
}
