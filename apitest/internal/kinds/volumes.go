package kinds

import (
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/pods"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// volumeKinds are the kinds of the core group about volumes.
func volumeKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: kube.PersistentVolumeClaims, Returns: true, ShortNames: []string{"pvc"}, Status: true, NoCount: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				pods.FillClaim(d, d.Object(o, "spec"))
				if status := rules.ObjectAt(o, "status"); status != nil {
					d.Text(status, "phase", "Pending")
					d.Quantities(status, "capacity")
					d.Quantities(status, "allocatedResources")
					d.DropIn(status, "conditions", "reason", "message")
				}
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				pods.RefuseClaim(r, "spec", rules.ObjectAt(o, "spec"))
				if old != nil {
					refuseClaimUpdate(r, o, old)
				}
			},
			Status:  `{"phase":"Pending"}`,
			Zero:    `"spec":{"resources":{}},"status":{}`,
			Printer: claimPrinter,
			Assign: func(d *rules.Defaults, o, _ map[string]any, _ func(any) bool) {
				if spec := rules.ObjectAt(o, "spec"); spec != nil {
					matchDataSources(d, spec)
				}
			},
		},
		{
			Info: object.Info{Resource: kube.PersistentVolumes, Returns: true, ShortNames: []string{"pv"}, Status: true, NoCount: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				spec := d.Object(o, "spec")
				fillVolume(d, spec)
				fillReference(d, rules.ObjectAt(spec, "claimRef"))
				d.Drop(rules.ObjectAt(spec, "csi"), "fsType", "readOnly")
				if status := rules.ObjectAt(o, "status"); status != nil {
					d.Text(status, "phase", "Pending")
					d.Drop(status, "reason", "message")
				}
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				refuseVolume(r, rules.ObjectAt(o, "spec"))
				if old != nil {
					refuseVolumeUpdate(r, rules.ObjectAt(o, "spec"), rules.ObjectAt(old, "spec"))
				}
			},
			Zero:    `"spec":{},"status":{}`,
			Printer: volumePrinter,
			NewStatus: func(map[string]any) map[string]any {
				return map[string]any{"phase": "Pending", "lastPhaseTransitionTime": object.Timestamp()}
			},
		},
	}
}

// fillVolume fills in the spec of a PersistentVolume.
func fillVolume(d *rules.Defaults, spec map[string]any) {
	d.Text(spec, "persistentVolumeReclaimPolicy", "Retain")
	d.Set(spec, "volumeMode", "Filesystem")
	d.Quantities(spec, "capacity")
	d.Drop(spec, "storageClassName")
	pods.FillVolumeSource(d, spec)
}

// matchDataSources sets the old and the new member for the data source of a claim to the same
// value.
func matchDataSources(d *rules.Defaults, spec map[string]any) {
	source, ref := rules.ObjectAt(spec, "dataSource"), rules.ObjectAt(spec, "dataSourceRef")
	if kind := rules.TextAt(source, "apiGroup") + "/" + rules.TextAt(source, "kind"); source != nil && ref == nil &&
		kind != "/PersistentVolumeClaim" && kind != "snapshot.storage.k8s.io/VolumeSnapshot" {
		d.Remove(spec, "dataSource") // ignored, as before dataSourceRef existed
		return
	}
	switch {
	case source != nil && ref == nil:
		d.Put(spec, "dataSourceRef", schema.Copy(source))
	case ref != nil && source == nil && rules.TextAt(ref, "namespace") == "":
		source = schema.Copy(ref)
		delete(source, "namespace")
		d.Put(spec, "dataSource", source)
	}
}

var volumePrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Capacity", "size of the volume"),
		columns.Text("Access Modes", "how it can be mounted"),
		columns.Text("Reclaim Policy", "what becomes of it after its claim"),
		columns.Text("Status", "whether it is bound"),
		columns.Text("Claim", "who has it"),
		columns.Text("StorageClass", "class of storage"),
		columns.Text("VolumeAttributesClass", "class of attributes"),
		columns.Text("Reason", "why it is in its status"),
		columns.AgeColumn(),
		columns.Wide("VolumeMode", "file system or block device"),
	),
	Cells: func(r *columns.Row) {
		var spec struct {
			Capacity                      map[string]columns.Quantity
			AccessModes                   []string
			PersistentVolumeReclaimPolicy string
			ClaimRef                      *struct{ Namespace, Name string }
			StorageClassName              *string
			VolumeAttributesClassName     *string
			VolumeMode                    *string
		}
		var status struct{ Phase, Reason string }
		r.Read("spec", &spec)
		r.Read("status", &status)
		claim := ""
		if c := spec.ClaimRef; c != nil {
			claim = c.Namespace + "/" + c.Name
		}
		r.Add(r.Meta.Name, spec.Capacity["storage"].String(), accessModes(spec.AccessModes), spec.PersistentVolumeReclaimPolicy,
			phaseOf(r, status.Phase), claim, storageClassOf(r, spec.StorageClassName), columns.Or(spec.VolumeAttributesClassName, columns.Unset),
			status.Reason, r.Age(), columns.Or(spec.VolumeMode, columns.Unset))
	},
}

var claimPrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Status", "whether the claim has its volume"),
		columns.Text("Volume", "the volume"),
		columns.Text("Capacity", "size of the volume"),
		columns.Text("Access Modes", "how it can be mounted"),
		columns.Text("StorageClass", "class of storage"),
		columns.Text("VolumeAttributesClass", "class of attributes"),
		columns.AgeColumn(),
		columns.Wide("VolumeMode", "file system or block device"),
	),
	Cells: func(r *columns.Row) {
		var spec struct {
			VolumeName                string
			StorageClassName          *string
			VolumeAttributesClassName *string
			VolumeMode                *string
		}
		var status struct {
			Phase       string
			AccessModes []string
			Capacity    map[string]columns.Quantity
		}
		r.Read("spec", &spec)
		r.Read("status", &status)
		capacity, modes := "", ""
		if spec.VolumeName != "" {
			capacity, modes = status.Capacity["storage"].String(), accessModes(status.AccessModes)
		}
		r.Add(r.Meta.Name, phaseOf(r, status.Phase), spec.VolumeName, capacity, modes, storageClassOf(r, spec.StorageClassName),
			columns.Or(spec.VolumeAttributesClassName, columns.Unset), r.Age(), columns.Or(spec.VolumeMode, columns.Unset))
	},
}

// phaseOf returns phase, or Terminating for an object that is being deleted.
func phaseOf(r *columns.Row, phase string) string {
	if r.Meta.DeletionTimestamp != "" {
		return "Terminating"
	}
	return phase
}

// storageClassOf returns the class of a volume or a claim. The annotation has precedence over
// the field.
func storageClassOf(r *columns.Row, field *string) string {
	if class, ok := r.Meta.Annotations["volume.beta.kubernetes.io/storage-class"]; ok {
		return class
	}
	return columns.Or(field, "")
}

