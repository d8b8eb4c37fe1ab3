package apitest

import (
	"maps"

	"github.com/listwatch/listwatch/apitest/schema"
	"github.com/listwatch/listwatch/kube"
)

// setDefaults fills in what kube-apiserver 1.37 fills in by code, not by schema,
// when it decodes an object of its own types, in whatever write: the defaults of
// the API, and values in another writing, such as a Secret's stringData. What is
// set stays as it is, and a second call changes nothing. Values are those of
// package schema; o must have been read as its type.
//
// Who writes an object owns these fields; those of assign belong to nobody.
func setDefaults(res kube.Resource, o map[string]any) (changed bool) {
	var d defaults
	if res.Group == "" {
		d.core(res, o)
		return d.changed
	}
	switch spec := object1(o, "spec"); res.Plural {
	case "deployments":
		d.deployment(d.object(o, "spec"))
	case "replicasets":
		d.replicaSet(d.object(o, "spec"))
	case "statefulsets":
		d.statefulSet(d.object(o, "spec"))
	case "daemonsets":
		d.daemonSet(d.object(o, "spec"))
	case "jobs":
		d.job(o, d.object(o, "spec"))
	case "cronjobs":
		d.cronJob(d.object(o, "spec"))
	case "endpointslices":
		for p := range objects(o, "ports") {
			d.set(p, "name", "")
			d.text(p, "protocol", "TCP")
		}
		for e := range objects(o, "endpoints") {
			d.object(e, "conditions")
		}
		d.null(o, "endpoints")
		d.null(o, "ports")
	case "leases":
		d.object(o, "spec")
	case "ingressclasses":
		if p := object1(spec, "parameters"); p != nil {
			d.set(p, "scope", "Cluster")
		}
	case "networkpolicies":
		d.networkPolicy(d.object(o, "spec"))
	case "horizontalpodautoscalers":
		d.autoscaler(d.object(o, "spec"))
	case "roles", "clusterroles":
		d.null(o, "rules")
	case "rolebindings", "clusterrolebindings":
		d.text(d.object(o, "roleRef"), "apiGroup", rbac)
		for s := range objects(o, "subjects") {
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
		d.drop(o, "globalDefault", "description")
	case "mutatingwebhookconfigurations":
		for w := range objects(o, "webhooks") {
			d.webhook(w)
			d.set(w, "reinvocationPolicy", "Never")
		}
	case "validatingwebhookconfigurations":
		for w := range objects(o, "webhooks") {
			d.webhook(w)
		}
	case "customresourcedefinitions":
		d.definition(d.object(o, "spec"))
	case "poddisruptionbudgets":
		d.object(o, "spec")
	default:
		d.rare(res, o)
	}
	return d.changed
}

const rbac = "rbac.authorization.k8s.io"

// core is setDefaults for the core group.
func (d *defaults) core(res kube.Resource, o map[string]any) {
	switch res.Plural {
	case "pods":
		d.pod(d.object(o, "spec"))
		d.statusOfContainers(object1(o, "status"))
	case "podtemplates":
		d.template(d.object(o, "template"))
	case "replicationcontrollers":
		d.replicationController(o, d.object(o, "spec"))
	case "services":
		d.service(d.object(o, "spec"))
	case "secrets":
		d.secret(o)
	case "namespaces":
		d.namespace(o)
	case "persistentvolumeclaims":
		d.claim(d.object(o, "spec"))
	case "persistentvolumes":
		d.volume(d.object(o, "spec"))
	case "endpoints":
		for s := range objects(o, "subsets") {
			for p := range objects(s, "ports") {
				d.text(p, "protocol", "TCP")
			}
		}
	case "events":
		d.event(o)
	case "resourcequotas":
		d.quantities(d.object(o, "spec"), "hard")
	case "limitranges":
		for l := range objects(d.object(o, "spec"), "limits") {
			d.limit(l)
		}
	case "nodes":
		d.node(o)
	}
}

// defaults fills objects in and notes whether that changed anything.
type defaults struct{ changed bool }

// put sets a member.
func (d *defaults) put(m map[string]any, name string, v any) {
	m[name] = v
	d.changed = true
}

// set sets a member that is not there.
func (d *defaults) set(m map[string]any, name string, v any) {
	if m[name] == nil {
		d.put(m, name, v)
	}
}

// null sets a member that is not there to null, which is how Go has it.
func (d *defaults) null(m map[string]any, name string) {
	if _, ok := m[name]; !ok {
		d.put(m, name, nil)
	}
}

// text sets a string that is not there or empty.
func (d *defaults) text(m map[string]any, name, v string) {
	if e := m[name]; e == nil || e == "" {
		d.put(m, name, v)
	}
}

// number sets a number that is not there or 0.
func (d *defaults) number(m map[string]any, name string, v int64) {
	if e := m[name]; e == nil || e == int64(0) {
		d.put(m, name, v)
	}
}

// object returns the object that is a member, made where there is none.
func (d *defaults) object(m map[string]any, name string) map[string]any {
	if c := object1(m, name); c != nil {
		return c
	}
	c := make(map[string]any)
	d.put(m, name, c)
	return c
}

// drop removes members that have their type's zero value: Go's omitempty.
func (d *defaults) drop(m map[string]any, names ...string) {
	for _, name := range names {
		if v, ok := m[name]; ok && (v == nil || v == false || v == "" || v == int64(0)) {
			d.remove(m, name)
		}
	}
}

func (d *defaults) remove(m map[string]any, name string) {
	if _, ok := m[name]; ok {
		delete(m, name)
		d.changed = true
	}
}

// copyFrom sets a member that is not there to that of old, if it has one.
func (d *defaults) copyFrom(m map[string]any, name string, old map[string]any) {
	if v := old[name]; v != nil {
		d.set(m, name, schema.Copy(v))
	}
}

// object1 returns the object that is a member of m, nil where there is none.
func object1(m map[string]any, name string) map[string]any {
	c, _ := m[name].(map[string]any)
	return c
}

// objects goes through the objects in the list that is a member of m.
func objects(m map[string]any, name string) func(yield func(map[string]any) bool) {
	list, _ := m[name].([]any)
	return func(yield func(map[string]any) bool) {
		for _, e := range list {
			if c, ok := e.(map[string]any); ok && !yield(c) {
				return
			}
		}
	}
}

func string1(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

func int1(m map[string]any, name string) int64 {
	n, _ := m[name].(int64)
	return n
}

// lacks reports whether m has no elements under name.
func lacks(m map[string]any, name string) bool {
	switch v := m[name].(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return m[name] == nil
}

// labelsFrom gives o the labels of its template if it has none.
func (d *defaults) labelsFrom(o, template map[string]any) {
	labels := object1(object1(template, "metadata"), "labels")
	if len(labels) > 0 && lacks(object1(o, "metadata"), "labels") {
		d.put(d.object(o, "metadata"), "labels", maps.Clone(labels))
	}
}
