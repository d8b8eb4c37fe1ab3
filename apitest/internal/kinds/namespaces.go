package kinds

import (
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/schema"
	"github.com/listwatch/listwatch/kube"
)

// namespaceKinds are the kinds of the core group about namespaces.
func namespaceKinds() []Kind {
	return []Kind{
		{
			Info:     object.Info{Resource: kube.Namespaces, ShortNames: []string{"ns"}, Status: true, NoCount: true, Fields: []string{"status.phase"}},
			Defaults: (*Defaults).namespace,
			Status:   `{"phase":"Active"}`,
			Zero:     `"spec":{},"status":{}`,
			Printer:  namespacePrinter,
			Strategy: Strategy{name: labelName},
			Assign:   (*Defaults).assignNamespace,
		},
		{
			Info:    object.Info{Resource: kube.ServiceAccounts, Returns: true, ShortNames: []string{"sa"}, NoCount: true},
			Printer: serviceAccountPrinter,
		},
		{
			Info: object.Info{Resource: core("limitranges", "LimitRange"), ShortNames: []string{"limits"}, NoCount: true},
			Defaults: func(d *Defaults, o map[string]any) {
				for l := range ObjectsAt(d.Object(o, "spec"), "limits") {
					d.limit(l)
				}
			},
			Zero:     `"spec":{"limits":null}`,
			Strategy: Strategy{Upserts: true},
		},
		{
			Info: object.Info{Resource: core("resourcequotas", "ResourceQuota"), Returns: true, ShortNames: []string{"quota"}, Status: true, NoCount: true},
			Defaults: func(d *Defaults, o map[string]any) {
				d.quantities(d.Object(o, "spec"), "hard")
			},
			Status:  `{}`,
			Zero:    `"spec":{},"status":{}`,
			Printer: quotaPrinter,
		},
	}
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

// limit fills in one item of a LimitRange.
func (d *Defaults) limit(l map[string]any) {
	for _, name := range [...]string{"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"} {
		d.quantities(l, name)
	}
	if l["type"] != "Container" {
		return
	}
	fill := func(to, from string) {
		for name, v := range ObjectAt(l, from) {
			d.set(d.Object(l, to), name, schema.Copy(v))
		}
	}
	fill("default", "max")
	fill("defaultRequest", "default")
	fill("defaultRequest", "min")
}

var namespacePrinter = columns.Printer{
	Columns: columns.List(columns.Text("Status", "Active, or Terminating"), columns.AgeColumn()),
	Cells: func(r *columns.Row) {
		var status struct{ Phase string }
		r.Read("status", &status)
		r.Add(r.Meta.Name, status.Phase, r.Age())
	},
}

var serviceAccountPrinter = columns.Printer{
	Columns: columns.List(columns.AgeColumn()),
	Cells:   func(r *columns.Row) { r.Add(r.Meta.Name, r.Age()) },
}

var quotaPrinter = columns.Printer{
	Columns: columns.List(columns.Text("Request", "what is used of requests, and the limit"), columns.Text("Limit", "what is used of limits, and the limit"), columns.AgeColumn()),
	Cells: func(r *columns.Row) {
		var status struct{ Hard, Used map[string]columns.Quantity }
		r.Read("status", &status)
		var requests, limits []string
		for _, name := range object.SortedKeys(status.Hard) {
			use := name + ": " + status.Used[name].String() + "/" + status.Hard[name].String()
			if strings.HasPrefix(name, "limits.") {
				limits = append(limits, use)
			} else {
				requests = append(requests, use)
			}
		}
		r.Add(r.Meta.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), r.Age())
	},
}

// assignNamespace is Assign for namespaces.
func (d *Defaults) assignNamespace(o, old map[string]any, _ func(any) bool) {
	if old != nil {
		if was := ObjectAt(old, "spec"); !SameValue(ObjectAt(o, "spec"), was) { // only its subresource changes it
			d.put(o, "spec", schema.Copy(was))
		}
		return
	}
	if len(labelName(TextAt(ObjectAt(o, "metadata"), "name"))) == 0 {
		d.namespace(o) // if its name was made
	}
	spec := d.Object(o, "spec")
	if list := ListAt(spec, "finalizers"); !slices.Contains(list, any("kubernetes")) {
		d.put(spec, "finalizers", append(slices.Clip(list), "kubernetes"))
	}
}
