package kinds

import (
	"slices"

	"github.com/listwatch/listwatch/apitest/schema"
	"github.com/listwatch/listwatch/kube"
)

// Assign fills in what kube-apiserver adds after it has noted in managedFields who
// wrote what: by admission plugins that are on by default, and before it stores an
// object. o, of a built-in type, has its defaults, its name and its UID; old is nil
// on a create. taken reports whether an address, a string, or a port, an int64,
// belongs to another Service. What is set stays as it is, and a second call
// changes nothing.
//
// The server adds two more things, for controllers that take them away again,
// which are not there: the finalizers of volumes and claims, and the taint of new
// nodes. Nor does a pod get a service account: the plugin that does it refuses pods
// where no controller makes an account in each namespace.
func Assign(res kube.Resource, o, old map[string]any, taken func(any) bool) (changed bool) {
	var d Defaults
	spec := ObjectAt(o, "spec")
	switch {
	case res == kube.Pods && spec != nil:
		if old == nil {
			d.priority(spec)
		} else {
			d.copyFrom(spec, "priority", ObjectAt(old, "spec"))
			d.copyFrom(spec, "preemptionPolicy", ObjectAt(old, "spec"))
		}
		d.tolerate(spec, "node.kubernetes.io/not-ready")
		d.tolerate(spec, "node.kubernetes.io/unreachable")
	case res == kube.Services:
		d.allocate(o, ObjectAt(old, "spec"), taken)
	case res == kube.Jobs && old == nil:
		d.selectPods(o)
	case res == kube.Namespaces && old != nil:
		if was := ObjectAt(old, "spec"); !SameValue(spec, was) { // only its subresource changes it
			d.put(o, "spec", schema.Copy(was))
		}
	case res == kube.Namespaces:
		if len(labelName(TextAt(ObjectAt(o, "metadata"), "name"))) == 0 {
			d.namespace(o) // if its name was made
		}
		spec := d.Object(o, "spec")
		if list := ListAt(spec, "finalizers"); !slices.Contains(list, any("kubernetes")) {
			d.put(spec, "finalizers", append(slices.Clip(list), "kubernetes"))
		}
	case res == kube.PersistentVolumeClaims && spec != nil:
		d.dataSources(spec)
	}
	return d.changed
}

// priority is what the plugin Priority knows without a look at PriorityClasses.
func (d *Defaults) priority(spec map[string]any) {
	switch TextAt(spec, "priorityClassName") {
	case "":
		d.set(spec, "priority", int64(0))
	case "system-cluster-critical":
		d.set(spec, "priority", int64(2_000_000_000))
	case "system-node-critical":
		d.set(spec, "priority", int64(2_000_001_000))
	default:
		return
	}
	d.set(spec, "preemptionPolicy", "PreemptLowerPriority")
}

// tolerate adds a toleration of five minutes unless there is one.
func (d *Defaults) tolerate(spec map[string]any, taint string) {
	for t := range ObjectsAt(spec, "tolerations") {
		key, effect := TextAt(t, "key"), TextAt(t, "effect")
		if (key == taint || key == "") && (effect == "NoExecute" || effect == "") {
			return
		}
	}
	list, _ := spec["tolerations"].([]any)
	d.put(spec, "tolerations", append(list[:len(list):len(list)],
		map[string]any{"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int64(300)}))
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
