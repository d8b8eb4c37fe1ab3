package kinds

import (
	"cmp"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/pods"
	"github.com/listwatch/listwatch/apitest/internal/rules"
)

// storageKinds are the kinds of storage.k8s.io.
func storageKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: cluster("storage.k8s.io", "storageclasses", "StorageClass"), Returns: true, ShortNames: []string{"sc"}, NoCount: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				d.Set(o, "reclaimPolicy", "Delete")
				d.Set(o, "volumeBindingMode", "Immediate")
			},
			Validate: refuseStorageClass,
			Zero:     `"provisioner":""`,
			Printer:  storageClassPrinter,
		},
		{
			Info: object.Info{Resource: cluster("storage.k8s.io", "csidrivers", "CSIDriver"), NoCount: true, Returns: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				fillCsiDriver(d, d.Object(o, "spec"))
			},
			Validate: refuseDriver,
			Zero:     `"spec":{}`,
			Printer:  csiDriverPrinter,
			Strategy: Strategy{Guarded: true},
		},
		{
			Info: object.Info{Resource: cluster("storage.k8s.io", "csinodes", "CSINode"), Status: true, NoCount: true, Returns: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				spec := d.Object(o, "spec")
				d.NullEmpty(spec, "drivers")
				for driver := range rules.ObjectsAt(spec, "drivers") {
					d.NullEmpty(driver, "topologyKeys")
				}
			},
			Validate: refuseDrivers,
			Status:   `{}`,
			Zero:     `"spec":{"drivers":null},"status":{}`,
			Printer:  csiNodePrinter,
			Strategy: Strategy{Guarded: true},
		},
		{
			Info: object.Info{Resource: Named("storage.k8s.io", "csistoragecapacities", "CSIStorageCapacity")},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				d.Quantity(o, "capacity", rules.Nano)
				d.Quantity(o, "maximumVolumeSize", rules.Nano)
			},
			Validate: func(r *rules.Refusals, o, _ map[string]any) {
				name := rules.TextAt(o, "storageClassName")
				r.Each("storageClassName", name, rules.Subdomain(name))
				r.LabelSelector("nodeTopology", rules.ObjectAt(o, "nodeTopology"))
			},
			Zero:     `"storageClassName":""`,
			Strategy: Strategy{Guarded: true},
		},
		{
			Info: object.Info{Resource: cluster("storage.k8s.io", "volumeattachments", "VolumeAttachment"), Status: true, NoCount: true, Returns: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				d.Object(d.Object(o, "spec"), "source")
			},
			Validate: refuseAttachment,
			Status:   `{"attached":false}`,
			Zero:     `"spec":{"attacher":"","source":{},"nodeName":""},"status":{"attached":false}`,
			Printer:  attachmentPrinter,
			Strategy: Strategy{Guarded: true},
		},
		{
			Info: object.Info{Resource: cluster("storage.k8s.io", "volumeattributesclasses", "VolumeAttributesClass"), ShortNames: []string{"vac"}, Returns: true},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				for _, name := range [...]string{"driverName", "parameters"} {
					if old != nil && !rules.SameValue(o[name], old[name]) {
						r.Forbidden(name, "updates to "+name+" are forbidden.")
					}
				}
			},
			Zero:    `"driverName":""`,
			Printer: attributesPrinter,
		},
	}
}

func refuseAttachment(r *rules.Refusals, o, old map[string]any) {
	r.Fixed("", o, old, "spec")
	spec := rules.ObjectAt(o, "spec")
	pods.RefuseDriver(r, "spec.attacher", rules.TextAt(spec, "attacher"))
	source := rules.ObjectAt(spec, "source")
	if rules.Has(source, "inlineVolumeSpec") == rules.Has(source, "persistentVolumeName") {
		r.Required("spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName")
	}
	if name, ok := source["persistentVolumeName"].(string); ok {
		if name == "" {
			r.Required("spec.source.persistentVolumeName")
		}
		r.Each("spec.source.persistentVolumeName", name, rules.Subdomain(name))
	}
	name := rules.TextAt(spec, "nodeName")
	r.Each("spec.nodeName", name, rules.Subdomain(name))
}

