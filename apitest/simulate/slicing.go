package simulate

import (
	"slices"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// The labels of the endpoints that the cluster maintains, as those of a real one.
const (
	serviceLabel     = "kubernetes.io/service-name"
	sliceLabel       = "endpointslice.kubernetes.io/managed-by"
	sliceManager     = "endpointslice-controller.k8s.io"
	endpointsLabel   = "endpoints.kubernetes.io/managed-by"
	endpointsManager = "endpoint-controller"
)

// endpointSlice is one on the server, which an earlier simulation may have written.
type endpointSlice struct {
	object
	AddressType string `json:"addressType"`
	Endpoints   []struct {
		TargetRef struct {
			Kind      string `json:"kind"`
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"targetRef"`
	} `json:"endpoints"`
}

func (s *endpointSlice) base() *object {
	if s == nil {
		return nil
	}
	return &s.object
}

// service returns the service of a slice that the cluster maintains.
func (s *endpointSlice) service() (key kube.Key, managed bool) {
	labels := s.Metadata.Labels
	return kube.Key{Namespace: s.Metadata.Namespace, Name: labels[serviceLabel]}, labels[sliceLabel] == sliceManager && labels[serviceLabel] != ""
}

// slicing is the last written state of a service's endpoints.
type slicing struct {
	key   kube.Key
	when  time.Time
	slots []*slot
	at    map[kube.Key]int // the slots of the pods
	old   []byte           // the Endpoints
}

// slot is a slice; it does not exist as long as wrote is nil.
type slot struct {
	name  string
	pods  []kube.Key
	wrote []byte
}

// add adds a slot, with a name of its own.
func (sl *slicing) add(s *service) {
	for n := len(sl.slots); ; n++ {
		name := s.Metadata.Name + "-" + spell(sum([]byte(s.Metadata.UID+"/"+itoa(n))), 5)
		if !slices.ContainsFunc(sl.slots, func(other *slot) bool { return other.name == name }) {
			sl.slots = append(sl.slots, &slot{name: name})
			return
		}
	}
}

// adopt returns the state of a service that the cluster has not served yet: the slices that an
// earlier simulation wrote for it. Those of another service with its name are deleted.
func (c *Cluster) adopt(s *service) *slicing {
	sl := &slicing{key: s.key(), at: map[kube.Key]int{}}
	for _, e := range c.slicesOf(sl.key) {
		if e.Metadata.controller().UID != s.Metadata.UID || e.AddressType != "IPv4" {
			c.srv.Delete(kube.EndpointSlices, e.key())
			continue
		}
		to := &slot{name: e.Metadata.Name, wrote: e.body}
		for _, ep := range e.Endpoints {
			k := kube.Key{Namespace: ep.TargetRef.Namespace, Name: ep.TargetRef.Name}
			if _, has := sl.at[k]; !has && ep.TargetRef.Kind == kube.Pods.Kind {
				to.pods = append(to.pods, k)
				sl.at[k] = len(sl.slots)
			}
		}
		sl.slots = append(sl.slots, to)
	}
	return sl
}

// slicesOf returns the slices of a service that the cluster maintains, by name.
func (c *Cluster) slicesOf(key kube.Key) (of []*endpointSlice) {
	for _, r := range c.slices.rows {
		if r.obj == nil || r.key.Namespace != key.Namespace {
			continue
		}
		if k, managed := r.obj.service(); managed && k == key {
			of = append(of, r.obj)
		}
	}
	return of
}

// unserve deletes the endpoints of a deleted service.
func (c *Cluster) unserve(sl *slicing) {
	c.srv.Delete(kube.Endpoints, sl.key)
	for _, s := range sl.slots {
		if s.wrote != nil {
			c.srv.Delete(kube.EndpointSlices, kube.Key{Namespace: sl.key.Namespace, Name: s.name})
		}
	}
}

// abandon deletes what an earlier simulation wrote for a service that does not exist.
func (c *Cluster) abandon(key kube.Key) {
	for _, e := range c.slicesOf(key) {
		c.remove(kube.EndpointSlices, &e.object)
	}
	if e, ok := c.endpoints.get(key); ok && e.Metadata.Labels[endpointsLabel] == endpointsManager {
		c.remove(kube.Endpoints, e)
	}
}

// sawSlice marks the service of a slice that is there at the start, or that somebody has deleted.
func (c *Cluster) sawSlice(old, s *endpointSlice) {
	if s != nil {
		if key, managed := s.service(); managed && c.starting {
			c.mark(task{kube.Services.Plural, key})
		}
		return
	}
	sl := c.serving[old.Metadata.controller().UID]
	if sl == nil {
		return
	}
	for _, slot := range sl.slots {
		if slot.name == old.Metadata.Name && slot.wrote != nil {
			slot.wrote = nil
			c.mark(task{kube.Services.Plural, sl.key})
		}
	}
}

// sawEndpoints does the same for Endpoints.
func (c *Cluster) sawEndpoints(old, e *object) {
	if e != nil {
		if c.starting && e.Metadata.Labels[endpointsLabel] == endpointsManager {
			c.mark(task{kube.Services.Plural, e.key()})
		}
		return
	}
	if s, ok := c.services.get(old.key()); ok && c.serving[s.Metadata.UID] != nil {
		c.serving[s.Metadata.UID].old = nil
		c.mark(task{kube.Services.Plural, old.key()})
	}
}
