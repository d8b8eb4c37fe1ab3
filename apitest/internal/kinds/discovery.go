package kinds

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
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
					d.Text(p, "protocol", "TCP")
				}
				for e := range rules.ObjectsAt(o, "endpoints") {
					d.Object(e, "conditions")
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

func refuseEndpointSlice(r *rules.Refusals, o, old map[string]any) {
	typ := rules.TextAt(o, "addressType")
	if typ == "" {
		r.Required("addressType")
	}
	r.Supported("addressType", typ, "FQDN", "IPv4", "IPv6")
	refuseEndpoints(r, typ, o)
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

func refuseEndpoints(r *rules.Refusals, typ string, o map[string]any) {
	for i, e := range rules.ListAt(o, "endpoints") {
		e, _ := e.(map[string]any)
		at := fmt.Sprintf("endpoints[%d]", i)
		if rules.Lacks(e, "addresses") {
			r.Required(at+".addresses", "must contain at least 1 address")
		}
		for field, s := range rules.Texts(at, e, "addresses") {
			switch typ {
			case "IPv4", "IPv6":
				if a, err := netip.ParseAddr(s); err != nil || a.Is4() != (typ == "IPv4") {
					r.Invalid(field, s, "must be a valid "+typ+" address")
				}
			case "FQDN":
				r.Each(field, s, rules.Subdomain(s))
			}
		}
		r.Maybe(at, e, "hostname", rules.LabelName)
		r.Maybe(at, e, "nodeName", rules.Subdomain)
		for _, name := range [...]string{"hostname", "nodeName"} {
			if s, ok := e[name].(string); ok && s == "" {
				r.Invalid(at+"."+name, s, "must not be empty")
			}
		}
		zones := map[string]bool{}
		for at, z := range rules.Elements(at+".hints", rules.ObjectAt(e, "hints"), "forZones") {
			name := rules.TextAt(z, "name")
			if zones[name] {
				r.Duplicate(at+".name", name)
			}
			zones[name] = true
			r.Each(at+".name", name, rules.LabelValue(name))
		}
	}
	names := map[string]bool{}
	for i, e := range rules.ListAt(o, "ports") {
		p, _ := e.(map[string]any)
		at := fmt.Sprintf("ports[%d]", i)
		name := rules.TextAt(p, "name")
		r.Maybe(at, p, "name", rules.LabelName)
		if names[name] {
			r.Duplicate(at+".name", name)
		}
		names[name] = true
		r.Supported(at+".protocol", rules.TextAt(p, "protocol"), "SCTP", "TCP", "UDP")
		if s, ok := p["appProtocol"].(string); ok {
			r.Each(at+".appProtocol", s, rules.QualifiedName(s))
		}
	}
}
