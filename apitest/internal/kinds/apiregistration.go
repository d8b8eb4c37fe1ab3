package kinds

import (
	"fmt"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
)

// apiregistrationKinds are the kinds of apiregistration.k8s.io. Nothing is served through
// an APIService: there are no API servers behind this one.
func apiregistrationKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: cluster("apiregistration.k8s.io", "apiservices", "APIService"), Categories: []string{"api-extensions"}, Status: true, NoCount: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				spec := d.Object(o, "spec")
				d.Drop(spec, "insecureSkipTLSVerify")
				if s := rules.ObjectAt(spec, "service"); s != nil {
					d.Set(s, "port", int64(443))
				}
			},
			Validate:  refuseAPIService,
			NewStatus: statusOfAPIService,
			Zero:      `"spec":{"groupPriorityMinimum":0,"versionPriority":0},"status":{}`,
			Printer:   apiServicePrinter,
			Strategy:  Strategy{Guarded: true, name: rules.SegmentName},
		},
	}
}

func refuseAPIService(r *rules.Refusals, o, _ map[string]any) {
	spec := rules.ObjectAt(o, "spec")
	name, group, version := rules.TextAt(rules.ObjectAt(o, "metadata"), "name"), rules.TextAt(spec, "group"), rules.TextAt(spec, "version")
	if want := version + "." + group; name != want && name != "" && len(rules.SegmentName(name)) == 0 {
		r.Invalid("metadata.name", name, "must be `spec.version+\".\"+spec.group`: "+rules.Show(want))
	}
	if group == "" && version != "v1" {
		r.Required("spec.group", "only v1 may have an empty group and it better be legacy kube")
	}
	r.Maybe("spec", spec, "group", rules.Subdomain)
	r.Each("spec.version", version, rules.LabelName(version))
	if n := rules.IntAt(spec, "groupPriorityMinimum"); n < 1 || n > 20000 {
		r.Invalid("spec.groupPriorityMinimum", n, "must be positive and less than 20000")
	}
	if n := rules.IntAt(spec, "versionPriority"); n < 1 || n > 1000 {
		r.Invalid("spec.versionPriority", n, "must be positive and less than 1000")
	}
	bundle, service := rules.TextAt(spec, "caBundle"), rules.ObjectAt(spec, "service")
	insecure := spec["insecureSkipTLSVerify"] == true
	switch {
	case service == nil && bundle != "":
		r.Invalid("spec.caBundle", bundle+" bytes", "local APIServices may not have a caBundle")
	case service == nil && insecure:
		r.Invalid("spec.insecureSkipTLSVerify", true, "local APIServices may not have insecureSkipTLSVerify")
	case service == nil:
		return
	case insecure && bundle != "":
		r.Invalid("spec.insecureSkipTLSVerify", true, "may not be true if caBundle is present")
	}
	if service != nil {
		r.Needed("spec.service", service, "namespace", "name")
		r.Port("spec.service.port", service["port"])
	}
}

func statusOfAPIService(o map[string]any) map[string]any {
	if rules.ObjectAt(rules.ObjectAt(o, "spec"), "service") != nil {
		return map[string]any{}
	}
	return map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": "True", "lastTransitionTime": object.Timestamp(),
		"reason": "Local", "message": "Local APIServices are always available"}}}
}

var apiServicePrinter = columns.Printer{
	Columns: columns.List(columns.Text("Service", "who serves the API"), columns.Text("Available", "whether it is served"), columns.AgeColumn()),
	Cells: func(r *columns.Row) {
		var spec struct {
			Service *struct{ Namespace, Name string }
		}
		var status struct {
			Conditions []struct{ Type, Status, Reason string }
		}
		r.Read("spec", &spec)
		r.Read("status", &status)
		service, available := "Local", columns.Unknown
		if s := spec.Service; s != nil {
			service = s.Namespace + "/" + s.Name
		}
		for _, c := range status.Conditions {
			if c.Type != "Available" {
				continue
			}
			if available = c.Status; c.Status != "True" {
				available = fmt.Sprintf("%s (%s)", c.Status, c.Reason)
			}
		}
		r.Add(r.Meta.Name, service, available, r.Age())
	},
}
