package kinds

import (
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"

	"github.com/listwatch/listwatch/apitest/internal/columns"
)

// runtimeKinds are the kinds of node.k8s.io.
func runtimeKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: cluster("node.k8s.io", "runtimeclasses", "RuntimeClass")},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				d.Quantities(rules.ObjectAt(o, "overhead"), "podFixed")
				d.DropIn(rules.ObjectAt(o, "scheduling"), "tolerations", "key", "operator", "value", "effect")
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				r.Fixed("", o, old, "handler")
				if handler := rules.TextAt(o, "handler"); handler == "" {
					r.Required("handler")
				} else {
					r.Each("handler", handler, rules.LabelName(handler))
				}
				s := rules.ObjectAt(o, "scheduling")
				r.Labels("scheduling.nodeSelector", rules.ObjectAt(s, "nodeSelector"))
				r.Tolerations("scheduling", s)
				seen := map[string]bool{}
				for at, t := range rules.Elements("scheduling", s, "tolerations") {
					if id := rules.Show(t); seen[id] {
						r.Duplicate(at, t)
					} else {
						seen[id] = true
					}
				}
			},
			Zero:     `"handler":""`,
			Printer:  runtimeClassPrinter,
			Strategy: Strategy{Upserts: true, Guarded: true},
		},
	}
}

var runtimeClassPrinter = columns.Printer{
	Columns: columns.List(columns.Text("Handler", "what runs the containers"), columns.AgeColumn()),
	Cells: func(r *columns.Row) {
		var handler string
		r.Read("handler", &handler)
		r.Add(r.Meta.Name, handler, r.Age())
	},
}
