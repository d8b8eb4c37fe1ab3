package kinds

import (
	"cmp"
	"strings"
)

// What drivers of storage, devices and networks tell of themselves.

var csiDriverPrinter = Printer{
	Columns: columns(
		ColumnDefinition{Name: "AttachRequired", Type: "boolean", Description: "whether volumes are attached to nodes"},
		ColumnDefinition{Name: "PodInfoOnMount", Type: "boolean", Description: "whether it is told the pod"},
		ColumnDefinition{Name: "StorageCapacity", Type: "boolean", Description: "whether it tells its capacity"},
		column("TokenRequests", "tokens of the pod that it needs"),
		ColumnDefinition{Name: "RequiresRepublish", Type: "boolean", Description: "whether it is called again and again"},
		column("Modes", "kinds of volumes"),
		ageColumn(),
	),
	Cells: func(r *Row) {
		var spec struct {
			AttachRequired, PodInfoOnMount, StorageCapacity, RequiresRepublish *bool
			TokenRequests                                                      []struct{ Audience string }
			VolumeLifecycleModes                                               []string
		}
		r.read("spec", &spec)
		var audiences []string
		for _, t := range spec.TokenRequests {
			audiences = append(audiences, t.Audience)
		}
		r.add(r.Meta.Name, Or(spec.AttachRequired, true), Or(spec.PodInfoOnMount, false), Or(spec.StorageCapacity, false),
			cmp.Or(strings.Join(audiences, ","), unset), Or(spec.RequiresRepublish, false),
			cmp.Or(strings.Join(spec.VolumeLifecycleModes, ","), none), r.age())
	},
}

var csiNodePrinter = Printer{
	Columns: columns(integerColumn("Drivers", "number of drivers on the node"), ageColumn()),
	Cells: func(r *Row) {
		var spec struct{ Drivers []struct{} }
		r.read("spec", &spec)
		r.add(r.Meta.Name, len(spec.Drivers), r.age())
	},
}

var attachmentPrinter = Printer{
	Columns: columns(
		ColumnDefinition{Name: "Attacher", Type: "string", Format: "name", Description: "who attaches the volume"},
		column("PV", "the volume"),
		column("Node", "where it is to be"),
		ColumnDefinition{Name: "Attached", Type: "boolean", Description: "whether it is there"},
		ageColumn(),
	),
	Cells: func(r *Row) {
		var spec struct {
			Attacher, NodeName string
			Source             struct{ PersistentVolumeName string }
		}
		var status struct{ Attached bool }
		r.read("spec", &spec)
		r.read("status", &status)
		r.add(r.Meta.Name, spec.Attacher, spec.Source.PersistentVolumeName, spec.NodeName, status.Attached, r.age())
	},
}

var attributesPrinter = Printer{
	Columns: columns(column("DriverName", "whose attributes these are"), ageColumn()),
	Cells: func(r *Row) {
		var driver string
		r.read("driverName", &driver)
		r.add(r.Meta.Name, driver, r.age())
	},
}

var addressPrinter = Printer{
	Columns: columns(column("ParentRef", "who has the address")),
	Cells: func(r *Row) {
		var spec struct {
			ParentRef *struct{ Group, Resource, Namespace, Name string }
		}
		r.read("spec", &spec)
		parent := none
		if p := spec.ParentRef; p != nil {
			parent = p.Resource
			if p.Group != "" {
				parent += "." + p.Group
			}
			if p.Namespace != "" {
				parent += "/" + p.Namespace
			}
			parent += "/" + p.Name
		}
		r.add(r.Meta.Name, parent)
	},
}

var cidrPrinter = Printer{
	Columns: columns(column("CIDRs", "ranges of addresses of services"), ageColumn()),
	Cells: func(r *Row) {
		var spec struct{ CIDRs []string }
		r.read("spec", &spec)
		r.add(r.Meta.Name, strings.Join(spec.CIDRs, ","), r.age())
	},
}

var runtimeClassPrinter = Printer{
	Columns: columns(column("Handler", "what runs the containers"), ageColumn()),
	Cells: func(r *Row) {
		var handler string
		r.read("handler", &handler)
		r.add(r.Meta.Name, handler, r.age())
	},
}

// agePrinter prints what has nothing else to tell.
var agePrinter = Printer{
	Columns: columns(ageColumn()),
	Cells:   func(r *Row) { r.add(r.Meta.Name, r.age()) },
}

var deviceTaintPrinter = Printer{
	Columns: columns(
		column("Key", "of the taint"),
		column("Value", "of the taint"),
		column("Effect", "of the taint"),
		column("TimeAdded", "time since devices have the taint"),
		ageColumn(),
	),
	Cells: func(r *Row) {
		var spec struct {
			Taint struct{ Key, Value, Effect, TimeAdded string }
		}
		r.read("spec", &spec)
		t := spec.Taint
		r.add(r.Meta.Name, t.Key, t.Value, t.Effect, since(t.TimeAdded), r.age())
	},
}

var deviceClaimPrinter = Printer{
	Columns: columns(column("State", "pending, or allocated, and for whom"), ageColumn()),
	Cells: func(r *Row) {
		var status struct {
			Allocation  *struct{}
			ReservedFor []struct{}
		}
		r.read("status", &status)
		var states []string
		if r.Meta.DeletionTimestamp != "" {
			states = append(states, "deleted")
		}
		switch {
		case status.Allocation == nil && r.Meta.DeletionTimestamp == "":
			states = append(states, "pending")
		case status.Allocation == nil:
		case len(status.ReservedFor) > 0:
			states = append(states, "allocated", "reserved")
		default:
			states = append(states, "allocated")
		}
		r.add(r.Meta.Name, strings.Join(states, ","), r.age())
	},
}

var devicePrinter = Printer{
	Columns: columns(
		column("Node", "whose devices these are"),
		column("Driver", "who manages them"),
		column("Pool", "what they belong to"),
		ageColumn(),
	),
	Cells: func(r *Row) {
		var spec struct {
			NodeName, Driver string
			Pool             struct{ Name string }
		}
		r.read("spec", &spec)
		r.add(r.Meta.Name, spec.NodeName, spec.Driver, spec.Pool.Name, r.age())
	},
}
