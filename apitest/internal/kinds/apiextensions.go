package kinds

import (
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/kube"
)

// apiextensionsKinds are the kinds of apiextensions.k8s.io.
func apiextensionsKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: kube.CustomResourceDefinitions, ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"}, Status: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				fillDefinition(d, d.Object(o, "spec"))
			},
			Zero:    `"spec":{"group":"","names":{"plural":"","kind":""},"scope":"","versions":null},"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":null}`,
			Printer: definitionPrinter,
		},
	}
}

// fillDefinition fills in the spec of a CustomResourceDefinition.
func fillDefinition(d *rules.Defaults, spec map[string]any) {
	names := d.Object(spec, "names")
	if kind := rules.TextAt(names, "kind"); kind != "" {
		d.Text(names, "singular", strings.ToLower(kind))
		d.Text(names, "listKind", kind+"List")
	}
	conversion := d.Object(spec, "conversion")
	d.Text(conversion, "strategy", "None")
	fillServicePort(d, rules.ObjectAt(rules.ObjectAt(conversion, "webhook"), "clientConfig"))
}

var definitionPrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Scope", "Namespaced, or Cluster"),
		columns.Text("Versions", "versions that are served"),
		columns.Definition{Name: "Created At", Type: "date", Description: "when the object was created"},
		columns.Wide("Group", "API group"),
		columns.Wide("Kind", "kind of the objects"),
		columns.Wide("ShortNames", "short names of the resource"),
		columns.Definition{Name: "Established", Type: "boolean", Description: "whether the resource is served", Priority: 1},
	),
	Cells: func(r *columns.Row) {
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
		var status struct{ Conditions columns.Conditions }
		r.Read("spec", &spec)
		r.Read("status", &status)
		var versions []string
		for _, v := range spec.Versions {
			switch {
			case v.Served && v.Storage:
				versions = append(versions, v.Name+"(storage)")
			case v.Served:
				versions = append(versions, v.Name)
			}
		}
		r.Add(r.Meta.Name, spec.Scope, strings.Join(columns.Sorted(versions), ","), r.Meta.CreationTimestamp, spec.Group, spec.Names.Kind,
			strings.Join(spec.Names.ShortNames, ","), status.Conditions.Holds("Established"))
	},
}