func fillCsiDriver(d *rules.Defaults, spec map[string]any) {
	d.Set(spec, "attachRequired", true)
	d.Set(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType")
	for _, name := range [...]string{"podInfoOnMount", "preventPodSchedulingIfMissing", "requiresRepublish", "seLinuxMount", "storageCapacity"} {
		d.Set(spec, name, false)
	}
	for t := range rules.ObjectsAt(spec, "tokenRequests") {
		d.Set(t, "audience", "")
	}
	if rules.Lacks(spec, "volumeLifecycleModes") {
		d.Put(spec, "volumeLifecycleModes", []any{"Persistent"})
	}
}

var csiDriverPrinter = columns.Printer{
	Columns: columns.List(
		columns.Definition{Name: "AttachRequired", Type: "boolean", Description: "whether volumes are attached to nodes"},
		columns.Definition{Name: "PodInfoOnMount", Type: "boolean", Description: "whether the driver gets the pod's info"},
		columns.Definition{Name: "StorageCapacity", Type: "boolean", Description: "whether the driver reports its capacity"},
		columns.Text("TokenRequests", "tokens of the pod that it needs"),
		columns.Definition{Name: "RequiresRepublish", Type: "boolean", Description: "whether it is called again and again"},
		columns.Text("Modes", "kinds of volumes"),
		columns.AgeColumn(),
	),
	Cells: func(r *columns.Row) {
		var spec struct {
			AttachRequired, PodInfoOnMount, StorageCapacity, RequiresRepublish *bool
			TokenRequests                                                      []struct{ Audience string }
			VolumeLifecycleModes                                               []string
		}
		r.Read("spec", &spec)
		var audiences []string
		for _, t := range spec.TokenRequests {
			audiences = append(audiences, t.Audience)
		}
		r.Add(r.Meta.Name, columns.Or(spec.AttachRequired, true), columns.Or(spec.PodInfoOnMount, false), columns.Or(spec.StorageCapacity, false),
			cmp.Or(strings.Join(audiences, ","), columns.Unset), columns.Or(spec.RequiresRepublish, false),
			cmp.Or(strings.Join(spec.VolumeLifecycleModes, ","), columns.None), r.Age())
	},
}

var csiNodePrinter = columns.Printer{
	Columns: columns.List(columns.Integer("Drivers", "number of drivers on the node"), columns.AgeColumn()),
	Cells: func(r *columns.Row) {
		var spec struct{ Drivers []struct{} }
		r.Read("spec", &spec)
		r.Add(r.Meta.Name, len(spec.Drivers), r.Age())
	},
}

var attachmentPrinter = columns.Printer{
	Columns: columns.List(
		columns.Definition{Name: "Attacher", Type: "string", Format: "name", Description: "who attaches the volume"},
		columns.Text("PV", "the volume"),
		columns.Text("Node", "where it is to be"),
		columns.Definition{Name: "Attached", Type: "boolean", Description: "whether it is there"},
		columns.AgeColumn(),
	),
	Cells: func(r *columns.Row) {
		var spec struct {
			Attacher, NodeName string
			Source             struct{ PersistentVolumeName string }
		}
		var status struct{ Attached bool }
		r.Read("spec", &spec)
		r.Read("status", &status)
		r.Add(r.Meta.Name, spec.Attacher, spec.Source.PersistentVolumeName, spec.NodeName, status.Attached, r.Age())
	},
}

var attributesPrinter = columns.Printer{
	Columns: columns.List(columns.Text("DriverName", "whose attributes these are"), columns.AgeColumn()),
	Cells: func(r *columns.Row) {
		var driver string
		r.Read("driverName", &driver)
		r.Add(r.Meta.Name, driver, r.Age())
	},
}

func refuseStorageClass(r *rules.Refusals, o, old map[string]any) {
	r.Supported("reclaimPolicy", rules.TextAt(o, "reclaimPolicy"), "Delete", "Retain")
	if mode := rules.TextAt(o, "volumeBindingMode"); mode != "Immediate" && mode != "WaitForFirstConsumer" {
		r.Unsupported("volumeBindingMode", mode, "Immediate", "WaitForFirstConsumer")
	}
	if name := rules.TextAt(o, "provisioner"); name == "" {
		r.Required("provisioner")
	} else {
		r.Each("provisioner", name, rules.QualifiedName(strings.ToLower(name)))
	}
	r.Topologies("allowedTopologies", rules.ListAt(o, "allowedTopologies"))
	if old == nil {
		return
	}
	for _, name := range [...]string{"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"} {
		if !rules.SameValue(o[name], old[name]) {
			r.Invalid(name, nil, rules.Immutable)
		}
	}
}

var storageClassPrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Provisioner", "who makes the volumes"),
		columns.Text("ReclaimPolicy", "what becomes of them after their claims"),
		columns.Text("VolumeBindingMode", "when they are made"),
		columns.Text("AllowVolumeExpansion", "whether they can grow"),
		columns.AgeColumn(),
	),
	Cells: func(r *columns.Row) {
		var provisioner string
		var reclaim, binding *string
		expands := false
		r.Read("provisioner", &provisioner)
		r.Read("reclaimPolicy", &reclaim)
		r.Read("volumeBindingMode", &binding)
		r.Read("allowVolumeExpansion", &expands)
		r.Add(r.Meta.Name, provisioner, columns.Or(reclaim, "Delete"), columns.Or(binding, "Immediate"), expands, r.Age())
	},
	Standard: defaultStorageClass,
}

