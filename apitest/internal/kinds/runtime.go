package kinds

import (
	"github.com/listwatch/listwatch/apitest/internal/object"

	"github.com/listwatch/listwatch/apitest/internal/columns"
)

// runtimeKinds are the kinds of node.k8s.io.
func runtimeKinds() []Kind {
	return []Kind{
		{
			Info:     object.Info{Resource: cluster("node.k8s.io", "runtimeclasses", "RuntimeClass")},
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
