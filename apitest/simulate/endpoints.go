package simulate

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/listwatch/listwatch/kube"
)

const (
	perSlice   = 100  // endpoints in an EndpointSlice
	perService = 1000 // in an Endpoints object, which is truncated there
)

// target is a pod that a service selects.
type target struct {
	*pod
	ports []endpointPort // of the service, as far as the pod has them
	group string         // ports as JSON
}

type endpointPort struct {
	Name        string `json:"name"`
	Port        int    `json:"port"`
	Protocol    string `json:"protocol"`
	AppProtocol string `json:"appProtocol,omitempty"`
}

// subsetPort is a port in Endpoints.
type subsetPort struct {
	Name        string `json:"name,omitempty"`
	Port        int    `json:"port"`
	Protocol    string `json:"protocol"`
	AppProtocol string `json:"appProtocol,omitempty"`
}

// serve writes changed endpoints of s. A pod stays in its slice as long as it has the same ports.
func (c *Cluster) serve(s *service, sl *slicing) {
	served := map[kube.Key]*target{}
	var ordered []*target
	for p := range c.pods.all() {
		if p.Metadata.Namespace != s.Metadata.Namespace || p.Status.PodIP == "" || p.over() || !subset(s.Spec.Selector, p.Metadata.Labels) {
			continue
		}
		ports := s.portsFor(p)
		t := &target{p, ports, string(encode(ports))}
		served[p.key()] = t
		ordered = append(ordered, t)
	}
	for _, slot := range sl.slots {
		slot.pods = slices.DeleteFunc(slot.pods, func(k kube.Key) bool {
			gone := served[k] == nil || served[k].group != slot.ports
			if gone {
				delete(sl.at, k)
			}
			return gone
		})
	}
	for _, t := range ordered {
		if _, has := sl.at[t.key()]; has {
			continue
		}
		i := sl.room(s, t.group)
		sl.slots[i].ports = t.group
		sl.slots[i].pods = append(sl.slots[i].pods, t.key())
		sl.at[t.key()] = i
	}
	if len(sl.slots) == 0 {
		sl.add(s) // there is always one
	}
	for i, slot := range sl.slots {
		c.writeSlice(s, sl, slot, len(ordered) == 0 && i == 0, served)
	}
	c.writeEndpoints(s, sl, ordered)
}

// portsFor returns the ports of s on a pod, without those that it does not have.
func (s *service) portsFor(p *pod) []endpointPort {
	ports := []endpointPort{}
	for _, sp := range s.Spec.Ports {
		protocol := sp.Protocol
		if protocol == "" {
			protocol = "TCP"
		}
		if n := sp.on(p); n != 0 {
			ports = append(ports, endpointPort{sp.Name, n, protocol, sp.AppProtocol})
		}
	}
	return ports
}

// on returns the number of a port on a pod; 0 if the pod does not have it.
func (sp *servicePort) on(p *pod) int {
	n, name := 0, ""
	if json.Unmarshal(sp.TargetPort, &n) == nil && n != 0 {
		return n
	}
	if _ = json.Unmarshal(sp.TargetPort, &name); name == "" {
		return sp.Port
	}
	for _, ct := range p.Spec.Containers {
		for _, cp := range ct.Ports {
			if cp.Name == name {
				return cp.Port
			}
		}
	}
	return 0
}

// labels returns those of s for its endpoints, with others.
func (s *service) labels(others map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, s.Metadata.Labels)
	if delete(all, headlessLabel); s.Spec.ClusterIP == "None" {
		all[headlessLabel] = ""
	}
	maps.Copy(all, others)
	return all
}

// address returns what EndpointSlices and Endpoints tell about t in the same way.
func (s *service) address(t *target) map[string]any {
	a := map[string]any{"nodeName": t.Spec.NodeName, "targetRef": map[string]string{
		"kind": "Pod", "namespace": t.Metadata.Namespace, "name": t.Metadata.Name, "uid": t.Metadata.UID}}
	if t.Spec.Hostname != "" && t.Spec.Subdomain == s.Metadata.Name {
		a["hostname"] = t.Spec.Hostname
	}
	return a
}

