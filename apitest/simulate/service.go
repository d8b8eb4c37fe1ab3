package simulate

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/listwatch/listwatch/kube"
)

type service struct {
	object
	Spec struct {
		Type            string            `json:"type"`
		ClusterIP       string            `json:"clusterIP"`
		Selector        map[string]string `json:"selector"`
		Ports           []servicePort     `json:"ports"`
		PublishNotReady bool              `json:"publishNotReadyAddresses"`
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
	Name        string          `json:"name"`
	Protocol    string          `json:"protocol"`
	Port        int             `json:"port"`
	TargetPort  json.RawMessage `json:"targetPort"`
	AppProtocol string          `json:"appProtocol"`
}

func (s *service) base() *object {
	if s == nil {
		return nil
	}
	return &s.object
}

// settle is how long changes of endpoints are collected.
const settle = 500 * time.Millisecond

func (c *Cluster) markServices(p *pod) {
	for s := range c.services.all() {
		if s.Metadata.Namespace == p.Metadata.Namespace && len(s.Spec.Selector) > 0 && subset(s.Spec.Selector, p.Metadata.Labels) {
			c.mark(task{kube.Services.Plural, s.key()})
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
	if !ok || s.Metadata.DeletionTimestamp != "" {
		return
	}
	if s.Spec.Type != "LoadBalancer" && len(s.Status.LoadBalancer.Ingress) > 0 {
		c.patch(ctx, kube.Services, &s.object, map[string]any{"status": map[string]any{"loadBalancer": map[string]any{"ingress": nil}}}, "status")
	}
	if s.Spec.Type == "ExternalName" {
		return
	}
	if s.Spec.ClusterIP == "" {
		ip := c.freeIP()
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
	if next := sl.when.Add(c.slow(settle)); next.After(c.now) {
		c.later(next, task{kube.Services.Plural, key})
		return
	}
	sl.when = c.now
	c.serve(s, sl)
}

// freeIP returns a cluster IP that no service has, if there is one.
func (c *Cluster) freeIP() string {
	has := map[string]bool{clusterIP(0): true, clusterIP(0xffff): true}
	for s := range c.services.all() {
		has[s.Spec.ClusterIP] = true
	}
	return c.draw(1<<16, clusterIP, has)
}

// draw returns the next of so many addresses that is not there yet; if all are, any.
func (c *Cluster) draw(most int, address func(int) string, has map[string]bool) (ip string) {
	for n := 0; n < most && (n == 0 || has[ip]); n++ {
		c.address++
		ip = address(c.address)
	}
	return ip
}

// balancerIP returns an address that no service has, if one of the 254 is free.
func (c *Cluster) balancerIP() string {
	has := map[string]bool{}
	for s := range c.services.all() {
		for _, in := range s.Status.LoadBalancer.Ingress {
			has[in.IP] = true
		}
	}
	return c.draw(254, func(n int) string { return "192.0.2." + itoa(n%254+1) }, has)
}
