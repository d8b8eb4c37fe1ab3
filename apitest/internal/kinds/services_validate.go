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
	"github.com/listwatch/listwatch/apitest/internal/traffic"
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
	if spec["type"] == "ClusterIP" {
		for at, p := range rules.Elements("spec", spec, "ports") {
			if rules.IntAt(p, "nodePort") != 0 {
				r.Forbidden(at+".nodePort", "may not be used when `type` is 'ClusterIP'")
			}
		}
	}
	r.Labels("spec.selector", rules.ObjectAt(spec, "selector"))
	traffic.RefuseTraffic(r, spec)
	traffic.RefuseAddress(r, spec)
	if class := "loadBalancerClass"; spec["type"] == "LoadBalancer" && old["type"] == "LoadBalancer" && spec[class] != old[class] {
		r.Invalid("spec."+class, spec[class], "may not change once set")
	}
	r.OneOf("spec", spec, "sessionAffinity", "ClientIP", "None")
	r.OneOf("spec", spec, "type", "ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
	if ip, was := spec["clusterIP"], rules.TextAt(old, "clusterIP"); was != "" && ip != was && spec["type"] != "ExternalName" && old["type"] != "ExternalName" {
		r.Invalid("spec.clusterIPs[0]", []any{ip}, "may not change once set")
	}
	if typ := rules.TextAt(spec, "type"); headless && (typ == "NodePort" || typ == "LoadBalancer") {
		r.Invalid("spec.clusterIPs[0]", "None", "may not be set to 'None' for "+typ+" services")
	}
}

// ServiceWarnings returns warnings about members of o, a Service, that have no effect or are
// deprecated.
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
