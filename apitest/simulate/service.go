package simulate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/listwatch/listwatch/kube"
)

type service struct {
	object
	Spec struct {
		Type      string            `json:"type"`
		ClusterIP string            `json:"clusterIP"`
		Selector  map[string]string `json:"selector"`
		Ports     []servicePort     `json:"ports"`
	} `json:"spec"`
	Status struct {
		LoadBalancer struct {
			Ingress []struct {
				IP string `json:"ip"`
			} `json:"ingress"`
		} `json:"loadBalancer"`
	} `json:"status"`
}

type servicePort struct {
	Name       string          `json:"name"`
	Protocol   string          `json:"protocol"`
	Port       int             `json:"port"`
	TargetPort json.RawMessage `json:"targetPort"`
}

func (s *service) base() *object {
	if s == nil {
		return nil
	}
	return &s.object
}

const (
	perSlice   = 100  // endpoints in an EndpointSlice
	perService = 1000 // in an Endpoints object, which is truncated there
)

// settle is how long changes of endpoints are collected.
const settle = 500 * time.Millisecond

func (c *Cluster) markServices(p *pod) {
	for _, r := range c.services.rows {
		if r.obj != nil && r.key.Namespace == p.Metadata.Namespace && len(r.obj.Spec.Selector) > 0 && subset(r.obj.Spec.Selector, p.Metadata.Labels) {
			c.mark(task{kube.Services.Plural, r.key})
		}
	}
}

func (c *Cluster) sawService(old, s *service) {
	if c.saw(kube.Services, old.base(), s.base()); s != nil {
		c.taken(s.Spec.ClusterIP)
	}
}

// syncService sets the addresses and the endpoints of a service.
func (c *Cluster) syncService(ctx context.Context, key kube.Key) {
	s, ok := c.services.get(key)
	for uid, sl := range c.serving {
		if sl.key == key && (!ok || s.Metadata.UID != uid) {
			c.unserve(sl)
			delete(c.serving, uid)
		}
	}
	if !ok {
		c.abandon(key)
	}
	if !ok || s.Spec.Type == "ExternalName" || s.Metadata.DeletionTimestamp != "" {
		return
	}
	if s.Spec.ClusterIP == "" {
		c.address++
		ip := clusterIP(c.address)
		c.patch(ctx, kube.Services, &s.object, map[string]any{"spec": map[string]any{
			"clusterIP": ip, "clusterIPs": []string{ip}, "type": cmp.Or(s.Spec.Type, "ClusterIP")}})
	}
	if s.Spec.Type == "LoadBalancer" && len(s.Status.LoadBalancer.Ingress) == 0 {
		c.patchStatus(ctx, kube.Services, &s.object, map[string]any{"loadBalancer": map[string]any{
			"ingress": []map[string]string{{"ip": c.balancerIP(), "ipMode": "VIP"}}}})
	}
	if len(s.Spec.Selector) == 0 {
		return
	}
	sl := c.serving[s.Metadata.UID]
	if sl == nil {
		sl = c.adopt(s)
		c.serving[s.Metadata.UID] = sl
	}
	if next := sl.when.Add(time.Duration(float64(settle) / c.options.Speed)); next.After(c.now) {
		c.later(next, task{kube.Services.Plural, key})
		return
	}
	sl.when = c.now
	c.serve(s, sl)
}

// balancerIP returns an address that no service has, if one of the 254 is free.
func (c *Cluster) balancerIP() string {
	has := map[string]bool{}
	for _, r := range c.services.rows {
		if r.obj != nil {
			for _, in := range r.obj.Status.LoadBalancer.Ingress {
				has[in.IP] = true
			}
		}
	}
	ip := ""
	for n := 0; n < 254 && (n == 0 || has[ip]); n++ {
		c.address++
		ip = "192.0.2." + itoa(c.address%254+1)
	}
	return ip
}

// serve writes changed endpoints of s. A pod stays in its slice.
func (c *Cluster) serve(s *service, sl *slicing) {
	served := map[kube.Key]*pod{}
	var ordered []*pod
	for _, r := range c.pods.rows {
		p := r.obj
		if p == nil || r.key.Namespace != s.Metadata.Namespace || p.Status.PodIP == "" || p.over() || !subset(s.Spec.Selector, p.Metadata.Labels) {
			continue
		}
		served[r.key] = p
		ordered = append(ordered, p)
	}
	for _, slot := range sl.slots {
		slot.pods = slices.DeleteFunc(slot.pods, func(k kube.Key) bool {
			gone := served[k] == nil
			if gone {
				delete(sl.at, k)
			}
			return gone
		})
	}
	next := 0
	for _, p := range ordered {
		if _, has := sl.at[p.key()]; has {
			continue
		}
		for next < len(sl.slots) && len(sl.slots[next].pods) >= perSlice {
			next++
		}
		if next == len(sl.slots) {
			sl.add(s)
		}
		sl.slots[next].pods = append(sl.slots[next].pods, p.key())
		sl.at[p.key()] = next
	}
	if len(sl.slots) == 0 {
		sl.add(s) // there is always one
	}
	for i, slot := range sl.slots {
		c.writeSlice(s, slot, i, served)
	}
	c.writeEndpoints(s, sl, ordered)
}

