package kinds

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"
)

var servicePrinter = Printer{
	Columns: columns(
		column("Type", "how the service is reached"),
		column("Cluster-IP", "its address within the cluster"),
		column("External-IP", "its addresses outside"),
		column("Port(s)", "its ports"),
		ageColumn(), selectorColumn(),
	),
	Cells: func(r *Row) {
		var spec struct {
			Type, ClusterIP, ExternalName string
			ClusterIPs, ExternalIPs       []string
			Ports                         []struct {
				Port, NodePort int
				Protocol       string
			}
			Selector map[string]string
		}
		var status struct{ LoadBalancer loadBalancer }
		r.read("spec", &spec)
		r.read("status", &status)
		ip := cmp.Or(spec.ClusterIP, none)
		if len(spec.ClusterIPs) > 0 {
			ip = spec.ClusterIPs[0]
		}
		external := strings.Join(spec.ExternalIPs, ",")
		switch spec.Type {
		case "ClusterIP", "NodePort":
			external = cmp.Or(external, none)
		case "LoadBalancer":
			external = cmp.Or(strings.Join(append(status.LoadBalancer.addresses(), spec.ExternalIPs...), ","), "<pending>")
		case "ExternalName":
			external = spec.ExternalName
		default:
			external = unknown
		}
		var ports []string
		for _, p := range spec.Ports {
			if p.NodePort > 0 {
				ports = append(ports, fmt.Sprintf("%d:%d/%s", p.Port, p.NodePort, p.Protocol))
			} else {
				ports = append(ports, fmt.Sprintf("%d/%s", p.Port, p.Protocol))
			}
		}
		r.add(r.Meta.Name, spec.Type, ip, external, cmp.Or(strings.Join(ports, ","), none), r.age(), labelList(spec.Selector))
	},
}

type loadBalancer struct {
	Ingress []struct{ IP, Hostname string }
}

// addresses returns each address once, in order.
func (l *loadBalancer) addresses() []string {
	var list []string
	for _, i := range l.Ingress {
		if a := cmp.Or(i.IP, i.Hostname); a != "" {
			list = append(list, a)
		}
	}
	return slices.Compact(Sorted(list))
}

var endpointsPrinter = Printer{
	Columns: columns(column("Endpoints", "addresses that serve"), ageColumn()),
	Cells: func(r *Row) {
		var subsets []struct {
			Addresses []struct{ IP string }
			Ports     []struct{ Port loose }
		}
		r.read("subsets", &subsets)
		var list []string
		for _, s := range subsets {
			for _, a := range s.Addresses {
				if len(s.Ports) == 0 {
					list = append(list, a.IP)
				}
			}
			for _, p := range s.Ports {
				for _, a := range s.Addresses {
					list = append(list, net.JoinHostPort(a.IP, string(p.Port)))
				}
			}
		}
		endpoints := someOf(3, list, ",")
		if len(subsets) == 0 {
			endpoints = none
		}
		r.add(r.Meta.Name, endpoints, r.age())
	},
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

var ingressPrinter = Printer{
	Columns: columns(
		column("Class", "class of the ingress"),
		column("Hosts", "hosts that are served"),
		column("Address", "addresses of the load balancer"),
		column("Ports", "ports that are open"),
		ageColumn(),
	),
	Cells: func(r *Row) {
		var spec struct {
			IngressClassName *string
			Rules            []struct{ Host string }
			TLS              []struct{}
		}
		var status struct{ LoadBalancer loadBalancer }
		r.read("spec", &spec)
		r.read("status", &status)
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
		r.add(r.Meta.Name, Or(spec.IngressClassName, none), host, strings.Join(status.LoadBalancer.addresses(), ","), ports, r.age())
	},
}

var ingressClassPrinter = Printer{
	Columns: columns(column("Controller", "who serves the class"), column("Parameters", "the object with its parameters"), ageColumn()),
	Cells: func(r *Row) {
		var spec struct {
			Controller string
			Parameters *struct {
				APIGroup   *string
				Kind, Name string
			}
		}
		r.read("spec", &spec)
		name := r.Meta.Name
		if r.Meta.Annotations["ingressclass.kubernetes.io/is-default-class"] == "true" {
			name += " (default)"
		}
		parameters := none
		if p := spec.Parameters; p != nil {
			parameters = p.Kind
			if p.APIGroup != nil {
				parameters += "." + *p.APIGroup
			}
			parameters += "/" + p.Name
		}
		r.add(name, spec.Controller, parameters, r.age())
	},
}

var networkPolicyPrinter = Printer{
	Columns: columns(column("Pod-Selector", "labels of the pods"), ageColumn()),
	Cells: func(r *Row) {
		var spec struct{ PodSelector LabelSelector }
		r.read("spec", &spec)
		r.add(r.Meta.Name, spec.PodSelector.text(), r.age())
	},
}
