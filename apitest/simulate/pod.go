package simulate

import (
	"time"

	"github.com/listwatch/listwatch/kube"
)

type pod struct {
	object
	Spec struct {
		NodeName        string            `json:"nodeName"`
		NodeSelector    map[string]string `json:"nodeSelector"`
		SchedulingGates []any             `json:"schedulingGates"`
		RestartPolicy   string            `json:"restartPolicy"`
		Hostname        string            `json:"hostname"`
		Subdomain       string            `json:"subdomain"`
		Containers      []container       `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase             string            `json:"phase"`
		PodIP             string            `json:"podIP"`
		StartTime         string            `json:"startTime"`
		Conditions        []condition       `json:"conditions"`
		ContainerStatuses []containerStatus `json:"containerStatuses"`
	} `json:"status"`
}

type container struct {
	Name  string          `json:"name"`
	Image string          `json:"image"`
	Ports []containerPort `json:"ports"`
}

type containerPort struct {
	Name string `json:"name"`
	Port int    `json:"containerPort"`
}

type containerStatus struct {
	Name         string         `json:"name"`
	Image        string         `json:"image"`
	ImageID      string         `json:"imageID"`
	ContainerID  string         `json:"containerID,omitempty"`
	Ready        bool           `json:"ready"`
	Started      *bool          `json:"started,omitempty"`
	RestartCount int            `json:"restartCount"`
	State        map[string]any `json:"state"`
	LastState    map[string]any `json:"lastState"`
}

func (p *pod) base() *object {
	if p == nil {
		return nil
	}
	return &p.object
}

func (p *pod) ready() bool { return find(p.Status.Conditions, "Ready").Status == "True" }

// over reports whether p has completed.
func (p *pod) over() bool { return p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" }

// leaving reports whether p is being deleted.
func (p *pod) leaving() bool { return p.Metadata.DeletionTimestamp != "" }

// availableAt returns when p becomes available; false if it is not ready.
func (p *pod) availableAt(minReady int) (time.Time, bool) {
	r := find(p.Status.Conditions, "Ready")
	if r.Status != "True" || p.leaving() {
		return time.Time{}, false
	}
	since, _ := time.Parse(time.RFC3339, r.LastTransitionTime) // zero if unknown
	return since.Add(time.Duration(minReady) * time.Second), true
}

// available reports whether p, which may be nil, is available, and schedules t for when it is.
func (c *Cluster) available(p *pod, minReady int, t task) bool {
	if p == nil {
		return false
	}
	at, ready := p.availableAt(minReady)
	if ready && at.After(c.now) {
		c.later(at, t)
		return false
	}
	return ready
}

// The life of a pod: its next step depends on its status. If the status is changed by
// hand, it continues from there.
const (
	toSchedule = "schedule" // a node is assigned
	toCreate   = "create"   // the kubelet has seen it
	toStart    = "start"    // its containers run
	toReady    = "ready"    // its containers are ready
	toFinish   = "finish"   // its containers have ended, in a Job
	toEnd      = "end"      // its containers were stopped, and its Job waits for what became of it
	toVanish   = "vanish"   // it was stopped
	toCollect  = "collect"  // its node does not exist
	toRelease  = "release"  // no Job counts it any more
)

// next returns the next step of p, and its delay.
func (c *Cluster) next(p *pod) (what string, least, most time.Duration) {
	const ms = time.Millisecond
	switch {
	case p.tracked() && c.unclaimed(p):
		return toRelease, 0, 0
	case p.leaving() && p.tracked() && !p.over():
		return toEnd, 200 * ms, 1500 * ms
	case p.leaving() && len(p.Metadata.Finalizers) > 0:
		return "", 0, 0 // finalizers keep it
	case p.leaving():
		return toVanish, 200 * ms, 1500 * ms
	case c.lost(p) && (c.starting || c.deleted[p.Spec.NodeName]):
		return toCollect, 0, 0
	case c.lost(p):
		return toCollect, quarantine, quarantine
	case p.over(), len(p.Spec.SchedulingGates) > 0:
		return "", 0, 0
	case p.Spec.NodeName == "":
		return toSchedule, 10 * ms, 80 * ms
	case p.Status.Phase == "Running" && !p.ready():
		return toReady, 100 * ms, 1000 * ms
	case p.Status.Phase == "Running" && p.Spec.RestartPolicy != "" && p.Spec.RestartPolicy != "Always":
		return toFinish, 1000 * ms, 4000 * ms
	case p.Status.Phase == "Running":
		return "", 0, 0
	case len(p.Status.ContainerStatuses) == 0:
		return toCreate, 50 * ms, 250 * ms
	}
	return toStart, 500 * ms, 2500 * ms
}

// plan is the next step of a pod.
type plan struct {
	what string
	at   time.Time
}

// plan sets a timer for the next step of p, unless it is set already.
func (c *Cluster) plan(p *pod) {
	what, least, most := c.next(p)
	uid := p.Metadata.UID
	if c.plans[uid].what == what {
		return
	}
	if what == "" {
		delete(c.plans, uid)
		return
	}
	at := c.now.Add(c.between(least, most))
	c.plans[uid] = plan{what, at}
	c.wake(timer{at: at, uid: uid, task: task{kube.Pods.Plural, p.key()}})
}

// sawPod updates the indexes, marks the owners and services of the pod, and plans its
// next step.
func (c *Cluster) sawPod(old, p *pod) {
	if old != nil {
		c.unindex(old, p == nil)
	}
	if p != nil {
		c.taken(p.Status.PodIP)
		if uid := p.Metadata.controller().UID; uid != "" {
			if c.owned[uid] == nil {
				c.owned[uid] = map[kube.Key]*pod{}
			}
			c.owned[uid][p.key()] = p
		}
		if !p.over() {
			c.crowd[p.Spec.NodeName]++
		}
		c.plan(p)
	}
	if old != nil && p != nil && sameToOthers(old, p) {
		return
	}
	for _, o := range []*pod{old, p} {
		if o == nil {
			continue
		}
		c.markController(o)
		c.markServices(o)
	}
}

func (c *Cluster) unindex(p *pod, gone bool) {
	if uid := p.Metadata.controller().UID; uid != "" {
		delete(c.owned[uid], p.key())
		if len(c.owned[uid]) == 0 {
			delete(c.owned, uid)
		}
	}
	if !p.over() {
		c.crowd[p.Spec.NodeName]--
	}
	if gone {
		delete(c.plans, p.Metadata.UID)
		delete(c.waiting, p.key())
	}
}

// sameToOthers reports whether owners and services of pods need not sync.
func sameToOthers(a, b *pod) bool {
	return a.Status.Phase == b.Status.Phase && a.ready() == b.ready() && a.leaving() == b.leaving() && a.tracked() == b.tracked() &&
		a.Spec.NodeName == b.Spec.NodeName && a.Status.PodIP == b.Status.PodIP &&
		a.Metadata.controller() == b.Metadata.controller() && subset(a.Metadata.Labels, b.Metadata.Labels) && subset(b.Metadata.Labels, a.Metadata.Labels)
}

func (c *Cluster) markController(p *pod) {
	o := p.Metadata.controller()
	for _, r := range []kube.Resource{kube.ReplicaSets, kube.StatefulSets, kube.DaemonSets, kube.Jobs} {
		if o.Kind == r.Kind && o.APIVersion == r.APIVersion() {
			c.mark(task{r.Plural, kube.Key{Namespace: p.Metadata.Namespace, Name: o.Name}})
		}
	}
	if o.Kind != kube.ReplicaSets.Kind {
		return
	}
	if s, ok := c.replicaSets.get(kube.Key{Namespace: p.Metadata.Namespace, Name: o.Name}); ok {
		c.markDeployment(s)
	}
}
