package kinds

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/traffic"
	"github.com/listwatch/listwatch/kube"
)

// serviceKinds are the kinds of the core group about services.
func serviceKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: kube.Endpoints, ShortNames: []string{"ep"}},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				for s := range rules.ObjectsAt(o, "subsets") {
					for p := range rules.ObjectsAt(s, "ports") {
						d.Text(p, "protocol", "TCP")
						d.Drop(p, "name")
					}
					for _, name := range [...]string{"addresses", "notReadyAddresses"} {
						for a := range rules.ObjectsAt(s, name) {
							d.Drop(a, "hostname")
							fillReference(d, rules.ObjectAt(a, "targetRef"))
						}
					}
				}
			},
			Validate: traffic.RefuseSubsets,
			Printer:  endpointsPrinter,
			Strategy: Strategy{Upserts: true},
		},
		{
			Info: object.Info{Resource: kube.Services, Returns: true, ShortNames: []string{"svc"}, Categories: []string{"all"}, Status: true, NoCount: true,
				Fields: []string{"spec.clusterIP", "spec.type"}},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				spec := d.Object(o, "spec")
				fillService(d, spec)
				fillAddresses(d, o)
				for i := range rules.ObjectsAt(rules.ObjectAt(rules.ObjectAt(o, "status"), "loadBalancer"), "ingress") {
					if spec["type"] == "LoadBalancer" && i["ip"] != nil {
						d.Set(i, "ipMode", "VIP")
					}
				}
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				spec, was := rules.ObjectAt(o, "spec"), rules.ObjectAt(old, "spec")
				refuseService(r, spec, was)
			},
			Status:   `{"loadBalancer":{}}`,
			Zero:     `"spec":{},"status":{"loadBalancer":{}}`,
			Printer:  servicePrinter,
			Strategy: Strategy{Upserts: true, name: rules.LabelName},
			Assign: func(d *rules.Defaults, o, old map[string]any, taken func(any) bool) {
				allocate(d, o, rules.ObjectAt(old, "spec"), taken)
			},
		},
	}
}

// fillAddresses drops what is empty of the addresses of a load balancer.
func fillAddresses(d *rules.Defaults, o map[string]any) {
	d.DropIn(rules.ObjectAt(rules.ObjectAt(o, "status"), "loadBalancer"), "ingress", "ip", "hostname")
}

func fillService(d *rules.Defaults, spec map[string]any) {
	d.Text(spec, "type", "ClusterIP")
	d.Text(spec, "sessionAffinity", "None")
	switch spec["sessionAffinity"] {
	case "None":
		d.Remove(spec, "sessionAffinityConfig")
	case "ClientIP":
		client := d.Object(d.Object(spec, "sessionAffinityConfig"), "clientIP")
		d.Set(client, "timeoutSeconds", int64(10800))
	}
	for p := range rules.ObjectsAt(spec, "ports") {
		d.Text(p, "protocol", "TCP")
		if t := p["targetPort"]; t == nil || t == "" || t == int64(0) && rules.IntAt(p, "port") != 0 {
			d.Put(p, "targetPort", rules.IntAt(p, "port"))
		}
		d.Drop(p, "nodePort", "name")
	}
	d.Drop(spec, "clusterIP", "publishNotReadyAddresses", "externalTrafficPolicy", "healthCheckNodePort", "loadBalancerIP", "externalName")
	if external(spec) {
		d.Text(spec, "externalTrafficPolicy", "Cluster")
	}
	if spec["type"] == "ExternalName" {
		d.Remove(spec, "internalTrafficPolicy")
		return
	}
	d.Set(spec, "internalTrafficPolicy", "Cluster")
	if spec["type"] == "LoadBalancer" {
		d.Set(spec, "allocateLoadBalancerNodePorts", true)
	}
}

// fillFamilies sets ipFamilyPolicy and ipFamilies to those of an IPv4 cluster.
func fillFamilies(d *rules.Defaults, spec, old map[string]any) {
	bare := spec["clusterIP"] == "None" && rules.Lacks(spec, "selector")
	d.CopyFrom(spec, "ipFamilyPolicy", old)
	if bare {
		d.Set(spec, "ipFamilyPolicy", "RequireDualStack")
	}
	d.Set(spec, "ipFamilyPolicy", "SingleStack")
	d.CopyFrom(spec, "ipFamilies", old)
	if rules.Lacks(spec, "ipFamilies") {
		d.Put(spec, "ipFamilies", []any{"IPv4"})
	}
	if list := rules.ListAt(spec, "ipFamilies"); bare && len(list) == 1 && spec["ipFamilyPolicy"] != "SingleStack" {
		other := any("IPv6")
		if list[0] == other {
			other = "IPv4"
		}
		d.Put(spec, "ipFamilies", append(slices.Clip(list), other))
	}
	if ip := rules.TextAt(spec, "clusterIP"); ip != "" && rules.Lacks(spec, "clusterIPs") {
		d.Put(spec, "clusterIPs", []any{ip})
	}
}

