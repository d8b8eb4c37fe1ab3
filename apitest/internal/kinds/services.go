package kinds

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// serviceKinds are the kinds of the core group about services.
func serviceKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: kube.Endpoints, ShortNames: []string{"ep"}},
			Defaults: func(d *Defaults, o map[string]any) {
				for s := range ObjectsAt(o, "subsets") {
					for p := range ObjectsAt(s, "ports") {
						d.text(p, "protocol", "TCP")
					}
				}
			},
			Printer:  endpointsPrinter,
			Strategy: Strategy{Upserts: true},
		},
		{
			Info: object.Info{Resource: kube.Services, Returns: true, ShortNames: []string{"svc"}, Categories: []string{"all"}, Status: true, NoCount: true,
				Fields: []string{"spec.clusterIP", "spec.type"}},
			Defaults: func(d *Defaults, o map[string]any) {
				d.service(d.Object(o, "spec"))
			},
			Validate: func(r *Refusals, o, old map[string]any) {
				spec, was := ObjectAt(o, "spec"), ObjectAt(old, "spec")
				r.service(spec, was)
			},
			Status:   `{"loadBalancer":{}}`,
			Zero:     `"spec":{},"status":{"loadBalancer":{}}`,
			Printer:  servicePrinter,
			Strategy: Strategy{Upserts: true, name: labelName},
			Assign: func(d *Defaults, o, old map[string]any, taken func(any) bool) {
				d.allocate(o, ObjectAt(old, "spec"), taken)
			},
		},
	}
}

func (d *Defaults) service(spec map[string]any) {
	d.text(spec, "type", "ClusterIP")
	d.text(spec, "sessionAffinity", "None")
	switch spec["sessionAffinity"] {
	case "None":
		d.remove(spec, "sessionAffinityConfig")
	case "ClientIP":
		client := d.Object(d.Object(spec, "sessionAffinityConfig"), "clientIP")
		d.set(client, "timeoutSeconds", int64(10800))
	}
	for p := range ObjectsAt(spec, "ports") {
		d.text(p, "protocol", "TCP")
		if t := p["targetPort"]; t == nil || t == "" || t == int64(0) && IntAt(p, "port") != 0 {
			d.put(p, "targetPort", IntAt(p, "port"))
		}
		d.Drop(p, "nodePort", "name")
	}
	d.Drop(spec, "clusterIP", "publishNotReadyAddresses", "externalTrafficPolicy", "healthCheckNodePort", "loadBalancerIP", "externalName")
	if external(spec) {
		d.text(spec, "externalTrafficPolicy", "Cluster")
	}
	if spec["type"] == "ExternalName" {
		d.remove(spec, "internalTrafficPolicy")
		return
	}
	d.set(spec, "internalTrafficPolicy", "Cluster")
	if spec["type"] == "LoadBalancer" {
		d.set(spec, "allocateLoadBalancerNodePorts", true)
	}
}

// families fills in ipFamilyPolicy and ipFamilies: those of a cluster with IPv4.
func (d *Defaults) families(spec, old map[string]any) {
	bare := spec["clusterIP"] == "None" && Lacks(spec, "selector")
	d.copyFrom(spec, "ipFamilyPolicy", old)
	if bare {
		d.set(spec, "ipFamilyPolicy", "RequireDualStack")
	}
	d.set(spec, "ipFamilyPolicy", "SingleStack")
	d.copyFrom(spec, "ipFamilies", old)
	if Lacks(spec, "ipFamilies") {
		d.put(spec, "ipFamilies", []any{"IPv4"})
	}
	if list := ListAt(spec, "ipFamilies"); bare && len(list) == 1 && spec["ipFamilyPolicy"] != "SingleStack" {
		other := any("IPv6")
		if list[0] == other {
			other = "IPv4"
		}
		d.put(spec, "ipFamilies", append(slices.Clip(list), other))
	}
	if ip := TextAt(spec, "clusterIP"); ip != "" && Lacks(spec, "clusterIPs") {
		d.put(spec, "clusterIPs", []any{ip})
	}
}

// external reports whether a Service is reached from outside.
func external(spec map[string]any) bool {
	return takesNodePorts(spec) || spec["type"] == "ClusterIP" && !Lacks(spec, "externalIPs")
}