// accessModes returns the abbreviation of each mode, once.
func accessModes(modes []string) string {
	var short []string
	for _, m := range [][2]string{{"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}} {
		if slices.Contains(modes, m[0]) {
			short = append(short, m[1])
		}
	}
	return strings.Join(short, ",")
}

// volumeSources are the members of a PersistentVolume's spec that say where its data is.
var volumeSources = [...]string{"gcePersistentDisk", "awsElasticBlockStore", "hostPath", "glusterfs", "nfs", "rbd", "iscsi", "cinder", "cephfs", "fc",
	"flocker", "flexVolume", "azureFile", "vsphereVolume", "quobyte", "azureDisk", "photonPersistentDisk", "portworxVolume", "scaleIO", "local", "storageos", "csi"}

func refuseVolume(r *rules.Refusals, spec map[string]any) {
	if rules.Lacks(spec, "accessModes") {
		r.Required("spec.accessModes")
	}
	r.Among("spec", spec, "accessModes", pods.AccessModes...)
	capacity := rules.ObjectAt(spec, "capacity")
	if len(capacity) == 0 {
		r.Required("spec.capacity")
	}
	if _, ok := capacity["storage"]; !ok || len(capacity) > 1 {
		r.Unsupported("spec.capacity", capacity, "storage")
	}
	for name := range rules.KeysOf(capacity) {
		if q := rules.TextAt(capacity, name); q == "0" || strings.HasPrefix(q, "-") {
			r.Invalid("spec.capacity["+name+"]", q, "must be greater than zero")
		}
	}
	r.OneOf("spec", spec, "persistentVolumeReclaimPolicy", "Delete", "Recycle", "Retain")
	if a := rules.ObjectAt(spec, "nodeAffinity"); a != nil {
		if required := rules.ObjectAt(a, "required"); required == nil {
			r.Required("spec.nodeAffinity.required", "must specify required node constraints")
		} else {
			r.NodeSelector("spec.nodeAffinity.required", required)
		}
	}
	sources := 0
	for _, name := range volumeSources {
		if rules.ObjectAt(spec, name) == nil {
			continue
		}
		if sources++; sources > 1 {
			r.Forbidden("spec."+name, "may not specify more than 1 volume type")
		}
	}
	if sources == 0 {
		r.Required("spec", "must specify a volume type")
	}
	pods.RefuseVolumeSource(r, "spec", spec)
	if c := rules.ObjectAt(spec, "csi"); c != nil {
		pods.RefuseDriver(r, "spec.csi.driver", rules.TextAt(c, "driver"))
		r.Needed("spec.csi", c, "volumeHandle")
	}
	r.Maybe("spec", spec, "storageClassName", rules.Subdomain)
	if s, ok := spec["volumeMode"].(string); ok && s != "Block" && s != "Filesystem" {
		r.Unsupported("spec.volumeMode", s, "Block", "Filesystem")
	}
}

// stableLabels are the names that labels of nodes got with Kubernetes 1.14 and 1.17.
var stableLabels = strings.NewReplacer(`"failure-domain.beta.kubernetes.io/`, `"topology.kubernetes.io/`,
	`"beta.kubernetes.io/instance-type"`, `"node.kubernetes.io/instance-type"`, `"beta.kubernetes.io/`, `"kubernetes.io/`)

// refuseVolumeUpdate refuses changes of what is immutable in a PersistentVolume. A secret for
// its expansion is set once.
func refuseVolumeUpdate(r *rules.Refusals, spec, old map[string]any) {
	if csi := rules.ObjectAt(spec, "csi"); rules.ObjectAt(old, "csi")["controllerExpandSecretRef"] == nil && csi["controllerExpandSecretRef"] != nil {
		spec = schema.Copy(spec)
		delete(rules.ObjectAt(spec, "csi"), "controllerExpandSecretRef")
	}
	for _, name := range volumeSources {
		if !rules.SameValue(spec[name], old[name]) {
			r.Forbidden("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation")
			break
		}
	}
	r.Fixed("", spec, old, "volumeMode")
	is, was := spec["nodeAffinity"], old["nodeAffinity"]
	if was != nil && !rules.SameValue(is, was) && rules.Show(is) != stableLabels.Replace(rules.Show(was)) {
		r.Invalid("nodeAffinity", is, rules.Immutable+", except for updating from beta label to GA")
	}
}

// refuseClaimUpdate refuses changes of the spec of a claim, except that it gets a volume
// and a class once, and that a bound claim gets another size or other attributes.
func refuseClaimUpdate(r *rules.Refusals, o, old map[string]any) {
	spec, was := schema.Copy(rules.ObjectAt(o, "spec")), schema.Copy(rules.ObjectAt(old, "spec"))
	for _, name := range [...]string{"volumeName", "storageClassName"} {
		if was[name] == nil {
			delete(spec, name)
		}
	}
	if rules.TextAt(rules.ObjectAt(old, "status"), "phase") == "Bound" {
		for _, s := range [...]map[string]any{spec, was} {
			delete(s, "volumeAttributesClassName")
			delete(rules.ObjectAt(rules.ObjectAt(s, "resources"), "requests"), "storage")
		}
	}
	if !rules.SameValue(spec, was) {
		r.Forbidden("spec", "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims")
	}
	r.Fixed("", spec, was, "volumeMode")
}
