package kinds

import "github.com/listwatch/listwatch/apitest/internal/object"

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

var migrationPrinter = Printer{
	Columns: []ColumnDefinition{
		column("Name", "name of the object, unique in its namespace"),
		column("Resource", "what is stored anew"),
		column("Status", "how far that is"),
	},
	Cells: func(r *Row) {
		var spec struct {
			Resource struct{ Group, Resource string }
		}
		var status struct{ Conditions Conditions }
		r.read("spec", &spec)
		r.read("status", &status)
		resource, state := spec.Resource.Resource, "Unknown"
		if g := spec.Resource.Group; g != "" {
			resource += "." + g
		}
		for _, c := range status.Conditions {
			if c.Status == "True" {
				state = c.Type
			}
		}
		r.add(r.Meta.Name, resource, state)
	},
}