func takesNodePorts(spec map[string]any) bool {
	return spec["type"] == "NodePort" || spec["type"] == "LoadBalancer"
}

func takesHealthPort(spec map[string]any) bool {
	return spec["type"] == "LoadBalancer" && spec["externalTrafficPolicy"] == "Local"
}

// keepAllocated keeps what a client left out of an update, and lets go of what
// the new type has no use for, unless the client changed it.
func (d *Defaults) keepAllocated(spec, old map[string]any) {
	unless := func(kept bool, names ...string) {
		for _, name := range names {
			if !kept && old[name] != nil && fmt.Sprint(spec[name]) == fmt.Sprint(old[name]) {
				d.remove(spec, name)
			}
		}
	}
	if spec["type"] != "ExternalName" && old["type"] != "ExternalName" {
		d.copyFrom(spec, "clusterIP", old)
		d.copyFrom(spec, "clusterIPs", old)
	}
	unless(spec["type"] != "ExternalName", "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
	switch {
	case takesNodePorts(spec) && takesNodePorts(old):
		d.keepNodePorts(spec, old)
	case takesNodePorts(old):
		ports := make(map[int64]bool)
		for p := range ObjectsAt(old, "ports") {
			ports[IntAt(p, "nodePort")] = true
		}
		for p := range ObjectsAt(spec, "ports") {
			if ports[IntAt(p, "nodePort")] {
				d.remove(p, "nodePort")
			}
		}
	}
	if takesHealthPort(spec) && takesHealthPort(old) {
		d.copyFrom(spec, "healthCheckNodePort", old)
	}
	unless(takesHealthPort(spec), "healthCheckNodePort")
	unless(spec["type"] == "LoadBalancer", "allocateLoadBalancerNodePorts", "loadBalancerClass")
	unless(external(spec), "externalTrafficPolicy")
}

func (d *Defaults) keepNodePorts(spec, old map[string]any) {
	used, named := make(map[int64]bool), make(map[string]int64)
	for p := range ObjectsAt(spec, "ports") {
		used[IntAt(p, "nodePort")] = true
	}
	for p := range ObjectsAt(old, "ports") {
		named[TextAt(p, "name")] = IntAt(p, "nodePort")
	}
	for p := range ObjectsAt(spec, "ports") {
		if n := named[TextAt(p, "name")]; n != 0 && !used[n] {
			d.set(p, "nodePort", n)
		}
	}
}

// allocate gives a Service what it lacks of a cluster IP, out of 10.0.0.0/24, and
// of node ports, out of 30000-32767. Which ones follows from namespace and name.
func (d *Defaults) allocate(o, old map[string]any, taken func(any) bool) {
	spec, meta := ObjectAt(o, "spec"), ObjectAt(o, "metadata")
	if spec == nil {
		return
	}
	if old != nil {
		d.keepAllocated(spec, old)
	}
	if spec["type"] != "ExternalName" {
		d.families(spec, old)
	}
	hash := fnv.New32a()
	hash.Write([]byte(TextAt(meta, "namespace") + "/" + TextAt(meta, "name")))
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
	if spec["type"] != "ExternalName" && Lacks(spec, "clusterIP") {
		if ip := next(254, func(n int64) any { return fmt.Sprintf("10.0.0.%d", n+1) }); ip != nil {
			d.put(spec, "clusterIP", ip)
			d.put(spec, "clusterIPs", []any{ip})
		}
	}
	port := func(n int64) any { return 30000 + n }
	if takesNodePorts(spec) && spec["allocateLoadBalancerNodePorts"] != false {
		shared := make(map[int64]int64) // one node port for the same port of another protocol
		for p := range ObjectsAt(spec, "ports") {
			if n := shared[IntAt(p, "port")]; n != 0 {
				d.set(p, "nodePort", n)
			}
			if p["nodePort"] == nil {
				if n := next(2768, port); n != nil {
					d.put(p, "nodePort", n)
				}
			}
			shared[IntAt(p, "port")] = IntAt(p, "nodePort")
		}
	}
	if takesHealthPort(spec) && spec["healthCheckNodePort"] == nil {
		if n := next(2768, port); n != nil {
			d.put(spec, "healthCheckNodePort", n)
		}
	}
}
