package view

import (
	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/kube"
)

// Events are stored once and served in the core group and in events.k8s.io, where some
// fields have other names. See
// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/.

// eventNames are the fields with two names: in events.k8s.io and in core.
var eventNames = [...][2]string{
	{"regarding", "involvedObject"},
	{"note", "message"},
	{"reportingController", "reportingComponent"},
	{"deprecatedSource", "source"},
	{"deprecatedFirstTimestamp", "firstTimestamp"},
	{"deprecatedLastTimestamp", "lastTimestamp"},
	{"deprecatedCount", "count"},
}

// EventToCore converts an event of events.k8s.io to one of the core group. It shares
// values with e, which it does not change.
func EventToCore(e map[string]any) map[string]any {
	o := renameEvent(e, 0, 1)
	o["apiVersion"] = kube.Events.APIVersion()
	var d rules.Defaults
	kinds.FillEvent(&d, o)
	return o
}

// eventFromCore converts an event of the core group to one of events.k8s.io. It shares
// values with e, which it does not change.
func eventFromCore(e map[string]any) map[string]any {
	o := renameEvent(e, 1, 0)
	o["apiVersion"] = "events.k8s.io/v1"
	var d rules.Defaults
	d.Object(o, "regarding")
	d.Object(o, "deprecatedSource")
	d.Drop(o, "note", "reportingController", "reportingInstance", "deprecatedCount", "action", "reason", "type")
	for _, name := range [...]string{"eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"} {
		if _, ok := o[name]; !ok {
			o[name] = nil
		}
	}
	return o
}

// renameEvent returns a copy of e with the other field names.
func renameEvent(e map[string]any, from, to int) map[string]any {
	o := make(map[string]any, len(e)+4)
	for name, v := range e {
		o[name] = v
	}
	for _, names := range eventNames {
		if v, ok := o[names[from]]; ok {
			delete(o, names[from])
			o[names[to]] = v
		}
	}
	return o
}

// eventOf returns o, an event of the core group, as r, that of events.k8s.io. A
// bookmark has no fields, and is unchanged.
func eventOf(r *object.Info, o *object.Object) *object.Object {
	if len(o.Fields) == 0 {
		return o
	}
	return objectOf(r, o, eventFromCore(o.Decoded()))
}
