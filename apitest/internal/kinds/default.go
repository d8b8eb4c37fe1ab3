package kinds

import (
	"maps"

	"github.com/listwatch/listwatch/apitest/schema"
	"github.com/listwatch/listwatch/kube"
)

// SetDefaults fills in what kube-apiserver 1.37 fills in by code, not by schema,
// when it decodes an object of its own types, in whatever write: the defaults of
// the API, and values in another writing, such as a Secret's stringData. What is
// set stays as it is, and a second call changes nothing. Values are those of
// package schema; o must have been read as its type.
//
// Who writes an object owns these fields; those of assign belong to nobody.
func SetDefaults(res kube.Resource, o map[string]any) (changed bool) {
	var d Defaults
	if res.Group == "" {
		d.core(res, o)
		return d.changed
	}
	switch spec := ObjectAt(o, "spec"); res.Plural {
	case "deployments":
		d.deployment(d.Object(o, "spec"))
	case "replicasets":
		d.replicaSet(d.Object(o, "spec"))
	case "statefulsets":
		d.statefulSet(d.Object(o, "spec"))
	case "daemonsets":
		d.daemonSet(d.Object(o, "spec"))
	case "jobs":
		d.job(o, d.Object(o, "spec"))
	case "cronjobs":
		d.cronJob(d.Object(o, "spec"))
	case "endpointslices":
		for p := range ObjectsAt(o, "ports") {
			d.set(p, "name", "")
			d.text(p, "protocol", "TCP")
		}
		for e := range ObjectsAt(o, "endpoints") {
			d.Object(e, "conditions")
		}
		d.null(o, "endpoints")
		d.null(o, "ports")
	case "leases":
		d.Object(o, "spec")
	case "ingressclasses":
		if p := ObjectAt(spec, "parameters"); p != nil {
			d.set(p, "scope", "Cluster")
		}
	case "networkpolicies":
		d.networkPolicy(d.Object(o, "spec"))
	case "horizontalpodautoscalers":
		d.autoscaler(d.Object(o, "spec"))
	case "roles", "clusterroles":
		d.null(o, "rules")
	case "rolebindings", "clusterrolebindings":
		d.text(d.Object(o, "roleRef"), "apiGroup", rbac)
		for s := range ObjectsAt(o, "subjects") {
			if s["kind"] == "User" || s["kind"] == "Group" {
				d.text(s, "apiGroup", rbac)
			}
		}
	case "storageclasses":
		d.set(o, "reclaimPolicy", "Delete")
		d.set(o, "volumeBindingMode", "Immediate")
	case "priorityclasses":
		d.set(o, "preemptionPolicy", "PreemptLowerPriority")
		d.set(o, "value", int64(0))
		d.Drop(o, "globalDefault", "description")
	case "mutatingwebhookconfigurations":
		for w := range ObjectsAt(o, "webhooks") {
			d.webhook(w)
			d.set(w, "reinvocationPolicy", "Never")
		}
	case "validatingwebhookconfigurations":
		for w := range ObjectsAt(o, "webhooks") {
			d.webhook(w)
		}
	case "customresourcedefinitions":
		d.definition(d.Object(o, "spec"))
	case "poddisruptionbudgets":
		d.Object(o, "spec")
	default:
		d.rare(res, o)
	}
	return d.changed
}

const rbac = "rbac.authorization.k8s.io"

