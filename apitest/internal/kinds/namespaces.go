package kinds

import (
	"maps"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// namespaceKinds are the kinds of the core group about namespaces.
func namespaceKinds() []Kind {
	return []Kind{
		{
			Info:     object.Info{Resource: kube.Namespaces, ShortNames: []string{"ns"}, Status: true, NoCount: true, Fields: []string{"status.phase"}},
			Defaults: fillNamespace,
			Validate: func(r *rules.Refusals, o, _ map[string]any) {
				for _, name := range rules.Texts("spec", rules.ObjectAt(o, "spec"), "finalizers") {
					r.Each("spec.finalizers", name, rules.QualifiedName(name))
					if !strings.Contains(name, "/") && name != "kubernetes" {
						r.Invalid("spec.finalizers", name, "name is neither a standard finalizer name nor is it fully qualified")
					}
				}
			},
			Status:   `{"phase":"Active"}`,
			Zero:     `"spec":{},"status":{}`,
			Printer:  namespacePrinter,
			Strategy: Strategy{name: rules.LabelName},
			Assign:   assignNamespace,
		},
		{
			Info: object.Info{Resource: kube.ServiceAccounts, Returns: true, ShortNames: []string{"sa"}, NoCount: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				d.DropIn(o, "imagePullSecrets", "name")
				d.DropIn(o, "secrets", "name")
			},
			Printer: serviceAccountPrinter,
		},
		{
			Info: object.Info{Resource: core("limitranges", "LimitRange"), ShortNames: []string{"limits"}, NoCount: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				spec := d.Object(o, "spec")
				d.NullEmpty(spec, "limits")
				for l := range rules.ObjectsAt(spec, "limits") {
					fillLimitRange(d, l)
				}
			},
			Validate: func(r *rules.Refusals, o, _ map[string]any) {
				refuseLimits(r, rules.ObjectAt(o, "spec"))
			},
			Zero:     `"spec":{"limits":null}`,
			Strategy: Strategy{Upserts: true},
		},
		{
			Info: object.Info{Resource: core("resourcequotas", "ResourceQuota"), Returns: true, ShortNames: []string{"quota"}, Status: true, NoCount: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				d.Quantities(d.Object(o, "spec"), "hard")
				if status := rules.ObjectAt(o, "status"); status != nil {
					d.Quantities(status, "hard")
					d.Quantities(status, "used")
				}
			},
			Validate: refuseQuota,
			Status:   `{}`,
			Zero:     `"spec":{},"status":{}`,
			Printer:  quotaPrinter,
		},
	}
}

// fillNamespace gives a namespace the label of its name.
func fillNamespace(d *rules.Defaults, o map[string]any) {
	if meta := rules.ObjectAt(o, "metadata"); rules.TextAt(meta, "name") != "" {
		labels := d.Object(meta, "labels")
		if name := meta["name"]; labels["kubernetes.io/metadata.name"] != name {
			d.Put(labels, "kubernetes.io/metadata.name", name)
		}
	}
	d.Object(o, "spec")
	if status := rules.ObjectAt(o, "status"); status != nil {
		d.Text(status, "phase", "Active")
		d.DropIn(status, "conditions", "reason", "message")
	}
}

// fillLimitRange fills in one item of a LimitRange.
func fillLimitRange(d *rules.Defaults, l map[string]any) {
	for _, name := range [...]string{"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"} {
		d.Quantities(l, name)
	}
	if l["type"] != "Container" {
		return
	}
	fill := func(to, from string) {
		for name, v := range rules.ObjectAt(l, from) {
			d.Set(d.Object(l, to), name, schema.Copy(v))
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
func assignNamespace(d *rules.Defaults, o, old map[string]any, _ func(any) bool) {
	if old != nil {
		if was := rules.ObjectAt(old, "spec"); !rules.SameValue(rules.ObjectAt(o, "spec"), was) { // only its subresource changes it
			d.Put(o, "spec", schema.Copy(was))
		}
		return
	}
	if len(rules.LabelName(rules.TextAt(rules.ObjectAt(o, "metadata"), "name"))) == 0 {
		fillNamespace(d, o) // if its name was made
	}
	spec := d.Object(o, "spec")
	if list := rules.ListAt(spec, "finalizers"); !slices.Contains(list, any("kubernetes")) {
		d.Put(spec, "finalizers", append(slices.Clip(list), "kubernetes"))
	}
}

// quotaScopes are what a quota may be limited to.
var quotaScopes = []string{"BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass", "Terminating", "VolumeAttributesClass"}

// scopesOf returns the scopes of a quota, whose order does not matter.
func scopesOf(spec map[string]any) map[any]bool {
	set := make(map[any]bool)
	for _, s := range rules.ListAt(spec, "scopes") {
		set[s] = true
	}
	return set
}

func refuseQuota(r *rules.Refusals, o, old map[string]any) {
	spec := rules.ObjectAt(o, "spec")
	if old != nil && !maps.Equal(scopesOf(spec), scopesOf(rules.ObjectAt(old, "spec"))) {
		r.Invalid("spec.scopes", spec["scopes"], rules.Immutable)
	}
	for name := range rules.KeysOf(rules.ObjectAt(spec, "hard")) {
		if q := rules.TextAt(rules.ObjectAt(spec, "hard"), name); strings.HasPrefix(q, "-") {
			r.Invalid("spec.hard["+name+"]", q, "must be greater than or equal to 0")
		}
	}
	for _, s := range rules.Texts("spec", spec, "scopes") {
		if !slices.Contains(quotaScopes, s) {
			r.Invalid("spec.scopes", s, "unsupported scope")
		}
	}
	const path = "spec.scopeSelector.matchExpressions"
	for x := range rules.ObjectsAt(rules.ObjectAt(spec, "scopeSelector"), "matchExpressions") {
		if s := rules.TextAt(x, "scopeName"); !slices.Contains(quotaScopes, s) {
			r.Invalid(path+".scopeName", s, "unsupported scope")
		}
		switch op := rules.TextAt(x, "operator"); op {
		case "In", "NotIn":
			if rules.Lacks(x, "values") {
				r.Required(path+".values", "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")
			}
		case "Exists", "DoesNotExist":
			if !rules.Lacks(x, "values") {
				r.Invalid(path+".values", x["values"], "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")
			}
		default:
			r.Invalid(path+".operator", op, "not a valid selector operator")
		}
	}
}

func refuseLimits(r *rules.Refusals, spec map[string]any) {
	types := map[string]bool{}
	for at, l := range rules.Elements("spec", spec, "limits") {
		typ := rules.TextAt(l, "type")
		if wrong := rules.QualifiedName(typ); len(wrong) > 0 {
			r.Each(at+".type", typ, wrong)
		} else if !strings.Contains(typ, "/") && typ != "Pod" && typ != "Container" && typ != "PersistentVolumeClaim" {
			r.Invalid(at+".type", typ, "must be a standard limit type or fully qualified")
		}
		if types[typ] {
			r.Duplicate(at+".type", typ)
		}
		types[typ] = true
		more := func(list, name, than string) {
			a, b := rules.TextAt(rules.ObjectAt(l, list), name), rules.TextAt(rules.ObjectAt(l, than), name)
			if a != "" && b != "" && rules.CompareQuantities(a, b) > 0 {
				field := list
				if list == "min" && than != "max" {
					field = than
				}
				r.Invalid(at+"."+field+"["+name+"]", a, list+" value "+a+" is greater than "+than+" value "+b)
			}
		}
		names := map[string]any{}
		for _, list := range [...]string{"max", "min", "default", "defaultRequest"} {
			maps.Copy(names, rules.ObjectAt(l, list))
		}
		for name := range rules.KeysOf(names) {
			more("min", name, "max")
			more("min", name, "defaultRequest")
			more("defaultRequest", name, "max")
			more("defaultRequest", name, "default")
			more("min", name, "default")
			more("default", name, "max")
		}
	}
}
