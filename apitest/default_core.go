package apitest

import (
	"encoding/base64"
	"strings"

	"github.com/listwatch/listwatch/apitest/schema"
)

// The defaults of what makes no pods and is no Service.

// secret moves stringData to data.
func (d *defaults) secret(o map[string]any) {
	d.text(o, "type", "Opaque")
	for name, v := range object1(o, "data") {
		if v == nil {
			d.put(object1(o, "data"), name, "")
		}
	}
	if texts := object1(o, "stringData"); len(texts) > 0 {
		data := d.object(o, "data")
		for name, v := range texts {
			s, _ := v.(string)
			d.put(data, name, base64.StdEncoding.EncodeToString([]byte(s)))
		}
	}
	d.remove(o, "stringData")
}

// namespace gives a namespace the label of its name.
func (d *defaults) namespace(o map[string]any) {
	if meta := object1(o, "metadata"); string1(meta, "name") != "" {
		labels := d.object(meta, "labels")
		if name := meta["name"]; labels["kubernetes.io/metadata.name"] != name {
			d.put(labels, "kubernetes.io/metadata.name", name)
		}
	}
	d.object(o, "spec")
	if status := object1(o, "status"); status != nil {
		d.text(status, "phase", "Active")
	}
}

// claim fills in the spec of a PersistentVolumeClaim.
func (d *defaults) claim(spec map[string]any) {
	d.set(spec, "volumeMode", "Filesystem")
	d.resources(d.object(spec, "resources"))
	d.drop(spec, "volumeName")
	for _, name := range [...]string{"dataSource", "dataSourceRef"} {
		if r := object1(spec, name); r != nil {
			d.null(r, "apiGroup")
		}
	}
}

// volume fills in the spec of a PersistentVolume.
func (d *defaults) volume(spec map[string]any) {
	d.text(spec, "persistentVolumeReclaimPolicy", "Retain")
	d.set(spec, "volumeMode", "Filesystem")
	d.quantities(spec, "capacity")
	d.drop(spec, "storageClassName")
	d.volumeSource(spec)
}

func (d *defaults) node(o map[string]any) {
	spec := d.object(o, "spec")
	d.drop(spec, "unschedulable", "providerID")
	switch cidr, list := string1(spec, "podCIDR"), list1(spec, "podCIDRs"); {
	case cidr == "" && len(list) > 0:
		d.put(spec, "podCIDR", list[0])
	case cidr != "" && (len(list) == 0 || list[0] != cidr):
		d.put(spec, "podCIDRs", []any{cidr})
	}
	status := d.object(o, "status")
	d.quantities(status, "capacity")
	if c := object1(status, "capacity"); c != nil {
		d.set(status, "allocatable", schema.Copy(c))
	}
	d.quantities(status, "allocatable")
}

func list1(m map[string]any, name string) []any {
	l, _ := m[name].([]any)
	return l
}

// event fills in what the server sends of an event without a value.
func (d *defaults) event(o map[string]any) {
	d.object(o, "involvedObject")
	d.object(o, "source")
	for _, name := range [...]string{"eventTime", "firstTimestamp", "lastTimestamp"} {
		d.null(o, name)
	}
	d.set(o, "reportingComponent", "")
	d.set(o, "reportingInstance", "")
	d.drop(o, "count")
}

func (d *defaults) networkPolicy(spec map[string]any) {
	d.object(spec, "podSelector")
	for _, name := range [...]string{"ingress", "egress"} {
		for r := range objects(spec, name) {
			for p := range objects(r, "ports") {
				d.text(p, "protocol", "TCP")
			}
		}
	}
	if lacks(spec, "policyTypes") {
		types := []any{"Ingress"}
		if !lacks(spec, "egress") {
			types = append(types, "Egress")
		}
		d.put(spec, "policyTypes", types)
	}
}

// autoscaler fills in the spec of a HorizontalPodAutoscaler.
func (d *defaults) autoscaler(spec map[string]any) {
	d.set(spec, "minReplicas", int64(1))
	if lacks(spec, "metrics") {
		d.put(spec, "metrics", []any{map[string]any{"type": "Resource", "resource": map[string]any{
			"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": int64(80)}}}})
	}
	for m := range objects(spec, "metrics") {
		for _, name := range [...]string{"object", "pods", "resource", "containerResource", "external"} {
			if t := object1(object1(m, name), "target"); t != nil {
				d.quantity(t, "value", nano)
				d.quantity(t, "averageValue", nano)
			}
		}
	}
	behavior := object1(spec, "behavior")
	if behavior == nil {
		return
	}
	policy := func(typ string, value int64) any {
		return map[string]any{"type": typ, "value": value, "periodSeconds": int64(15)}
	}
	up, down := d.object(behavior, "scaleUp"), d.object(behavior, "scaleDown")
	d.set(up, "stabilizationWindowSeconds", int64(0))
	d.set(up, "selectPolicy", "Max")
	d.set(up, "policies", []any{policy("Pods", 4), policy("Percent", 100)})
	d.set(down, "selectPolicy", "Max")
	d.set(down, "policies", []any{policy("Percent", 100)})
}

func (d *defaults) webhook(w map[string]any) {
	d.set(w, "failurePolicy", "Fail")
	d.set(w, "matchPolicy", "Equivalent")
	d.object(w, "namespaceSelector")
	d.object(w, "objectSelector")
	d.set(w, "timeoutSeconds", int64(10))
	for r := range objects(w, "rules") {
		d.set(r, "scope", "*")
	}
	d.servicePort(object1(w, "clientConfig"))
}

// servicePort fills in how a webhook is reached.
func (d *defaults) servicePort(config map[string]any) {
	if s := object1(config, "service"); s != nil {
		d.set(s, "port", int64(443))
	}
}

// definition fills in the spec of a CustomResourceDefinition.
func (d *defaults) definition(spec map[string]any) {
	names := d.object(spec, "names")
	if kind := string1(names, "kind"); kind != "" {
		d.text(names, "singular", strings.ToLower(kind))
		d.text(names, "listKind", kind+"List")
	}
	conversion := d.object(spec, "conversion")
	d.text(conversion, "strategy", "None")
	d.servicePort(object1(object1(conversion, "webhook"), "clientConfig"))
}
