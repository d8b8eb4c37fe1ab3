package kinds

import (
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

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

var storageClassPrinter = Printer{
	Columns: columns(
		column("Provisioner", "who makes the volumes"),
		column("ReclaimPolicy", "what becomes of them after their claims"),
		column("VolumeBindingMode", "when they are made"),
		column("AllowVolumeExpansion", "whether they can grow"),
		ageColumn(),
	),
	Cells: func(r *Row) {
		var provisioner string
		var reclaim, binding *string
		expands := false
		r.read("provisioner", &provisioner)
		r.read("reclaimPolicy", &reclaim)
		r.read("volumeBindingMode", &binding)
		r.read("allowVolumeExpansion", &expands)
		r.add(r.Meta.Name, provisioner, Or(reclaim, "Delete"), Or(binding, "Immediate"), expands, r.age())
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
