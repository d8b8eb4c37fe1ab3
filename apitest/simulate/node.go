package simulate

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/listwatch/listwatch/kube"
)

type node struct {
	object
	Spec struct {
		Unschedulable bool `json:"unschedulable"`
	} `json:"spec"`
	Status struct {
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

func (n *node) base() *object {
	if n == nil {
		return nil
	}
	return &n.object
}

// condition is one of any object's conditions. Its fields are in the order of the
// server's JSON, so that equal ones have equal bytes.
type condition struct {
	LastHeartbeatTime  string `json:"lastHeartbeatTime,omitempty"`
	LastProbeTime      string `json:"lastProbeTime,omitempty"`
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
	LastUpdateTime     string `json:"lastUpdateTime,omitempty"`
	Message            string `json:"message,omitempty"`
	Reason             string `json:"reason,omitempty"`
	Status             string `json:"status"`
	Type               string `json:"type"`
}

// find returns the condition of a type; zero if there is none.
func find(list []condition, typ string) condition {
	for _, c := range list {
		if c.Type == typ {
			return c
		}
	}
	return condition{}
}

func (n *node) ready() bool { return find(n.Status.Conditions, "Ready").Status == "True" }

func (c *Cluster) addNode(name string) {
	c.create(kube.Nodes, kube.Key{Name: name}, map[string]any{
		"metadata": map[string]any{"name": name, "labels": map[string]string{
			"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}},
		"spec": map[string]any{},
	})
}

// sawNode starts the kubelet of a node without conditions.
func (c *Cluster) sawNode(old, n *node) {
	for _, d := range c.daemonSets.rows {
		c.mark(task{kube.DaemonSets.Plural, d.key})
	}
	if n == nil {
		c.deleted[old.Metadata.Name] = true
		for p := range c.pods.all() { // those pods have no machine any more
			if p.Spec.NodeName == old.Metadata.Name {
				c.fail(p)
			}
		}
		return
	}
	if old == nil {
		for p := range c.pods.all() { // those pods have a machine now
			if p.Spec.NodeName == n.Metadata.Name {
				c.plan(p)
			}
		}
	}
	if len(n.Status.Conditions) == 0 {
		c.boot(n)
	}
	for _, key := range slices.SortedFunc(maps.Keys(c.waiting), kube.Key.Compare) { // one of them may fit now
		delete(c.waiting, key)
		if p, ok := c.pods.get(key); ok {
			c.plan(p)
		}
	}
}

// quarantine is how long a pod may have a node that was never there, as for a real garbage
// collector of pods: the node may be late.
const quarantine = 40 * time.Second

// lost reports whether p has a node that does not exist.
func (c *Cluster) lost(p *pod) bool {
	if p.Spec.NodeName == "" {
		return false
	}
	_, ok := c.nodes.get(kube.Key{Name: p.Spec.NodeName})
	return !ok
}

// collect stops a pod that is lost, unless its node has come since the last look. It reports
// false if it has to be tried again.
func (c *Cluster) collect(p *pod) bool {
	return c.srv.Get(kube.Nodes, kube.Key{Name: p.Spec.NodeName}) == nil && c.fail(p)
}

// fail stops a pod whose node is gone. Unless it is over, it fails by that: nothing else will
// say what became of it.
func (c *Cluster) fail(p *pod) bool {
	return c.stopAs(p, func(whole fields) {
		if p.over() {
			return
		}
		status := fieldsOf(whole["status"])
		status.set("phase", "Failed")
		status.set("conditions", c.conditions(p, condition{Type: "DisruptionTarget", Status: "True", Reason: "DeletionByPodGC", Message: "PodGC: node no longer exists"}))
		whole.set("status", status)
	})
}

func (c *Cluster) boot(n *node) {
	now := stamp(c.now)
	var conditions []condition
	for _, typ := range []string{"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"} {
		cond := condition{Type: typ, Status: "False", Reason: "KubeletHasNo" + typ, LastHeartbeatTime: now, LastTransitionTime: now}
		if typ == "Ready" {
			cond.Status, cond.Reason, cond.Message = "True", "KubeletReady", "kubelet is posting ready status"
		}
		conditions = append(conditions, cond)
	}
	capacity := map[string]string{"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
	f := fieldsOf(n.body)
	f.set("status", map[string]any{
		"capacity": capacity, "allocatable": capacity, "conditions": conditions,
		"addresses": []map[string]string{
			{"type": "InternalIP", "address": hostIP(n.Metadata.Name)}, {"type": "Hostname", "address": n.Metadata.Name}},
		"nodeInfo": map[string]string{"kubeletVersion": "v1.37.0", "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64",
			"osImage": "simulated", "kernelVersion": "6.12.0", "containerRuntimeVersion": "simulated://1", "machineID": "", "systemUUID": "", "bootID": ""},
	})
	if c.put(kube.Nodes, &n.object, f) {
		c.record(kube.Nodes, &n.object, "kubelet", "NodeReady", "Node %s status is now: NodeReady", n.Metadata.Name)
	}
}

// hostIP returns the address of a node, computed from its name.
func hostIP(name string) string {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return fmt.Sprintf("172.18.%d.%d", h>>8&0xff, h&0xfd+1)
}

// choose returns the suitable node with the fewest pods; empty = none is suitable.
func (c *Cluster) choose(p *pod) string {
	var best *node
	for n := range c.nodes.all() {
		if !n.ready() || n.Spec.Unschedulable || n.Metadata.DeletionTimestamp != "" || !subset(p.Spec.NodeSelector, n.Metadata.Labels) {
			continue
		}
		if best == nil || c.load(n) < c.load(best) {
			best = n
		}
	}
	if best == nil {
		return ""
	}
	return best.Metadata.Name
}

// load returns how many pods n has.
func (c *Cluster) load(n *node) int { return c.crowd[n.Metadata.Name] + c.placed[n.Metadata.Name] }

// subset reports whether all of want is in have.
func subset(want, have map[string]string) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			return false
		}
	}
	return true
}
