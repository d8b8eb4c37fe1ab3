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
	headlessLabel    = "service.kubernetes.io/headless"
	zoneLabel        = "topology.kubernetes.io/zone" // of nodes
)

// endpointSlice is one on the server, which an earlier simulation may have written.
type endpointSlice struct {
	object
	AddressType string         `json:"addressType"`
	Ports       []endpointPort `json:"ports"`
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
	old   written          // the Endpoints
}

// slot is a slice; it does not exist as long as nothing was written. The pods of one have the
// same ports.
type slot struct {
	name  string
	ports string // of the pods
	pods  []kube.Key
	wrote written
}

// written is the last written state of an object.
type written struct {
	as   []byte // as it was sent
	body []byte // as the server has stored it
}

// unknown is the state of an object that somebody has deleted or changed.
var unknown = written{as: []byte{}}

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

// room returns the slot of one more pod with these ports: one of its like, else an empty one.
func (sl *slicing) room(s *service, ports string) int {
	empty := -1
	for i, slot := range sl.slots {
		switch {
		case len(slot.pods) == 0 && empty < 0:
			empty = i
		case len(slot.pods) > 0 && len(slot.pods) < perSlice && slot.ports == ports:
			return i
		}
	}
	if empty < 0 {
		empty = len(sl.slots)
		sl.add(s)
	}
	return empty
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
		to := &slot{name: e.Metadata.Name, ports: string(encode(e.Ports)), wrote: written{e.body, e.body}}
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
	for s := range c.slices.all() {
		if k, managed := s.service(); managed && k == key {
			of = append(of, s)
		}
	}
	return of
}

// unserve deletes the endpoints of a deleted service.
func (c *Cluster) unserve(sl *slicing) {
	c.srv.Delete(kube.Endpoints, sl.key)
	for _, s := range sl.slots {
		if s.wrote.as != nil {
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

// sawSlice marks the service of a slice that is there at the start. Another one is checked after
// the look: somebody may have changed or deleted it.
func (c *Cluster) sawSlice(old, s *endpointSlice) {
	for _, e := range []*endpointSlice{old, s} {
		if e != nil {
			c.recheck(e.Metadata.controller().UID)
		}
	}
	if s != nil && c.starting {
		if key, managed := s.service(); managed {
			c.mark(task{kube.Services.Plural, key})
		}
	}
}

// sawEndpoints does the same for Endpoints.
func (c *Cluster) sawEndpoints(old, e *object) {
	for _, o := range []*object{old, e} {
		if o == nil {
			continue
		}
		if s, ok := c.services.get(o.key()); ok {
			c.recheck(s.Metadata.UID)
		}
	}
	if e != nil && c.starting {
		c.markServiceOf(e)
	}
}

// markServiceOf marks the service of Endpoints, which may be gone.
func (c *Cluster) markServiceOf(e *object) {
	if e.Metadata.Labels[endpointsLabel] == endpointsManager {
		c.mark(task{kube.Services.Plural, e.key()})
	}
}

// recheck has the endpoints of a service, which may be another's, checked after the look.
func (c *Cluster) recheck(uid string) {
	if sl := c.serving[uid]; sl != nil {
		c.unchecked[sl] = true
	}
}

// check compares what was written with what the look has seen. What somebody has deleted or
// changed is written again, even if no look has seen it before.
func (c *Cluster) check() {
	for sl := range c.unchecked {
		lost := false
		for _, slot := range sl.slots {
			e, _ := c.slices.get(kube.Key{Namespace: sl.key.Namespace, Name: slot.name})
			if slot.wrote.differs(e.base(), "addressType", "endpoints", "ports") {
				slot.wrote, lost = unknown, true
			}
		}
		if e, _ := c.endpoints.get(sl.key); sl.old.differs(e, "subsets") {
			sl.old, lost = unknown, true
		}
		if lost {
			c.mark(task{kube.Services.Plural, sl.key})
		}
	}
	clear(c.unchecked)
}

// differs reports whether o is not what was written: nil, or with other labels, owners or parts.
func (w written) differs(o *object, parts ...string) bool {
	if len(w.as) == 0 || o != nil && same(o.body, w.body) {
		return false
	}
	if o == nil {
		return true
	}
	now, was := fieldsOf(o.body), fieldsOf(w.body)
	differ := func(now, was fields, names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return hashOf(now[n]) != hashOf(was[n]) })
	}
	return differ(now, was, parts...) || differ(fieldsOf(now["metadata"]), fieldsOf(was["metadata"]), "labels", "ownerReferences")
}
