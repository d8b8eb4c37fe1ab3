package kinds

import (
	"fmt"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
)

// schedulingKinds are the kinds of scheduling.k8s.io.
func schedulingKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: cluster("scheduling.k8s.io", "priorityclasses", "PriorityClass"), ShortNames: []string{"pc"}},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				d.Set(o, "preemptionPolicy", "PreemptLowerPriority")
				d.Set(o, "value", int64(0))
				d.Drop(o, "globalDefault", "description")
			},
			Validate: refusePriorityClass,
			Zero:     `"value":0`,
			Printer:  priorityClassPrinter,
			Strategy: Strategy{counts: true},
		},
	}
}

// mostPriority is the highest priority of users; system classes are above.
const mostPriority = 1_000_000_000

func refusePriorityClass(r *rules.Refusals, o, old map[string]any) {
	if old != nil {
		if rules.IntAt(o, "value") != rules.IntAt(old, "value") {
			r.Add("FieldValueForbidden", "value", "Forbidden: may not be changed in an update.")
		}
		if !rules.SameValue(o["preemptionPolicy"], old["preemptionPolicy"]) {
			r.Invalid("preemptionPolicy", o["preemptionPolicy"], rules.Immutable)
		}
		return
	}
	if rules.IntAt(o, "value") > mostPriority {
		r.Add("FieldValueForbidden", "value", fmt.Sprintf("Forbidden: maximum allowed value of a user defined priority is %d", mostPriority))
	}
	if s, ok := o["preemptionPolicy"].(string); ok && s == "" {
		r.Required("preemptionPolicy")
	}
	r.Supported("preemptionPolicy", rules.TextAt(o, "preemptionPolicy"), "PreemptLowerPriority", "Never")
}

var priorityClassPrinter = columns.Printer{
	Columns: columns.List(
		columns.Integer("Value", "the priority"),
		columns.Definition{Name: "Global-Default", Type: "boolean", Description: "whether pods without a class have it"},
		columns.AgeColumn(),
		columns.Text("PreemptionPolicy", "whether pods of the class evict others"),
	),
	Cells: func(r *columns.Row) {
		var value int
		var isDefault bool
		var policy string
		r.Read("value", &value)
		r.Read("globalDefault", &isDefault)
		r.Read("preemptionPolicy", &policy)
		r.Add(r.Meta.Name, value, isDefault, r.Age(), policy)
	},
}
