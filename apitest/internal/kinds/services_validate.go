package kinds

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/pods"
	"github.com/listwatch/listwatch/apitest/internal/rules"
)

func refuseService(r *rules.Refusals, spec, old map[string]any) {
	headless := spec["clusterIP"] == "None"
	ports := rules.ListAt(spec, "ports")
	if len(ports) == 0 && !headless && spec["type"] != "ExternalName" {
		r.Required("spec.ports")
	}
	if spec["type"] == "ExternalName" && (!rules.Lacks(spec, "clusterIPs") || rules.TextAt(spec, "clusterIP") != "") {
		r.Add("FieldValueForbidden", "spec.clusterIPs", "Forbidden: may not be set for ExternalName services")
	}
	if spec["type"] == "ExternalName" && rules.TextAt(spec, "externalName") == "" {
		r.Required("spec.externalName")
	}
	names, served := make(map[string]bool), make(map[string]bool)
	for i, e := range ports {
		p, _ := e.(map[string]any)
		path := fmt.Sprintf("spec.ports[%d]", i)
		switch name := rules.TextAt(p, "name"); {
		case name == "" && len(ports) > 1:
			r.Required(path + ".name")
		case name == "":
		case names[name]:
			r.Duplicate(path+".name", name)
		default:
			r.Each(path+".name", name, rules.LabelName(name))
			names[name] = true
		}
		r.Port(path+".port", p["port"])
		if p["port"] == nil {
			r.Port(path+".port", int64(0))
		}
		r.OneOf(path, p, "protocol", "SCTP", "TCP", "UDP")
		if s, ok := p["appProtocol"].(string); ok {
			r.Each(path+".appProtocol", s, rules.QualifiedName(s))
		}
		r.Port(path+".targetPort", p["targetPort"])
		if s, ok := p["targetPort"].(string); ok {
			r.Each(path+".targetPort", s, rules.PortName(s))
		}
		id := fmt.Sprintf(`{"Name":"","Protocol":%q,"AppProtocol":null,"Port":%v,"TargetPort":0,"NodePort":0}`, rules.TextAt(p, "protocol"), p["port"])
		if served[id] {
			r.Add("FieldValueDuplicate", path, "Duplicate value: "+id)
		}
		served[id] = true
	}
	r.Labels("spec.selector", rules.ObjectAt(spec, "selector"))
	refuseTraffic(r, spec)
	refuseAddress(r, spec)
	r.OneOf("spec", spec, "sessionAffinity", "ClientIP", "None")
	r.OneOf("spec", spec, "type", "ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
	if ip, was := spec["clusterIP"], rules.TextAt(old, "clusterIP"); was != "" && ip != was && spec["type"] != "ExternalName" && old["type"] != "ExternalName" {
		r.Invalid("spec.clusterIPs[0]", []any{ip}, "may not change once set")
	}
	if typ := rules.TextAt(spec, "type"); headless && (typ == "NodePort" || typ == "LoadBalancer") {
		r.Invalid("spec.clusterIPs[0]", "None", "may not be set to 'None' for "+typ+" services")
	}
}

// refuseTraffic refuses what is wrong with how a Service is reached.
func refuseTraffic(r *rules.Refusals, spec map[string]any) {
	for field, s := range rules.Texts("spec", spec, "externalIPs") {
		r.IP(field, s)
	}
	typ := rules.TextAt(spec, "type")
	if typ == "ExternalName" {
		r.Maybe("spec", spec, "externalName", func(s string) []string { return rules.Subdomain(strings.TrimSuffix(s, ".")) })
	}
	policy := rules.TextAt(spec, "externalTrafficPolicy")
	switch outside := typ == "NodePort" || typ == "LoadBalancer" || typ == "ClusterIP" && !rules.Lacks(spec, "externalIPs"); {
	case policy != "" && !outside:
		r.Invalid("spec.externalTrafficPolicy", policy, "may only be set for externally-accessible services")
	case outside:
		r.Supported("spec.externalTrafficPolicy", policy, "Cluster", "Local")
	}
	for _, name := range [...]string{"internalTrafficPolicy", "ipFamilyPolicy", "trafficDistribution"} {
		if s, ok := spec[name].(string); ok && !slices.Contains(trafficValues[name], s) {
			r.Unsupported("spec."+name, s, trafficValues[name]...)
		}
	}
	seen := map[string]bool{}
	for field, s := range rules.Texts("spec", spec, "ipFamilies") {
		switch {
		case s != "IPv4" && s != "IPv6":
			r.Unsupported(field, s, "IPv4", "IPv6")
		case seen[s]:
			r.Duplicate(field, s)
		}
		seen[s] = true
	}
	if affinity := rules.ObjectAt(rules.ObjectAt(spec, "sessionAffinityConfig"), "clientIP"); spec["sessionAffinity"] == "ClientIP" && affinity != nil {
		if n := rules.IntAt(affinity, "timeoutSeconds"); n < 1 || n > 86400 {
			r.Invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", n, "must be between 0 and 86400")
		}
	}
	for i, s := range rules.ListAt(spec, "loadBalancerSourceRanges") {
		cidr, _ := s.(string)
		r.Each(fmt.Sprintf("spec.LoadBalancerSourceRanges[%d]", i), cidr, rules.CIDR(strings.TrimSpace(cidr)))
	}
	if typ != "LoadBalancer" {
		for _, name := range [...]string{"allocateLoadBalancerNodePorts", "loadBalancerClass"} {
			if rules.Has(spec, name) {
				r.Forbidden("spec."+name, "may only be used when `type` is 'LoadBalancer'")
			}
		}
		if !rules.Lacks(spec, "loadBalancerSourceRanges") {
			r.Forbidden("spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'")
		}
	} else if s, ok := spec["loadBalancerClass"].(string); ok {
		r.Each("spec.loadBalancerClass", s, rules.QualifiedName(s))
	}
}

// refuseAddress refuses a cluster IP that is none.
func refuseAddress(r *rules.Refusals, spec map[string]any) {
	if ip := rules.TextAt(spec, "clusterIP"); ip != "" && ip != "None" && spec["type"] != "ExternalName" {
		r.IP("spec.clusterIPs[0]", ip)
	}
}

// trafficValues are what the fields of a Service about its traffic may be.
var trafficValues = map[string][]string{
	"internalTrafficPolicy": {"Cluster", "Local"},
	"ipFamilyPolicy":        {"PreferDualStack", "RequireDualStack", "SingleStack"},
	"trafficDistribution":   {"PreferClose", "PreferSameNode", "PreferSameZone"},
}

// ServiceWarnings says what of o, a Service, has no effect or is on its way out.
func ServiceWarnings(o *object.Object) (warnings []string) {
	raw, _ := o.Field("spec")
	var spec struct {
		Type, ClusterIP, LoadBalancerIP, SessionAffinity, ExternalName, TrafficDistribution string

		ExternalIPs []string
	}
	if json.Unmarshal(raw, &spec) != nil {
		return nil
	}
	add := func(on bool, text string) {
		if on {
			warnings = append(warnings, text)
		}
	}
	named, headless := spec.Type == "ExternalName", spec.Type == "ClusterIP" && spec.ClusterIP == "None"
	add(headless && spec.LoadBalancerIP != "", "spec.loadBalancerIP is ignored for headless services")
	add(headless && len(spec.ExternalIPs) > 0, "spec.externalIPs is ignored for headless services")
	add(headless && spec.SessionAffinity != "None", "spec.SessionAffinity is ignored for headless services")
	add(!headless && !named && len(spec.ExternalIPs) > 0, "spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	add(named && len(spec.ExternalIPs) > 0, `spec.externalIPs is ignored when spec.type is "ExternalName"`)
	add(!named && spec.ExternalName != "", `spec.externalName is ignored when spec.type is not "ExternalName"`)
	add(spec.TrafficDistribution == "PreferClose", `spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`)
	return warnings
}

var servicePrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Type", "how the service is reached"),
		columns.Text("Cluster-IP", "its address within the cluster"),
		columns.Text("External-IP", "its addresses outside"),
		columns.Text("Port(s)", "its ports"),
		columns.AgeColumn(), pods.SelectorColumn(),
	),
	Cells: func(r *columns.Row) {
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
		r.Read("spec", &spec)
		r.Read("status", &status)
		ip := cmp.Or(spec.ClusterIP, columns.None)
		if len(spec.ClusterIPs) > 0 {
			ip = spec.ClusterIPs[0]
		}
		external := strings.Join(spec.ExternalIPs, ",")
		switch spec.Type {
		case "ClusterIP", "NodePort":
			external = cmp.Or(external, columns.None)
		case "LoadBalancer":
			external = cmp.Or(strings.Join(append(status.LoadBalancer.addresses(), spec.ExternalIPs...), ","), "<pending>")
		case "ExternalName":
			external = spec.ExternalName
		default:
			external = columns.Unknown
		}
		var ports []string
		for _, p := range spec.Ports {
			if p.NodePort > 0 {
				ports = append(ports, fmt.Sprintf("%d:%d/%s", p.Port, p.NodePort, p.Protocol))
			} else {
				ports = append(ports, fmt.Sprintf("%d/%s", p.Port, p.Protocol))
			}
		}
		r.Add(r.Meta.Name, spec.Type, ip, external, cmp.Or(strings.Join(ports, ","), columns.None), r.Age(), columns.LabelList(spec.Selector))
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
	return slices.Compact(columns.Sorted(list))
}

var endpointsPrinter = columns.Printer{
	Columns: columns.List(columns.Text("Endpoints", "addresses that serve"), columns.AgeColumn()),
	Cells: func(r *columns.Row) {
		var subsets []struct {
			Addresses []struct{ IP string }
			Ports     []struct{ Port columns.Loose }
		}
		r.Read("subsets", &subsets)
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
		endpoints := columns.SomeOf(3, list, ",")
		if len(subsets) == 0 {
			endpoints = columns.None
		}
		r.Add(r.Meta.Name, endpoints, r.Age())
	},
}

func refuseSubsets(r *rules.Refusals, o, _ map[string]any) {
	for i, e := range rules.ListAt(o, "subsets") {
		s, _ := e.(map[string]any)
		at := fmt.Sprintf("subsets[%d]", i)
		if rules.Lacks(s, "addresses") && rules.Lacks(s, "notReadyAddresses") {
			r.Required(at, "must specify `addresses` or `notReadyAddresses`")
		}
		for _, list := range [...]string{"addresses", "notReadyAddresses"} {
			for at, a := range rules.Elements(at, s, list) {
				r.IP(at+".ip", rules.TextAt(a, "ip")) // is asked twice
				r.IP(at+".ip", rules.TextAt(a, "ip"))
				r.Maybe(at, a, "hostname", rules.LabelName)
				if name, ok := a["nodeName"].(string); ok {
					r.Each(at+".nodeName", name, rules.Subdomain(name))
				}
			}
		}
		for at, p := range rules.Elements(at, s, "ports") {
			if name := rules.TextAt(p, "name"); name != "" {
				r.Each(at+".name", name, rules.LabelName(name))
			} else if len(rules.ListAt(s, "ports")) > 1 {
				r.Required(at + ".name")
			}
			r.Port(at+".port", rules.IntAt(p, "port"))
			r.OneOf(at, p, "protocol", "SCTP", "TCP", "UDP")
		}
	}
}
