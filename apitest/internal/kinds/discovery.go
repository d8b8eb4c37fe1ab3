package kinds

import (
	"cmp"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/traffic"
	"github.com/listwatch/listwatch/kube"
)

// discoveryKinds are the kinds of discovery.k8s.io.
func discoveryKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: kube.EndpointSlices},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				for p := range rules.ObjectsAt(o, "ports") {
					d.Set(p, "name", "")
					d.Set(p, "protocol", "TCP")
				}
				for e := range rules.ObjectsAt(o, "endpoints") {
					d.Object(e, "conditions")
					fillReference(d, rules.ObjectAt(e, "targetRef"))
					for z := range rules.ObjectsAt(rules.ObjectAt(e, "hints"), "forZones") {
						d.Set(z, "name", "")
					}
				}
				d.Null(o, "endpoints")
				d.Null(o, "ports")
			},
			Validate: refuseEndpointSlice,
			Zero:     `"addressType":"","endpoints":null,"ports":null`,
			Printer:  endpointSlicePrinter,
			Strategy: Strategy{counts: true},
		},
	}
}

// fillReference fills in an ObjectReference.
func fillReference(d *rules.Defaults, ref map[string]any) {
	d.Drop(ref, "apiVersion", "kind", "namespace", "name", "uid", "resourceVersion", "fieldPath")
}

func refuseEndpointSlice(r *rules.Refusals, o, old map[string]any) {
	typ := rules.TextAt(o, "addressType")
	if typ == "" {
		r.Required("addressType")
	}
	r.Supported("addressType", typ, "FQDN", "IPv4", "IPv6")
	traffic.RefuseEndpoints(r, typ, o)
	if old != nil && typ != rules.TextAt(old, "addressType") {
		r.Invalid("addressType", nil, rules.Immutable)
	}
}

var endpointSlicePrinter = columns.Printer{
	Columns: columns.List(columns.Text("AddressType", "kind of the addresses"), columns.Text("Ports", "ports that serve"),
		columns.Text("Endpoints", "addresses that serve"), columns.AgeColumn()),
	Cells: func(r *columns.Row) {
		var addressType string
		var endpoints []struct{ Addresses []string }
		var ports []struct {
			Port *columns.Loose
			Name *string
		}
		r.Read("addressType", &addressType)
		r.Read("endpoints", &endpoints)
		r.Read("ports", &ports)
		var addresses, numbers []string
		for _, e := range endpoints {
			addresses = append(addresses, e.Addresses...)
		}
		for _, p := range ports {
			numbers = append(numbers, string(columns.Or(p.Port, columns.Loose(columns.Or(p.Name, "*")))))
		}
		r.Add(r.Meta.Name, addressType, cmp.Or(columns.SomeOf(3, numbers, ","), columns.Unset), cmp.Or(columns.SomeOf(3, addresses, ","), columns.Unset), r.Age())
	},
}

// NullLists makes null of lists that are empty, as etcd keeps them.
func NullLists(o *object.Object, names ...string) {
	for _, name := range names {
		if v, _ := o.Field(name); string(v) == "[]" {
			o.SetField(name, []byte("null"), true)
		}
	}
}
