package apitest

import (
	"cmp"
	"strings"
)

// What drivers of storage, devices and networks tell of themselves.

var csiDriverPrinter = printer{
	columns: columns(
		columnDefinition{Name: "AttachRequired", Type: "boolean", Description: "whether volumes are attached to nodes"},
		columnDefinition{Name: "PodInfoOnMount", Type: "boolean", Description: "whether it is told the pod"},
		columnDefinition{Name: "StorageCapacity", Type: "boolean", Description: "whether it tells its capacity"},
		column("TokenRequests", "tokens of the pod that it needs"),
		columnDefinition{Name: "RequiresRepublish", Type: "boolean", Description: "whether it is called again and again"},
		column("Modes", "kinds of volumes"),
		ageColumn(),
	),
	cells: func(r *row) {
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
		r.add(r.Meta.Name, or(spec.AttachRequired, true), or(spec.PodInfoOnMount, false), or(spec.StorageCapacity, false),
			cmp.Or(strings.Join(audiences, ","), unset), or(spec.RequiresRepublish, false),
			cmp.Or(strings.Join(spec.VolumeLifecycleModes, ","), none), r.age())
	},
}

var csiNodePrinter = printer{
	columns: columns(integerColumn("Drivers", "number of drivers on the node"), ageColumn()),
	cells: func(r *row) {
		var spec struct{ Drivers []struct{} }
		r.read("spec", &spec)
		r.add(r.Meta.Name, len(spec.Drivers), r.age())
	},
}

var attachmentPrinter = printer{
	columns: columns(
		columnDefinition{Name: "Attacher", Type: "string", Format: "name", Description: "who attaches the volume"},
		column("PV", "the volume"),
		column("Node", "where it is to be"),
		columnDefinition{Name: "Attached", Type: "boolean", Description: "whether it is there"},
		ageColumn(),
	),
	cells: func(r *row) {
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

var attributesPrinter = printer{
	columns: columns(column("DriverName", "whose attributes these are"), ageColumn()),
	cells: func(r *row) {
		var driver string
		r.read("driverName", &driver)
		r.add(r.Meta.Name, driver, r.age())
	},
}

var addressPrinter = printer{
	columns: columns(column("ParentRef", "who has the address")),
	cells: func(r *row) {
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

var cidrPrinter = printer{
	columns: columns(column("CIDRs", "ranges of addresses of services"), ageColumn()),
	cells: func(r *row) {
		var spec struct{ CIDRs []string }
		r.read("spec", &spec)
		r.add(r.Meta.Name, strings.Join(spec.CIDRs, ","), r.age())
	},
}

var runtimeClassPrinter = printer{
	columns: columns(column("Handler", "what runs the containers"), ageColumn()),
	cells: func(r *row) {
		var handler string
		r.read("handler", &handler)
		r.add(r.Meta.Name, handler, r.age())
	},
}

// agePrinter prints what has nothing else to tell.
var agePrinter = printer{
	columns: columns(ageColumn()),
	cells:   func(r *row) { r.add(r.Meta.Name, r.age()) },
}

var deviceTaintPrinter = printer{
	columns: columns(
		column("Key", "of the taint"),
		column("Value", "of the taint"),
		column("Effect", "of the taint"),
		column("TimeAdded", "time since devices have the taint"),
		ageColumn(),
	),
	cells: func(r *row) {
		var spec struct {
			Taint struct{ Key, Value, Effect, TimeAdded string }
		}
		r.read("spec", &spec)
		t := spec.Taint
		r.add(r.Meta.Name, t.Key, t.Value, t.Effect, since(t.TimeAdded), r.age())
	},
}

var deviceClaimPrinter = printer{
	columns: columns(column("State", "pending, or allocated, and for whom"), ageColumn()),
	cells: func(r *row) {
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

var devicePrinter = printer{
	columns: columns(
		column("Node", "whose devices these are"),
		column("Driver", "who manages them"),
		column("Pool", "what they belong to"),
		ageColumn(),
	),
	cells: func(r *row) {
		var spec struct {
			NodeName, Driver string
			Pool             struct{ Name string }
		}
		r.read("spec", &spec)
		r.add(r.Meta.Name, spec.NodeName, spec.Driver, spec.Pool.Name, r.age())
	},
}