// writeSlice writes a changed slice. An empty one is deleted unless it is the only one.
func (c *Cluster) writeSlice(s *service, sl *slicing, slot *slot, only bool, served map[kube.Key]*target) {
	key := kube.Key{Namespace: s.Metadata.Namespace, Name: slot.name}
	if len(slot.pods) == 0 && !only {
		if slot.wrote.as != nil {
			c.srv.Delete(kube.EndpointSlices, key)
			slot.wrote = written{}
		}
		return
	}
	endpoints := []any{}
	ports := []endpointPort{}
	for _, k := range slot.pods {
		t := served[k]
		ports = t.ports
		e := s.address(t)
		e["addresses"] = []string{t.Status.PodIP}
		e["conditions"] = map[string]bool{"ready": s.Spec.PublishNotReady || t.ready() && !t.leaving(), "serving": t.ready(), "terminating": t.leaving()}
		if n, ok := c.nodes.get(kube.Key{Name: t.Spec.NodeName}); ok && n.Metadata.Labels[zoneLabel] != "" {
			e["zone"] = n.Metadata.Labels[zoneLabel]
		}
		endpoints = append(endpoints, e)
	}
	c.write(sl, kube.EndpointSlices, key, &slot.wrote, map[string]any{
		"metadata": metadata{Name: slot.name, Namespace: key.Namespace, OwnerReferences: ownedBy(kube.Services, &s.object), Labels: s.labels(map[string]string{
			serviceLabel: s.Metadata.Name, sliceLabel: sliceManager})},
		"addressType": "IPv4", "endpoints": endpoints, "ports": ports,
	})
}

// write writes an object if it has changed since.
func (c *Cluster) write(sl *slicing, r kube.Resource, key kube.Key, last *written, obj any) {
	if b := encode(obj); !bytes.Equal(last.as, b) {
		c.srv.Put(r, []byte(b))
		*last = written{b, c.srv.Get(r, key)}
		c.unchecked[sl] = true
	}
}

func (c *Cluster) writeEndpoints(s *service, sl *slicing, pods []*target) {
	meta := metadata{Name: s.Metadata.Name, Namespace: s.Metadata.Namespace, Labels: s.labels(map[string]string{endpointsLabel: endpointsManager})}
	pods = slices.DeleteFunc(slices.Clone(pods), func(t *target) bool {
		return t.leaving() && !s.Spec.PublishNotReady || len(t.ports) == 0 && len(s.Spec.Ports) > 0
	})
	if len(pods) > perService {
		meta.Annotations = map[string]string{"endpoints.kubernetes.io/over-capacity": "truncated"}
		pods = pods[:perService]
	}
	e := map[string]any{"metadata": meta}
	if len(pods) > 0 {
		e["subsets"] = s.subsets(pods)
	}
	c.write(sl, kube.Endpoints, sl.key, &sl.old, e)
}

// subsets returns the subsets of Endpoints: in each, all pods have all ports.
func (s *service) subsets(pods []*target) (list []map[string]any) {
	having := map[string][]*target{} // by port, as JSON
	for _, t := range pods {
		if len(t.ports) == 0 {
			having[""] = append(having[""], t)
		}
		for _, p := range t.ports {
			port := string(encode(subsetPort(p)))
			having[port] = append(having[port], t)
		}
	}
	var groups [][]*target
	for _, port := range slices.Sorted(maps.Keys(having)) {
		i := slices.IndexFunc(groups, func(g []*target) bool { return slices.Equal(g, having[port]) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, having[port])
			list = append(list, s.addresses(having[port]))
		}
		if port != "" {
			ports, _ := list[i]["ports"].([]json.RawMessage)
			list[i]["ports"] = append(ports, json.RawMessage(port))
		}
	}
	return list
}

// addresses returns a subset without its ports.
func (s *service) addresses(pods []*target) map[string]any {
	subset := map[string]any{}
	for _, t := range pods {
		a, field := s.address(t), "notReadyAddresses"
		if a["ip"] = t.Status.PodIP; t.ready() || s.Spec.PublishNotReady {
			field = "addresses"
		}
		list, _ := subset[field].([]any)
		subset[field] = append(list, a)
	}
	return subset
}
