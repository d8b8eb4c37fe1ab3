package simulate

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/kube"
)

type replicaSet struct {
	object
	Spec struct {
		Replicas        *int            `json:"replicas"`
		MinReadySeconds int             `json:"minReadySeconds"`
		Selector        json.RawMessage `json:"selector"`
		Template        json.RawMessage `json:"template"`
	} `json:"spec"`
}

func (s *replicaSet) base() *object {
	if s == nil {
		return nil
	}
	return &s.object
}

func (s *replicaSet) replicas() int { return orOne(s.Spec.Replicas) }

func orOne(n *int) int {
	if n == nil {
		return 1
	}
	return max(0, *n)
}

// sawSet updates the index by Deployment.
func (c *Cluster) sawSet(old, s *replicaSet) {
	if old != nil {
		if uid := old.Metadata.controller().UID; uid != "" {
			delete(c.sets[uid], old.key())
			if len(c.sets[uid]) == 0 {
				delete(c.sets, uid)
			}
		}
		c.markDeployment(old)
	}
	if s != nil {
		if uid := s.Metadata.controller().UID; uid != "" {
			if c.sets[uid] == nil {
				c.sets[uid] = map[kube.Key]*replicaSet{}
			}
			c.sets[uid][s.key()] = s
		}
		c.markDeployment(s)
	}
	c.saw(kube.ReplicaSets, old.base(), s.base())
}

func (c *Cluster) markDeployment(s *replicaSet) {
	if o := s.Metadata.controller(); o.Kind == kube.Deployments.Kind {
		c.mark(task{kube.Deployments.Plural, kube.Key{Namespace: s.Metadata.Namespace, Name: o.Name}})
	}
}

// podsOf returns the pods that an object controls, by name.
func (c *Cluster) podsOf(o *object) []*pod {
	return slices.SortedFunc(maps.Values(c.owned[o.Metadata.UID]), func(a, b *pod) int { return a.key().Compare(b.key()) })
}

// tally counts pods.
type tally struct {
	total, ready, available int // without those that are leaving or over
	leaving                 int
}

