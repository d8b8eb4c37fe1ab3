package kinds

import (
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/schema"
	"github.com/listwatch/listwatch/kube"
)

// volumeKinds are the kinds of the core group about volumes.
func volumeKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: kube.PersistentVolumeClaims, Returns: true, ShortNames: []string{"pvc"}, Status: true, NoCount: true},
			Defaults: func(d *Defaults, o map[string]any) {
				d.claim(d.Object(o, "spec"))
			},
			Validate: func(r *Refusals, o, old map[string]any) {
				spec := ObjectAt(o, "spec")
				if Lacks(spec, "accessModes") {
					r.required("spec.accessModes", "at least 1 access mode is required")
				}
				if quantityOf(ObjectAt(ObjectAt(spec, "resources"), "requests"), "storage") == "" {
					r.required("spec.resources[storage]")
				}
			},
			Status:  `{"phase":"Pending"}`,
			Zero:    `"spec":{"resources":{}},"status":{}`,
			Printer: claimPrinter,
			Assign: func(d *Defaults, o, _ map[string]any, _ func(any) bool) {
				if spec := ObjectAt(o, "spec"); spec != nil {
					d.dataSources(spec)
				}
			},
		},
		{
			Info: object.Info{Resource: kube.PersistentVolumes, Returns: true, ShortNames: []string{"pv"}, Status: true, NoCount: true},
			Defaults: func(d *Defaults, o map[string]any) {
				d.volume(d.Object(o, "spec"))
			},
			Zero:    `"spec":{},"status":{}`,
			Printer: volumePrinter,
			NewStatus: func(map[string]any) map[string]any {
				return map[string]any{"phase": "Pending", "lastPhaseTransitionTime": object.Timestamp()}
			},
		},
	}
}

// claim fills in the spec of a PersistentVolumeClaim.
func (d *Defaults) claim(spec map[string]any) {
	d.set(spec, "volumeMode", "Filesystem")
	d.resources(d.Object(spec, "resources"))
	d.Drop(spec, "volumeName")
	for _, name := range [...]string{"dataSource", "dataSourceRef"} {
		if r := ObjectAt(spec, name); r != nil {
			d.null(r, "apiGroup")
		}
	}
}

// volume fills in the spec of a PersistentVolume.
func (d *Defaults) volume(spec map[string]any) {
	d.text(spec, "persistentVolumeReclaimPolicy", "Retain")
	d.set(spec, "volumeMode", "Filesystem")
	d.quantities(spec, "capacity")
	d.Drop(spec, "storageClassName")
	d.volumeSource(spec)
}

// dataSources makes the old and the new name of what a claim is filled from the
// same.
func (d *Defaults) dataSources(spec map[string]any) {
	source, ref := ObjectAt(spec, "dataSource"), ObjectAt(spec, "dataSourceRef")
	switch {
	case source != nil && ref == nil:
		d.put(spec, "dataSourceRef", schema.Copy(source))
	case ref != nil && source == nil && TextAt(ref, "namespace") == "":
		source = schema.Copy(ref)
		delete(source, "namespace")
		d.put(spec, "dataSource", source)
	}
}

var volumePrinter = Printer{
	Columns: columns(
		column("Capacity", "size of the volume"),
		column("Access Modes", "how it can be mounted"),
		column("Reclaim Policy", "what becomes of it after its claim"),
		column("Status", "whether it is bound"),
		column("Claim", "who has it"),
		column("StorageClass", "class of storage"),
		column("VolumeAttributesClass", "class of attributes"),
		column("Reason", "why it is in its status"),
		ageColumn(),
		wideColumn("VolumeMode", "file system or block device"),
	),
	Cells: func(r *Row) {
		var spec struct {
			Capacity                      map[string]quantity
			AccessModes                   []string
			PersistentVolumeReclaimPolicy string
			ClaimRef                      *struct{ Namespace, Name string }
			StorageClassName              *string
			VolumeAttributesClassName     *string
			VolumeMode                    *string
		}
		var status struct{ Phase, Reason string }
		r.read("spec", &spec)
		r.read("status", &status)
		claim := ""
		if c := spec.ClaimRef; c != nil {
			claim = c.Namespace + "/" + c.Name
		}
		r.add(r.Meta.Name, spec.Capacity["storage"].String(), accessModes(spec.AccessModes), spec.PersistentVolumeReclaimPolicy,
			r.phase(status.Phase), claim, r.storageClass(spec.StorageClassName), Or(spec.VolumeAttributesClassName, unset),
			status.Reason, r.age(), Or(spec.VolumeMode, unset))
	},
}

var claimPrinter = Printer{
	Columns: columns(
		column("Status", "whether the claim has its volume"),
		column("Volume", "the volume"),
		column("Capacity", "size of the volume"),
		column("Access Modes", "how it can be mounted"),
		column("StorageClass", "class of storage"),
		column("VolumeAttributesClass", "class of attributes"),
		ageColumn(),
		wideColumn("VolumeMode", "file system or block device"),
	),
	Cells: func(r *Row) {
		var spec struct {
			VolumeName                string
			StorageClassName          *string
			VolumeAttributesClassName *string
			VolumeMode                *string
		}
		var status struct {
			Phase       string
			AccessModes []string
			Capacity    map[string]quantity
		}
		r.read("spec", &spec)
		r.read("status", &status)
		capacity, modes := "", ""
		if spec.VolumeName != "" {
			capacity, modes = status.Capacity["storage"].String(), accessModes(status.AccessModes)
		}
		r.add(r.Meta.Name, r.phase(status.Phase), spec.VolumeName, capacity, modes, r.storageClass(spec.StorageClassName),
			Or(spec.VolumeAttributesClassName, unset), r.age(), Or(spec.VolumeMode, unset))
	},
}

// phase returns phase, or that the object is about to go.
func (r *Row) phase(phase string) string {
	if r.Meta.DeletionTimestamp != "" {
		return "Terminating"
	}
	return phase
}

// storageClass returns the class of a volume or a claim: that of an annotation
// goes before the field.
func (r *Row) storageClass(field *string) string {
	if class, ok := r.Meta.Annotations["volume.beta.kubernetes.io/storage-class"]; ok {
		return class
	}
	return Or(field, "")
}

// accessModes returns each mode once, in short.
func accessModes(modes []string) string {
	var short []string
	for _, m := range [][2]string{{"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}} {
		if slices.Contains(modes, m[0]) {
			short = append(short, m[1])
		}
	}
	return strings.Join(short, ",")
}
