package kinds

import "github.com/listwatch/listwatch/apitest/internal/object"

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

var runtimeClassPrinter = Printer{
	Columns: columns(column("Handler", "what runs the containers"), ageColumn()),
	Cells: func(r *Row) {
		var handler string
		r.read("handler", &handler)
		r.add(r.Meta.Name, handler, r.age())
	},
}