// core is setDefaults for the core group.
func (d *Defaults) core(res kube.Resource, o map[string]any) {
	switch res.Plural {
	case "pods":
		d.pod(d.Object(o, "spec"))
		d.statusOfContainers(ObjectAt(o, "status"))
	case "podtemplates":
		d.template(d.Object(o, "template"))
	case "replicationcontrollers":
		d.replicationController(o, d.Object(o, "spec"))
	case "services":
		d.service(d.Object(o, "spec"))
	case "secrets":
		d.secret(o)
	case "namespaces":
		d.namespace(o)
	case "persistentvolumeclaims":
		d.claim(d.Object(o, "spec"))
	case "persistentvolumes":
		d.volume(d.Object(o, "spec"))
	case "endpoints":
		for s := range ObjectsAt(o, "subsets") {
			for p := range ObjectsAt(s, "ports") {
				d.text(p, "protocol", "TCP")
			}
		}
	case "events":
		d.Event(o)
	case "resourcequotas":
		d.quantities(d.Object(o, "spec"), "hard")
	case "limitranges":
		for l := range ObjectsAt(d.Object(o, "spec"), "limits") {
			d.limit(l)
		}
	case "nodes":
		d.node(o)
	}
}

// Defaults fills objects in and notes whether that changed anything.
type Defaults struct{ changed bool }

// put sets a member.
func (d *Defaults) put(m map[string]any, name string, v any) {
	m[name] = v
	d.changed = true
}

// set sets a member that is not there.
func (d *Defaults) set(m map[string]any, name string, v any) {
	if m[name] == nil {
		d.put(m, name, v)
	}
}

// null sets a member that is not there to null, which is how Go has it.
func (d *Defaults) null(m map[string]any, name string) {
	if _, ok := m[name]; !ok {
		d.put(m, name, nil)
	}
}

// text sets a string that is not there or empty.
func (d *Defaults) text(m map[string]any, name, v string) {
	if e := m[name]; e == nil || e == "" {
		d.put(m, name, v)
	}
}

// number sets a number that is not there or 0.
func (d *Defaults) number(m map[string]any, name string, v int64) {
	if e := m[name]; e == nil || e == int64(0) {
		d.put(m, name, v)
	}
}

// Object returns the object that is a member, made where there is none.
func (d *Defaults) Object(m map[string]any, name string) map[string]any {
	if c := ObjectAt(m, name); c != nil {
		return c
	}
	c := make(map[string]any)
	d.put(m, name, c)
	return c
}

// Drop removes members that have their type's zero value: Go's omitempty.
func (d *Defaults) Drop(m map[string]any, names ...string) {
	for _, name := range names {
		if v, ok := m[name]; ok && (v == nil || v == false || v == "" || v == int64(0)) {
			d.remove(m, name)
		}
	}
}

func (d *Defaults) remove(m map[string]any, name string) {
	if _, ok := m[name]; ok {
		delete(m, name)
		d.changed = true
	}
}

// copyFrom sets a member that is not there to that of old, if it has one.
func (d *Defaults) copyFrom(m map[string]any, name string, old map[string]any) {
	if v := old[name]; v != nil {
		d.set(m, name, schema.Copy(v))
	}
}

// ObjectAt returns the object that is a member of m, nil where there is none.
func ObjectAt(m map[string]any, name string) map[string]any {
	c, _ := m[name].(map[string]any)
	return c
}

// ObjectsAt goes through the objects in the list that is a member of m.
func ObjectsAt(m map[string]any, name string) func(yield func(map[string]any) bool) {
	list, _ := m[name].([]any)
	return func(yield func(map[string]any) bool) {
		for _, e := range list {
			if c, ok := e.(map[string]any); ok && !yield(c) {
				return
			}
		}
	}
}

// TextAt returns the string that is a member of m, "" where there is none.
func TextAt(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

// IntAt returns the number that is a member of m, 0 where there is none.
func IntAt(m map[string]any, name string) int64 {
	n, _ := m[name].(int64)
	return n
}

// Lacks reports whether m has no elements under name.
func Lacks(m map[string]any, name string) bool {
	switch v := m[name].(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return m[name] == nil
}

// labelsFrom gives o the labels of its template if it has none.
func (d *Defaults) labelsFrom(o, template map[string]any) {
	labels := ObjectAt(ObjectAt(template, "metadata"), "labels")
	if len(labels) > 0 && Lacks(ObjectAt(o, "metadata"), "labels") {
		d.put(d.Object(o, "metadata"), "labels", maps.Clone(labels))
	}
}