// defaultStorageClass returns the youngest class that is marked as the default;
// of two of the same age, the one whose name comes first. Nil where there is
// none.
func defaultStorageClass(objects []*object.Object) *object.Object {
	var found *object.Object
	for _, o := range objects {
		a := o.Meta.Annotations
		if a["storageclass.kubernetes.io/is-default-class"] != "true" && a["storageclass.beta.kubernetes.io/is-default-class"] != "true" {
			continue
		}
		if found == nil || o.Meta.CreationTimestamp > found.Meta.CreationTimestamp {
			found = o // they come in the order of names
		}
	}
	return found
}

func refuseDriver(r *rules.Refusals, o, old map[string]any) {
	spec, was := rules.ObjectAt(o, "spec"), rules.ObjectAt(old, "spec")
	if was != nil && spec["attachRequired"] != was["attachRequired"] {
		r.Invalid("spec.attachedRequired", spec["attachRequired"], rules.Immutable) // the name in its message
	}
	r.Fixed("spec", spec, was, "volumeLifecycleModes")
	if s, ok := spec["fsGroupPolicy"].(string); ok && s != "ReadWriteOnceWithFSType" && s != "File" && s != "None" {
		r.Unsupported("spec.fsGroupPolicy", s, "File", "None", "ReadWriteOnceWithFSType")
	}
	r.Among("spec", spec, "volumeLifecycleModes", "Ephemeral", "Persistent")
	seen := map[string]bool{}
	for at, t := range rules.Elements("spec", spec, "tokenRequests") {
		audience := rules.TextAt(t, "audience")
		if seen[audience] {
			r.Duplicate(at+".audience", audience)
			continue
		}
		seen[audience] = true
		if n, ok := t["expirationSeconds"].(int64); ok && n < 600 {
			r.Invalid(at+".expirationSeconds", n, "may not specify a duration less than 10 minutes")
		}
	}
}

func refuseDrivers(r *rules.Refusals, o, _ map[string]any) {
	names := map[string]bool{}
	for at, d := range rules.Elements("spec", rules.ObjectAt(o, "spec"), "drivers") {
		name := rules.TextAt(d, "name")
		pods.RefuseDriver(r, at+".name", name)
		if names[name] {
			r.Duplicate(at+".name", name)
		}
		names[name] = true
		if id := rules.TextAt(d, "nodeID"); id == "" {
			r.Required(at + ".nodeID")
		} else if len(id) > 256 {
			r.Invalid(at+".nodeID", id, "must be 256 characters or less")
		}
		if n, ok := rules.ObjectAt(d, "allocatable")["count"].(int64); ok && n < 0 {
			r.Invalid(at+".allocatable.count", n, "must be greater than or equal to 0")
		}
		keys := map[string]bool{}
		for _, key := range rules.Texts(at, d, "topologyKeys") {
			switch wrong := rules.QualifiedName(key); {
			case key == "":
				r.Required(at)
				r.Each(at, key, wrong)
			case len(wrong) > 0:
				r.Each(at, key, wrong)
			case keys[key]:
				r.Duplicate(at, key)
			}
			keys[key] = true
		}
	}
}
