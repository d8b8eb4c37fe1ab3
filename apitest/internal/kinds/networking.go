package kinds

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/traffic"
	"github.com/listwatch/listwatch/kube"
)

// networkingKinds are the kinds of networking.k8s.io.
func networkingKinds() []Kind {
	return []Kind{
		{
			Info:     object.Info{Resource: kube.Ingresses, ShortNames: []string{"ing"}, Status: true},
			Defaults: fillIngress,
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				spec := rules.ObjectAt(o, "spec")
				if spec["defaultBackend"] == nil && rules.Lacks(spec, "rules") {
					r.Invalid("spec", nil, "either `defaultBackend` or `rules` must be specified")
				}
				traffic.RefuseIngress(r, spec)
			},
			Status:  `{"loadBalancer":{}}`,
			Zero:    `"spec":{},"status":{"loadBalancer":{}}`,
			Printer: ingressPrinter,
		},
		{
			Info: object.Info{Resource: cluster("networking.k8s.io", "ingressclasses", "IngressClass")},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				spec := rules.ObjectAt(o, "spec")
				if p := rules.ObjectAt(spec, "parameters"); p != nil {
					d.Set(p, "scope", "Cluster")
				}
			},
			Validate: traffic.RefuseIngressClass,
			Zero:     `"spec":{}`,
			Printer:  ingressClassPrinter,
		},
		{
			Info: object.Info{Resource: Named("networking.k8s.io", "networkpolicies", "NetworkPolicy"), ShortNames: []string{"netpol"}},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				fillNetworkPolicy(d, d.Object(o, "spec"))
			},
			Validate: func(r *rules.Refusals, o, _ map[string]any) {
				traffic.RefuseNetworkPolicy(r, rules.ObjectAt(o, "spec"))
			},
			Zero:    `"spec":{"podSelector":{}}`,
			Printer: networkPolicyPrinter,
		},
		{
			Info: object.Info{Resource: cluster("networking.k8s.io", "ipaddresses", "IPAddress"), ShortNames: []string{"ip"}, NoCount: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				d.Object(o, "spec")
			},
			Zero:     `"spec":{}`,
			Printer:  addressPrinter,
			Strategy: Strategy{name: addressName},
		},
		{
			Info: object.Info{Resource: cluster("networking.k8s.io", "servicecidrs", "ServiceCIDR"), Status: true, NoCount: true, Returns: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				d.Object(o, "spec")
			},
			Status:  `{}`,
			Zero:    `"spec":{},"status":{}`,
			Printer: cidrPrinter,
		},
	}
}

// fillIngress fills in the backends, rules and certificates of an Ingress.
func fillIngress(d *rules.Defaults, o map[string]any) {
	fillAddresses(d, o)
	spec := rules.ObjectAt(o, "spec")
	backend := func(b map[string]any) {
		if r := rules.ObjectAt(b, "resource"); r != nil {
			d.Null(r, "apiGroup")
		}
	}
	backend(rules.ObjectAt(spec, "defaultBackend"))
	for rule := range rules.ObjectsAt(spec, "rules") {
		d.Drop(rule, "host")
		for p := range rules.ObjectsAt(rules.ObjectAt(rule, "http"), "paths") {
			backend(rules.ObjectAt(p, "backend"))
		}
	}
	d.DropIn(spec, "tls", "secretName")
}

func fillNetworkPolicy(d *rules.Defaults, spec map[string]any) {
	d.Object(spec, "podSelector")
	for _, name := range [...]string{"ingress", "egress"} {
		for r := range rules.ObjectsAt(spec, name) {
			for p := range rules.ObjectsAt(r, "ports") {
				d.Set(p, "protocol", "TCP")
			}
		}
	}
	if rules.Lacks(spec, "policyTypes") {
		types := []any{"Ingress"}
		if !rules.Lacks(spec, "egress") {
			types = append(types, "Egress")
		}
		d.Put(spec, "policyTypes", types)
	}
}

var ingressPrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Class", "class of the ingress"),
		columns.Text("Hosts", "hosts that are served"),
		columns.Text("Address", "addresses of the load balancer"),
		columns.Text("Ports", "ports that are open"),
		columns.AgeColumn(),
	),
	Cells: func(r *columns.Row) {
		var spec struct {
			IngressClassName *string
			Rules            []struct{ Host string }
			TLS              []struct{}
		}
		var status struct{ LoadBalancer loadBalancer }
		r.Read("spec", &spec)
		r.Read("status", &status)
		ports := "80"
		if len(spec.TLS) > 0 {
			ports = "80, 443"
		}
		var hosts []string
		rest := ""
		for _, rule := range spec.Rules {
			if len(hosts) == 3 { // what follows counts, with a host or without
				rest = fmt.Sprintf(" + %d more...", len(spec.Rules)-3)
				break
			}
			if rule.Host != "" {
				hosts = append(hosts, rule.Host)
			}
		}
		host := cmp.Or(strings.Join(hosts, ","), "*") + rest
		r.Add(r.Meta.Name, columns.Or(spec.IngressClassName, columns.None), host, strings.Join(status.LoadBalancer.addresses(), ","), ports, r.Age())
	},
}

var ingressClassPrinter = columns.Printer{
	Columns: columns.List(columns.Text("Controller", "who serves the class"), columns.Text("Parameters", "the object with its parameters"), columns.AgeColumn()),
	Cells: func(r *columns.Row) {
		var spec struct {
			Controller string
			Parameters *struct {
				APIGroup   *string
				Kind, Name string
			}
		}
		r.Read("spec", &spec)
		name := r.Meta.Name
		if r.Meta.Annotations["ingressclass.kubernetes.io/is-default-class"] == "true" {
			name += " (default)"
		}
		parameters := columns.None
		if p := spec.Parameters; p != nil {
			parameters = p.Kind
			if p.APIGroup != nil {
				parameters += "." + *p.APIGroup
			}
			parameters += "/" + p.Name
		}
		r.Add(name, spec.Controller, parameters, r.Age())
	},
}

var networkPolicyPrinter = columns.Printer{
	Columns: columns.List(columns.Text("Pod-Selector", "labels of the pods"), columns.AgeColumn()),
	Cells: func(r *columns.Row) {
		var spec struct{ PodSelector columns.LabelSelector }
		r.Read("spec", &spec)
		r.Add(r.Meta.Name, spec.PodSelector.Text(), r.Age())
	},
}

var addressPrinter = columns.Printer{
	Columns: columns.List(columns.Text("ParentRef", "who has the address")),
	Cells: func(r *columns.Row) {
		var spec struct {
			ParentRef *struct{ Group, Resource, Namespace, Name string }
		}
		r.Read("spec", &spec)
		parent := columns.None
		if p := spec.ParentRef; p != nil {
			parent = p.Resource
			if p.Group != "" {
				parent += "." + p.Group
			}
			if p.Namespace != "" {
				parent += "/" + p.Namespace
			}
			parent += "/" + p.Name
		}
		r.Add(r.Meta.Name, parent)
	},
}

var cidrPrinter = columns.Printer{
	Columns: columns.List(columns.Text("CIDRs", "ranges of addresses of services"), columns.AgeColumn()),
	Cells: func(r *columns.Row) {
		var spec struct{ CIDRs []string }
		r.Read("spec", &spec)
		r.Add(r.Meta.Name, strings.Join(spec.CIDRs, ","), r.Age())
	},
}

// addressName says what is wrong with the name of an IPAddress, which is the address.
func addressName(s string) []string {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil || a.Zone() != "":
		return []string{"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"}
	case a.String() != s:
		return []string{"must be in canonical form (" + strconv.Quote(a.String()) + ")"}
	}
	return nil
}
