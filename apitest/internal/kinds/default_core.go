package kinds

import (
	"encoding/base64"
	"strings"

	"github.com/listwatch/listwatch/apitest/schema"
)

// The defaults of what makes no pods and is no Service.

// secret moves stringData to data.
func (d *Defaults) secret(o map[string]any) {
	d.text(o, "type", "Opaque")
	for name, v := range ObjectAt(o, "data") {
		if v == nil {
			d.put(ObjectAt(o, "data"), name, "")
		}
	}
	if texts := ObjectAt(o, "stringData"); len(texts) > 0 {
		data := d.Object(o, "data")
		for name, v := range texts {
			s, _ := v.(string)
			d.put(data, name, base64.StdEncoding.EncodeToString([]byte(s)))
		}
	}
	d.remove(o, "stringData")
}

// namespace gives a namespace the label of its name.
func (d *Defaults) namespace(o map[string]any) {
	if meta := ObjectAt(o, "metadata"); TextAt(meta, "name") != "" {
		labels := d.Object(meta, "labels")
		if name := meta["name"]; labels["kubernetes.io/metadata.name"] != name {
			d.put(labels, "kubernetes.io/metadata.name", name)
		}
	}
	d.Object(o, "spec")
	if status := ObjectAt(o, "status"); status != nil {
		d.text(status, "phase", "Active")
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

func (d *Defaults) node(o map[string]any) {
	spec := d.Object(o, "spec")
	d.Drop(spec, "unschedulable", "providerID")
	switch cidr, list := TextAt(spec, "podCIDR"), ListAt(spec, "podCIDRs"); {
	case cidr == "" && len(list) > 0:
		d.put(spec, "podCIDR", list[0])
	case cidr != "" && (len(list) == 0 || list[0] != cidr):
		d.put(spec, "podCIDRs", []any{cidr})
	}
	status := d.Object(o, "status")
	d.quantities(status, "capacity")
	if c := ObjectAt(status, "capacity"); c != nil {
		d.set(status, "allocatable", schema.Copy(c))
	}
	d.quantities(status, "allocatable")
}

// ListAt returns the list that is a member of m, nil where there is none.
func ListAt(m map[string]any, name string) []any {
	l, _ := m[name].([]any)
	return l
}

// Event fills in what the server sends of an event without a value.
func (d *Defaults) Event(o map[string]any) {
	d.Object(o, "involvedObject")
	d.Object(o, "source")
	for _, name := range [...]string{"eventTime", "firstTimestamp", "lastTimestamp"} {
		d.null(o, name)
	}
	d.set(o, "reportingComponent", "")
	d.set(o, "reportingInstance", "")
	d.Drop(o, "count")
}

func (d *Defaults) networkPolicy(spec map[string]any) {
	d.Object(spec, "podSelector")
	for _, name := range [...]string{"ingress", "egress"} {
		for r := range ObjectsAt(spec, name) {
			for p := range ObjectsAt(r, "ports") {
				d.text(p, "protocol", "TCP")
			}
		}
	}
	if Lacks(spec, "policyTypes") {
		types := []any{"Ingress"}
		if !Lacks(spec, "egress") {
			types = append(types, "Egress")
		}
		d.put(spec, "policyTypes", types)
	}
}

// autoscaler fills in the spec of a HorizontalPodAutoscaler.
func (d *Defaults) autoscaler(spec map[string]any) {
	d.set(spec, "minReplicas", int64(1))
	if Lacks(spec, "metrics") {
		d.put(spec, "metrics", []any{map[string]any{"type": "Resource", "resource": map[string]any{
			"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": int64(80)}}}})
	}
	for m := range ObjectsAt(spec, "metrics") {
		for _, name := range [...]string{"object", "pods", "resource", "containerResource", "external"} {
			if t := ObjectAt(ObjectAt(m, name), "target"); t != nil {
				d.quantity(t, "value", nano)
				d.quantity(t, "averageValue", nano)
			}
		}
	}
	behavior := ObjectAt(spec, "behavior")
	if behavior == nil {
		return
	}
	policy := func(typ string, value int64) any {
		return map[string]any{"type": typ, "value": value, "periodSeconds": int64(15)}
	}
	up, down := d.Object(behavior, "scaleUp"), d.Object(behavior, "scaleDown")
	d.set(up, "stabilizationWindowSeconds", int64(0))
	d.set(up, "selectPolicy", "Max")
	d.set(up, "policies", []any{policy("Pods", 4), policy("Percent", 100)})
	d.set(down, "selectPolicy", "Max")
	d.set(down, "policies", []any{policy("Percent", 100)})
}

func (d *Defaults) webhook(w map[string]any) {
	d.set(w, "failurePolicy", "Fail")
	d.set(w, "matchPolicy", "Equivalent")
	d.Object(w, "namespaceSelector")
	d.Object(w, "objectSelector")
	d.set(w, "timeoutSeconds", int64(10))
	for r := range ObjectsAt(w, "rules") {
		d.set(r, "scope", "*")
	}
	d.servicePort(ObjectAt(w, "clientConfig"))
}

// servicePort fills in how a webhook is reached.
func (d *Defaults) servicePort(config map[string]any) {
	if s := ObjectAt(config, "service"); s != nil {
		d.set(s, "port", int64(443))
	}
}

// definition fills in the spec of a CustomResourceDefinition.
func (d *Defaults) definition(spec map[string]any) {
	names := d.Object(spec, "names")
	if kind := TextAt(names, "kind"); kind != "" {
		d.text(names, "singular", strings.ToLower(kind))
		d.text(names, "listKind", kind+"List")
	}
	conversion := d.Object(spec, "conversion")
	d.text(conversion, "strategy", "None")
	d.servicePort(ObjectAt(ObjectAt(conversion, "webhook"), "clientConfig"))
}