// count counts pods, and schedules t for when more of them become available.
func (c *Cluster) count(pods []*pod, minReady int, t task) tally {
	var n tally
	var next time.Time
	for _, p := range pods {
		switch {
		case p.leaving():
			n.leaving++
			continue
		case p.over():
			continue
		}
		n.total++
		at, ready := p.availableAt(minReady)
		if !ready {
			continue
		}
		n.ready++
		if !at.After(c.now) {
			n.available++
		} else if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if !next.IsZero() {
		c.later(next, t)
	}
	return n
}

// burst limits the pods of one owner that are created or stopped in one step.
const burst = 250

// syncSet creates or stops pods until their number is the desired one.
func (c *Cluster) syncSet(s *replicaSet) {
	me := task{kube.ReplicaSets.Plural, s.key()}
	pods := c.podsOf(&s.object)
	n := c.count(pods, s.Spec.MinReadySeconds, me)
	missing := s.replicas() - n.total
	for range min(missing, burst) {
		if name := c.newPod(kube.ReplicaSets, &s.object, s.Spec.Template, s.Metadata.Name+"-", nil, nil); name != "" {
			c.record(kube.ReplicaSets, &s.object, "replicaset-controller", "SuccessfulCreate", "Created pod: %s", name)
		}
	}
	if missing < 0 {
		rest := slices.DeleteFunc(pods, func(p *pod) bool { return p.leaving() || p.over() })
		on := c.crowds(s)
		slices.SortStableFunc(rest, func(a, b *pod) int { return leastWanted(a, b, c.now, on) })
		for _, p := range rest[:min(-missing, burst)] {
			c.stop(p)
			c.record(kube.ReplicaSets, &s.object, "replicaset-controller", "SuccessfulDelete", "Deleted pod: %s", p.Metadata.Name)
		}
	}
	if max(missing, -missing) > burst {
		c.later(c.now, me)
	}
	f := fieldsOf(s.body)
	status := map[string]any{"replicas": n.total, "fullyLabeledReplicas": n.total, "readyReplicas": n.ready,
		"availableReplicas": n.available, "terminatingReplicas": n.leaving, "observedGeneration": s.Metadata.Generation}
	for k, v := range status {
		if v == 0 && k != "replicas" {
			delete(status, k)
		}
	}
	f.set("status", status)
	c.put(kube.ReplicaSets, &s.object, f)
}

// leastWanted compares pods in the order in which they are deleted: those without a node come
// first, then pending ones, those that are not ready, those of low cost and of full nodes, those
// that are ready since short, those with restarts, young ones. Times are compared in powers of
// two, and within one by UID. As a real Job does, one without on compares neither cost nor nodes,
// and times exactly.
func leastWanted(a, b *pod, now time.Time, on map[string]int) int {
	order := b.lacks() - a.lacks()
	if on != nil {
		order = cmp.Or(order, cmp.Compare(a.cost(), b.cost()), on[b.Spec.NodeName]-on[a.Spec.NodeName])
	}
	since := func(p *pod) string { return find(p.Status.Conditions, "Ready").LastTransitionTime }
	if order == 0 && a.ready() && since(a) != since(b) {
		return younger(a, b, since, now, on != nil)
	}
	if order = cmp.Or(order, b.restarts()-a.restarts()); order != 0 {
		return order
	}
	return younger(a, b, func(p *pod) string { return p.Metadata.CreationTimestamp }, now, on != nil)
}

// lacks is the greater, the less a pod has reached.
func (p *pod) lacks() int {
	switch {
	case p.Spec.NodeName == "":
		return 4
	case p.ready():
		return 0
	case p.Status.Phase == "Running":
		return 1
	case p.Status.Phase == "Unknown":
		return 2
	}
	return 3
}

// younger compares times of two pods, the later one first; roughly in powers of two.
func younger(a, b *pod, of func(*pod) string, now time.Time, roughly bool) int {
	if order := cmp.Compare(of(b), of(a)); order == 0 || !roughly {
		return order
	}
	power := func(p *pod) int {
		at, _ := time.Parse(time.RFC3339, of(p)) // unknown = long ago
		return int(math.Log2(max(.5, float64(now.Sub(at)))))
	}
	return cmp.Or(power(a)-power(b), cmp.Compare(a.Metadata.UID, b.Metadata.UID))
}

// cost is what users say that the deletion of p costs.
func (p *pod) cost() int {
	text := p.Metadata.Annotations["controller.kubernetes.io/pod-deletion-cost"]
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || text[0] == '+' {
		return 0 // as if it were not there
	}
	return int(n)
}

// restarts is the highest number of a container of p.
func (p *pod) restarts() (n int) {
	for _, s := range p.Status.ContainerStatuses {
		n = max(n, s.RestartCount)
	}
	return n
}

// crowds returns how many active pods of s, and of the other sets of its Deployment, are on each
// node.
func (c *Cluster) crowds(s *replicaSet) map[string]int {
	sets := map[string]*replicaSet{s.Metadata.Name: s}
	for _, other := range c.sets[s.Metadata.controller().UID] {
		sets[other.Metadata.Name] = other
	}
	on := map[string]int{}
	for _, one := range sets {
		for _, p := range c.podsOf(&one.object) {
			if !p.over() && !p.leaving() {
				on[p.Spec.NodeName]++
			}
		}
	}
	return on
}

// tries limits the names that are drawn for a new object, as in a real server.
const tries = 8

// newPod creates a pod from a template, with additional labels and spec fields, and returns its
// name. A name that ends in a dash gets a random suffix. If other pods have the name, the result
// is empty, and the owner is synced again later.
func (c *Cluster) newPod(r kube.Resource, of *object, template json.RawMessage, name string, labels map[string]string, spec map[string]any) string {
	var t struct {
		Metadata metadata `json:"metadata"`
		Spec     fields   `json:"spec"`
	}
	if json.Unmarshal(template, &t) != nil {
		return ""
	}
	meta := metadata{Namespace: of.Metadata.Namespace, Labels: maps.Clone(t.Metadata.Labels),
		Annotations: t.Metadata.Annotations, Finalizers: t.Metadata.Finalizers, OwnerReferences: ownedBy(r, of)}
	if r == kube.Jobs && !slices.Contains(meta.Finalizers, tracking) {
		meta.Finalizers = append(meta.Finalizers, tracking)
	}
	if meta.Labels == nil {
		meta.Labels = map[string]string{}
	}
	maps.Copy(meta.Labels, labels)
	if t.Spec == nil {
		t.Spec = fields{}
	}
	for k, v := range spec {
		t.Spec.set(k, v)
	}
	for k, v := range map[string]any{"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
		"serviceAccountName": "default", "terminationGracePeriodSeconds": 30} {
		if t.Spec[k] == nil {
			t.Spec.set(k, v)
		}
	}
	for n := range tries {
		meta.Name = name
		if strings.HasSuffix(name, "-") {
			meta.Name += c.suffix(5)
		} else if n > 0 {
			break
		}
		if c.create(kube.Pods, kube.Key{Namespace: meta.Namespace, Name: meta.Name}, map[string]any{
			"metadata": meta, "spec": t.Spec, "status": map[string]any{"phase": "Pending", "qosClass": "BestEffort"}}) {
			return meta.Name
		}
	}
	c.later(c.now.Add(time.Second), task{r.Plural, of.key()})
	return ""
}
