package traffic

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/rules"
)

// RefuseIngress refuses what is wrong with the spec of an Ingress.
func RefuseIngress(r *rules.Refusals, spec map[string]any) {
	if b := rules.ObjectAt(spec, "defaultBackend"); b != nil {
		refuseBackend(r, "spec.defaultBackend", b)
	}
	r.Maybe("spec", spec, "ingressClassName", rules.Subdomain)
	if s, ok := spec["ingressClassName"].(string); ok && s == "" {
		r.Each("spec.ingressClassName", s, rules.Subdomain(s))
	}
	for at, t := range rules.Elements("spec", spec, "tls") {
		for field, host := range rules.Texts(at, t, "hosts") {
			r.Each(field, host, hostName(host))
		}
		r.Maybe(at, t, "secretName", rules.Subdomain)
	}
	for at, rule := range rules.Elements("spec", spec, "rules") {
		if host := rules.TextAt(rule, "host"); host != "" {
			if len(rules.IPAddress(host)) == 0 {
				r.Invalid(at+".host", host, "must be a DNS name, not an IP address")
			} else {
				r.Each(at+".host", host, hostName(host))
			}
		}
		http := rules.ObjectAt(rule, "http")
		if http != nil && rules.Lacks(http, "paths") {
			r.Required(at + ".http.paths")
		}
		for at, p := range rules.Elements(at+".http", http, "paths") {
			refuseIngressPath(r, at, p)
		}
	}
}

// hostName says what is wrong with a host, whose first label may be a wildcard.
func hostName(s string) []string { return rules.Subdomain(strings.TrimPrefix(s, "*.")) }

func refuseIngressPath(r *rules.Refusals, at string, p map[string]any) {
	path := rules.TextAt(p, "path")
	switch typ, some := p["pathType"].(string); {
	case !some:
		r.Required(at+".pathType", "pathType must be specified")
		return
	case typ == "Exact" || typ == "Prefix":
		if !strings.HasPrefix(path, "/") {
			r.Invalid(at+".path", path, "must be an absolute path")
		}
		for _, part := range [...]string{"//", "/./", "/../", "%2f", "%2F"} {
			if strings.Contains(path, part) {
				r.Invalid(at+".path", path, "must not contain '"+part+"'")
			}
		}
	case typ == "ImplementationSpecific":
		if path != "" && !strings.HasPrefix(path, "/") {
			r.Invalid(at+".path", path, "must be an absolute path")
		}
	default:
		r.Unsupported(at+".pathType", typ, "Exact", "ImplementationSpecific", "Prefix")
	}
	refuseBackend(r, at+".backend", rules.ObjectAt(p, "backend"))
}

func refuseBackend(r *rules.Refusals, path string, b map[string]any) {
	service, resource := rules.ObjectAt(b, "service"), rules.ObjectAt(b, "resource")
	switch {
	case service != nil && resource != nil:
		r.Invalid(path, "", "cannot set both resource and service backends")
	case resource != nil:
		refuseObjectRef(r, path+".resource", resource)
	case service == nil:
		r.Invalid(path, "", "resource or service backend is required")
	default:
		r.Named(path+".service", service, "name", rules.LabelName)
		port := rules.ObjectAt(service, "port")
		name, number := rules.TextAt(port, "name"), rules.IntAt(port, "number")
		switch {
		case name == "" && number == 0:
			r.Required(path, "port name or number is required")
		case name != "" && number != 0:
			r.Invalid(path, "", "cannot set both port name & port number")
		case name != "":
			r.Each(path+".service.port.name", name, rules.PortName(name))
		default:
			r.Port(path+".service.port.number", number)
		}
	}
}

// refuseObjectRef refuses what is wrong with a reference to an object of any group.
func refuseObjectRef(r *rules.Refusals, path string, ref map[string]any) {
	if group, ok := ref["apiGroup"].(string); ok {
		r.Each(path+".apiGroup", group, rules.Subdomain(group))
	}
	r.Named(path, ref, "kind", rules.SegmentName)
	r.Named(path, ref, "name", rules.SegmentName)
}

// RefuseIngressClass refuses what is wrong with an IngressClass.
func RefuseIngressClass(r *rules.Refusals, o, old map[string]any) {
	spec := rules.ObjectAt(o, "spec")
	if controller := rules.TextAt(spec, "controller"); controller == "" {
		r.Required("spec.controller")
	} else {
		r.DomainPath("spec.controller", controller, 250)
	}
	r.Fixed("spec", spec, rules.ObjectAt(old, "spec"), "controller")
	p := rules.ObjectAt(spec, "parameters")
	if p == nil {
		return
	}
	refuseObjectRef(r, "spec.parameters", p)
	ns, some := p["namespace"].(string)
	switch scope := rules.TextAt(p, "scope"); scope {
	case "Namespace":
		if ns == "" && !some {
			r.Required("spec.parameters.namespace", "`parameters.scope` is set to 'Namespace'")
		} else {
			r.Each("spec.parameters.namespace", ns, rules.LabelName(ns))
		}
	case "Cluster":
		if some {
			r.Forbidden("spec.parameters.namespace", "`parameters.scope` is set to 'Cluster'")
		}
	default:
		r.Unsupported("spec.parameters.scope", scope, "Cluster", "Namespace")
	}
}

