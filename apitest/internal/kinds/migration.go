package kinds

import (
	"github.com/listwatch/listwatch/apitest/internal/object"

	"github.com/listwatch/listwatch/apitest/internal/columns"
)

// migrationKinds are the kinds of storagemigration.k8s.io.
func migrationKinds() []Kind {
	return []Kind{
		{
			Info:     object.Info{Resource: cluster("storagemigration.k8s.io", "storageversionmigrations", "StorageVersionMigration"), Status: true, NoCount: true},
			Status:   `{}`,
			Zero:     `"spec":{"resource":{"group":"","resource":""}},"status":{}`,
			Printer:  migrationPrinter,
			Strategy: Strategy{Guarded: true},
		},
	}
}

var migrationPrinter = columns.Printer{
	Columns: []columns.Definition{
		columns.Text("Name", "name of the object, unique in its namespace"),
		columns.Text("Resource", "resource that is rewritten"),
		columns.Text("Status", "how far that is"),
	},
	Cells: func(r *columns.Row) {
		var spec struct {
			Resource struct{ Group, Resource string }
		}
		var status struct{ Conditions columns.Conditions }
		r.Read("spec", &spec)
		r.Read("status", &status)
		resource, state := spec.Resource.Resource, "Unknown"
		if g := spec.Resource.Group; g != "" {
			resource += "." + g
		}
		for _, c := range status.Conditions {
			if c.Status == "True" {
				state = c.Type
			}
		}
		r.Add(r.Meta.Name, resource, state)
	},
}
