package kinds

import (
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// apiextensionsKinds are the kinds of apiextensions.k8s.io.
func apiextensionsKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: kube.CustomResourceDefinitions, ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"}, Status: true},
			Defaults: func(d *Defaults, o map[string]any) {
				d.definition(d.Object(o, "spec"))
			},
			Zero:    `"spec":{"group":"","names":{"plural":"","kind":""},"scope":"","versions":null},"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":null}`,
			Printer: definitionPrinter,
		},
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

var definitionPrinter = Printer{
	Columns: columns(
		column("Scope", "Namespaced, or Cluster"),
		column("Versions", "versions that are served"),
		ColumnDefinition{Name: "Created At", Type: "date", Description: "when the object was created"},
		wideColumn("Group", "API group"),
		wideColumn("Kind", "kind of the objects"),
		wideColumn("ShortNames", "short names of the resource"),
		ColumnDefinition{Name: "Established", Type: "boolean", Description: "whether the resource is served", Priority: 1},
	),
	Cells: func(r *Row) {
		var spec struct {
			Group, Scope string
			Names        struct {
				Kind       string
				ShortNames []string
			}
			Versions []struct {
				Name            string
				Served, Storage bool
			}
		}
		var status struct{ Conditions Conditions }
		r.read("spec", &spec)
		r.read("status", &status)
		var versions []string
		for _, v := range spec.Versions {
			switch {
			case v.Served && v.Storage:
				versions = append(versions, v.Name+"(storage)")
			case v.Served:
				versions = append(versions, v.Name)
			}
		}
		r.add(r.Meta.Name, spec.Scope, strings.Join(Sorted(versions), ","), r.Meta.CreationTimestamp, spec.Group, spec.Names.Kind,
			strings.Join(spec.Names.ShortNames, ","), status.Conditions.Holds("Established"))
	},
}