// RefuseNetworkPolicy refuses what is wrong with the spec of a NetworkPolicy.
func RefuseNetworkPolicy(r *rules.Refusals, spec map[string]any) {
	r.LabelSelector("spec.podSelector", rules.ObjectAt(spec, "podSelector"))
	for _, side := range [...][2]string{{"ingress", "from"}, {"egress", "to"}} {
		for at, rule := range rules.Elements("spec", spec, side[0]) {
			for at, p := range rules.Elements(at, rule, "ports") {
				refusePolicyPort(r, at, p)
			}
			for at, p := range rules.Elements(at, rule, side[1]) {
				refusePeer(r, at, p)
			}
		}
	}
	types := rules.ListAt(spec, "policyTypes")
	if len(types) > 2 {
		r.Invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
		return
	}
	for field, s := range rules.Texts("spec", spec, "policyTypes") {
		if s != "Ingress" && s != "Egress" {
			r.Unsupported(field, s, "Egress", "Ingress")
		}
	}
}

// refuseProtocol refuses an unknown protocol of a port; "" is one.
func refuseProtocol(r *rules.Refusals, at string, p map[string]any) {
	if s, ok := p["protocol"].(string); ok && s != "SCTP" && s != "TCP" && s != "UDP" {
		r.Unsupported(at+".protocol", s, "SCTP", "TCP", "UDP")
	}
}

func refusePolicyPort(r *rules.Refusals, at string, p map[string]any) {
	refuseProtocol(r, at, p)
	port, end := p["port"], p["endPort"]
	switch v := port.(type) {
	case int64:
		r.Port(at+".port", v)
		if n, ok := end.(int64); ok {
			if n < v {
				r.Invalid(at+".endPort", n, "must be greater than or equal to `port`")
			}
			r.Port(at+".endPort", n)
		}
	case string:
		if end != nil {
			r.Invalid(at+".endPort", end, "may not be specified when `port` is non-numeric")
		}
		r.Each(at+".port", v, rules.PortName(v))
	default:
		if end != nil {
			r.Invalid(at+".endPort", end, "may not be specified when `port` is not specified")
		}
	}
}

func refusePeer(r *rules.Refusals, at string, p map[string]any) {
	peers := 0
	for _, name := range [...]string{"podSelector", "namespaceSelector"} {
		if s := rules.ObjectAt(p, name); s != nil {
			peers++
			r.LabelSelector(at+"."+name, s)
		}
	}
	block := rules.ObjectAt(p, "ipBlock")
	switch {
	case block != nil && peers > 0:
		r.Forbidden(at, "may not specify both ipBlock and another peer")
	case block == nil && peers == 0:
		r.Required(at, "must specify a peer")
	}
	if block == nil {
		return
	}
	path, cidr := at+".ipBlock", rules.TextAt(block, "cidr")
	if cidr == "" {
		r.Required(path + ".cidr")
		return
	}
	whole, err := netip.ParsePrefix(cidr)
	if err != nil {
		r.Each(path+".cidr", cidr, rules.CIDR(cidr))
		return
	}
	for field, s := range rules.Texts(path, block, "except") {
		part, err := netip.ParsePrefix(s)
		switch {
		case err != nil:
			r.Each(field, s, rules.CIDR(s))
		case !whole.Contains(part.Addr()) || part.Bits() <= whole.Bits():
			r.Invalid(field, s, "must be a strict subset of `cidr`")
		}
	}
}

// RefuseTraffic refuses what is wrong with how a Service is reached.
func RefuseTraffic(r *rules.Refusals, spec map[string]any) {
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

// RefuseAddress refuses a cluster IP that is none.
func RefuseAddress(r *rules.Refusals, spec map[string]any) {
	if ip := rules.TextAt(spec, "clusterIP"); ip != "" && ip != "None" && spec["type"] != "ExternalName" {
		r.IP("spec.clusterIPs[0]", ip)
	}
}

// RefuseSubsets refuses what is wrong with the subsets of Endpoints.
func RefuseSubsets(r *rules.Refusals, o, _ map[string]any) {
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

// RefuseEndpoints refuses what is wrong with the endpoints and ports of an EndpointSlice, whose
// addresses are of typ.
func RefuseEndpoints(r *rules.Refusals, typ string, o map[string]any) {
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
		refuseProtocol(r, at, p)
		if s, ok := p["appProtocol"].(string); ok {
			r.Each(at+".appProtocol", s, rules.QualifiedName(s))
		}
	}
}

// trafficValues are what the fields of a Service about its traffic may be.
var trafficValues = map[string][]string{
	"internalTrafficPolicy": {"Cluster", "Local"},
	"ipFamilyPolicy":        {"PreferDualStack", "RequireDualStack", "SingleStack"},
	"trafficDistribution":   {"PreferClose", "PreferSameNode", "PreferSameZone"},
}
