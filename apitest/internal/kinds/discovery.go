package kinds

import (
	"cmp"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// discoveryKinds are the kinds of discovery.k8s.io.
func discoveryKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: kube.EndpointSlices},
			Defaults: func(d *Defaults, o map[string]any) {
				for p := range ObjectsAt(o, "ports") {
					d.set(p, "name", "")
					d.text(p, "protocol", "TCP")
				}
				for e := range ObjectsAt(o, "endpoints") {
					d.Object(e, "conditions")
				}
				d.null(o, "endpoints")
				d.null(o, "ports")
			},
			Validate: (*Refusals).endpointSlice,
			Zero:     `"addressType":"","endpoints":null,"ports":null`,
			Printer:  endpointSlicePrinter,
			Strategy: Strategy{counts: true},
		},
	}
}

func (r *Refusals) endpointSlice(o, old map[string]any) {
	typ := TextAt(o, "addressType")
	if typ == "" {
		r.required("addressType")
	}
	r.supported("addressType", typ, "FQDN", "IPv4", "IPv6")
	if old != nil && typ != TextAt(old, "addressType") {
		r.invalid("addressType", nil, immutable)
	}
}

var endpointSlicePrinter = Printer{
	Columns: columns(column("AddressType", "kind of the addresses"), column("Ports", "ports that serve"),
		column("Endpoints", "addresses that serve"), ageColumn()),
	Cells: func(r *Row) {
		var addressType string
		var endpoints []struct{ Addresses []string }
		var ports []struct {
			Port *loose
			Name *string
		}
		r.read("addressType", &addressType)
		r.read("endpoints", &endpoints)
		r.read("ports", &ports)
		var addresses, numbers []string
		for _, e := range endpoints {
			addresses = append(addresses, e.Addresses...)
		}
		for _, p := range ports {
			numbers = append(numbers, string(Or(p.Port, loose(Or(p.Name, "*")))))
		}
		r.add(r.Meta.Name, addressType, cmp.Or(someOf(3, numbers, ","), unset), cmp.Or(someOf(3, addresses, ","), unset), r.age())
	},
}
