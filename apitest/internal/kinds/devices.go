package kinds

import (
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
)

// deviceKinds are the kinds of resource.k8s.io.
func deviceKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: cluster("resource.k8s.io", "deviceclasses", "DeviceClass"), Returns: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				d.Object(o, "spec")
			},
			Zero:    `"spec":{}`,
			Printer: columns.OnlyAge,
		},
		{
			Info: object.Info{Resource: cluster("resource.k8s.io", "devicetaintrules", "DeviceTaintRule"), Status: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				spec := rules.ObjectAt(o, "spec")
				if taint := rules.ObjectAt(spec, "taint"); taint != nil {
					d.Set(taint, "timeAdded", object.Timestamp())
				}
			},
			Status:   `{}`,
			Zero:     `"spec":{"taint":{"key":"","effect":""}},"status":{}`,
			Printer:  deviceTaintPrinter,
			Strategy: Strategy{Guarded: true},
		},
		{
			Info: object.Info{Resource: Named("resource.k8s.io", "resourceclaims", "ResourceClaim"), Status: true, NoCount: true, Returns: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				fillDeviceRequests(d, d.Object(o, "spec"))
			},
			Status:  `{}`,
			Zero:    `"spec":{"devices":{"requests":null}},"status":{}`,
			Printer: deviceClaimPrinter,
		},
		{
			Info: object.Info{Resource: Named("resource.k8s.io", "resourceclaimtemplates", "ResourceClaimTemplate"), NoCount: true, Returns: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				spec := d.Object(o, "spec")
				d.Object(spec, "metadata")
				fillDeviceRequests(d, d.Object(spec, "spec"))
			},
			Zero:    `"spec":{"metadata":{},"spec":{"devices":{"requests":null}}}`,
			Printer: columns.OnlyAge,
		},
		{
			Info: object.Info{Resource: cluster("resource.k8s.io", "resourceslices", "ResourceSlice"), Returns: true,
				Fields: []string{"spec.nodeName", "spec.driver", "spec.pool.name"}},
			Zero:    `"spec":{"driver":"","pool":{"name":"","generation":0,"resourceSliceCount":0}}`,
			Printer: devicePrinter,
		},
	}
}

// fillDeviceRequests fills in what a claim asks for.
func fillDeviceRequests(d *rules.Defaults, spec map[string]any) {
	devices := d.Object(spec, "devices")
	one := func(r map[string]any) {
		d.Text(r, "allocationMode", "ExactCount")
		if r["allocationMode"] == "ExactCount" {
			d.Number(r, "count", 1)
		}
		for t := range rules.ObjectsAt(r, "tolerations") {
			d.Text(t, "operator", "Equal")
		}
	}
	for r := range rules.ObjectsAt(devices, "requests") {
		if exactly := rules.ObjectAt(r, "exactly"); exactly != nil {
			one(exactly)
		}
		for sub := range rules.ObjectsAt(r, "firstAvailable") {
			one(sub)
		}
	}
}

var deviceTaintPrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Key", "of the taint"),
		columns.Text("Value", "of the taint"),
		columns.Text("Effect", "of the taint"),
		columns.Text("TimeAdded", "time since devices have the taint"),
		columns.AgeColumn(),
	),
	Cells: func(r *columns.Row) {
		var spec struct {
			Taint struct{ Key, Value, Effect, TimeAdded string }
		}
		r.Read("spec", &spec)
		t := spec.Taint
		r.Add(r.Meta.Name, t.Key, t.Value, t.Effect, r.Since(t.TimeAdded), r.Age())
	},
}

var deviceClaimPrinter = columns.Printer{
	Columns: columns.List(columns.Text("State", "pending, or allocated, and for whom"), columns.AgeColumn()),
	Cells: func(r *columns.Row) {
		var status struct {
			Allocation  *struct{}
			ReservedFor []struct{}
		}
		r.Read("status", &status)
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
		r.Add(r.Meta.Name, strings.Join(states, ","), r.Age())
	},
}

var devicePrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Node", "whose devices these are"),
		columns.Text("Driver", "who manages them"),
		columns.Text("Pool", "what they belong to"),
		columns.AgeColumn(),
	),
	Cells: func(r *columns.Row) {
		var spec struct {
			NodeName, Driver string
			Pool             struct{ Name string }
		}
		r.Read("spec", &spec)
		r.Add(r.Meta.Name, spec.NodeName, spec.Driver, spec.Pool.Name, r.Age())
	},
}