// portsFor returns the ports of s on a pod.
func (s *service) portsFor(p *pod) []map[string]any {
	ports := []map[string]any{}
	for _, sp := range s.Spec.Ports {
		n := sp.Port
		if name := ""; len(sp.TargetPort) > 0 && json.Unmarshal(sp.TargetPort, &name) == nil {
			n = 0
			for _, ct := range p.Spec.Containers {
				for _, cp := range ct.Ports {
					if cp.Name == name {
						n = cp.Port
					}
				}
			}
		} else if len(sp.TargetPort) > 0 {
			_ = json.Unmarshal(sp.TargetPort, &n) // unchanged if it is neither
		}
		if n == 0 {
			continue
		}
		protocol := sp.Protocol
		if protocol == "" {
			protocol = "TCP"
		}
		ports = append(ports, map[string]any{"name": sp.Name, "port": n, "protocol": protocol})
	}
	return ports
}

func targetOf(p *pod) map[string]string {
	return map[string]string{"kind": "Pod", "namespace": p.Metadata.Namespace, "name": p.Metadata.Name, "uid": p.Metadata.UID}
}

func (c *Cluster) writeSlice(s *service, slot *slot, i int, served map[kube.Key]*pod) {
	key := kube.Key{Namespace: s.Metadata.Namespace, Name: slot.name}
	if len(slot.pods) == 0 && i > 0 {
		if slot.wrote != nil {
			c.srv.Delete(kube.EndpointSlices, key)
			slot.wrote = nil
		}
		return
	}
	endpoints := []any{}
	ports := []map[string]any{}
	for _, k := range slot.pods {
		p := served[k]
		ports = s.portsFor(p)
		endpoints = append(endpoints, map[string]any{"addresses": []string{p.Status.PodIP}, "nodeName": p.Spec.NodeName, "targetRef": targetOf(p),
			"conditions": map[string]bool{"ready": p.ready() && !p.leaving(), "serving": p.ready(), "terminating": p.leaving()}})
	}
	b := encode(map[string]any{
		"metadata": metadata{Name: slot.name, Namespace: key.Namespace, OwnerReferences: ownedBy(kube.Services, &s.object), Labels: map[string]string{
			serviceLabel: s.Metadata.Name, sliceLabel: sliceManager}},
		"addressType": "IPv4", "endpoints": endpoints, "ports": ports,
	})
	if !bytes.Equal(slot.wrote, b) {
		c.srv.Put(kube.EndpointSlices, []byte(b))
		slot.wrote = b
	}
}

func (c *Cluster) writeEndpoints(s *service, sl *slicing, pods []*pod) {
	ready, not := []any{}, []any{}
	ports := []map[string]any{}
	for _, p := range pods {
		if p.leaving() || len(ready)+len(not) >= perService {
			continue
		}
		ports = s.portsFor(p)
		a := map[string]any{"ip": p.Status.PodIP, "nodeName": p.Spec.NodeName, "targetRef": targetOf(p)}
		if p.ready() {
			ready = append(ready, a)
		} else {
			not = append(not, a)
		}
	}
	subset := map[string]any{"ports": ports}
	if len(ready) > 0 {
		subset["addresses"] = ready
	}
	if len(not) > 0 {
		subset["notReadyAddresses"] = not
	}
	meta := metadata{Name: s.Metadata.Name, Namespace: s.Metadata.Namespace, Labels: map[string]string{endpointsLabel: endpointsManager}}
	if len(pods) > perService {
		meta.Annotations = map[string]string{"endpoints.kubernetes.io/over-capacity": "truncated"}
	}
	e := map[string]any{"metadata": meta}
	if len(ready)+len(not) > 0 {
		e["subsets"] = []any{subset}
	}
	if b := encode(e); !bytes.Equal(sl.old, b) {
		c.srv.Put(kube.Endpoints, []byte(b))
		sl.old = b
	}
}