// external reports whether a Service is reached from outside.
func external(spec map[string]any) bool {
	return takesNodePorts(spec) || spec["type"] == "ClusterIP" && !rules.Lacks(spec, "externalIPs")
}

func takesNodePorts(spec map[string]any) bool {
	return spec["type"] == "NodePort" || spec["type"] == "LoadBalancer"
}

func takesHealthPort(spec map[string]any) bool {
	return spec["type"] == "LoadBalancer" && spec["externalTrafficPolicy"] == "Local"
}

// keepAllocated keeps allocated members that an update omits, and removes those that the new
// type does not use, unless the client changed them.
func keepAllocated(d *rules.Defaults, spec, old map[string]any) {
	unless := func(kept bool, names ...string) {
		for _, name := range names {
			if !kept && old[name] != nil && fmt.Sprint(spec[name]) == fmt.Sprint(old[name]) {
				d.Remove(spec, name)
			}
		}
	}
	if spec["type"] != "ExternalName" && old["type"] != "ExternalName" {
		d.CopyFrom(spec, "clusterIP", old)
		d.CopyFrom(spec, "clusterIPs", old)
	}
	unless(spec["type"] != "ExternalName", "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
	switch {
	case takesNodePorts(spec) && takesNodePorts(old):
		keepNodePorts(d, spec, old)
	case takesNodePorts(old):
		ports := make(map[int64]bool)
		for p := range rules.ObjectsAt(old, "ports") {
			ports[rules.IntAt(p, "nodePort")] = true
		}
		for p := range rules.ObjectsAt(spec, "ports") {
			if ports[rules.IntAt(p, "nodePort")] {
				d.Remove(p, "nodePort")
			}
		}
	}
	if takesHealthPort(spec) && takesHealthPort(old) {
		d.CopyFrom(spec, "healthCheckNodePort", old)
	}
	unless(takesHealthPort(spec), "healthCheckNodePort")
	unless(spec["type"] == "LoadBalancer", "allocateLoadBalancerNodePorts", "loadBalancerClass")
	unless(external(spec), "externalTrafficPolicy")
}

func keepNodePorts(d *rules.Defaults, spec, old map[string]any) {
	used, named := make(map[int64]bool), make(map[string]int64)
	for p := range rules.ObjectsAt(spec, "ports") {
		used[rules.IntAt(p, "nodePort")] = true
	}
	for p := range rules.ObjectsAt(old, "ports") {
		named[rules.TextAt(p, "name")] = rules.IntAt(p, "nodePort")
	}
	for p := range rules.ObjectsAt(spec, "ports") {
		if n := named[rules.TextAt(p, "name")]; n != 0 && !used[n] {
			d.Set(p, "nodePort", n)
		}
	}
}

// allocate sets the missing cluster IP of a Service, from 10.0.0.0/24, and its missing node
// ports, from 30000-32767. Namespace and name determine which ones.
func allocate(d *rules.Defaults, o, old map[string]any, taken func(any) bool) {
	spec, meta := rules.ObjectAt(o, "spec"), rules.ObjectAt(o, "metadata")
	if spec == nil {
		return
	}
	if old != nil {
		keepAllocated(d, spec, old)
	}
	if spec["type"] != "ExternalName" {
		fillFamilies(d, spec, old)
	}
	hash := fnv.New32a()
	hash.Write([]byte(rules.TextAt(meta, "namespace") + "/" + rules.TextAt(meta, "name")))
	start := int64(hash.Sum32())
	next := func(size int64, value func(int64) any) any {
		for i := range size {
			if v := value((start + i) % size); !taken(v) {
				start += i + 1
				return v
			}
		}
		return nil
	}
	if spec["type"] != "ExternalName" && rules.Lacks(spec, "clusterIP") {
		if ip := next(254, func(n int64) any { return fmt.Sprintf("10.0.0.%d", n+1) }); ip != nil {
			d.Put(spec, "clusterIP", ip)
			d.Put(spec, "clusterIPs", []any{ip})
		}
	}
	port := func(n int64) any { return 30000 + n }
	if takesNodePorts(spec) && spec["allocateLoadBalancerNodePorts"] != false {
		shared := make(map[int64]int64) // one node port for the same port of another protocol
		for p := range rules.ObjectsAt(spec, "ports") {
			if n := shared[rules.IntAt(p, "port")]; n != 0 {
				d.Set(p, "nodePort", n)
			}
			if p["nodePort"] == nil {
				if n := next(2768, port); n != nil {
					d.Put(p, "nodePort", n)
				}
			}
			shared[rules.IntAt(p, "port")] = rules.IntAt(p, "nodePort")
		}
	}
	if takesHealthPort(spec) && spec["healthCheckNodePort"] == nil {
		if n := next(2768, port); n != nil {
			d.Put(spec, "healthCheckNodePort", n)
		}
	}
}
