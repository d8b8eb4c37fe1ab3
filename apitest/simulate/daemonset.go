package simulate

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/listwatch/listwatch/kube"
)

type daemonSet struct {
	object
	Spec struct {
		MinReadySeconds int             `json:"minReadySeconds"`
		HistoryLimit    *int            `json:"revisionHistoryLimit"`
		Template        json.RawMessage `json:"template"`
		UpdateStrategy  struct {
			Type          string `json:"type"`
			RollingUpdate struct {
				MaxUnavailable json.RawMessage `json:"maxUnavailable"`
				MaxSurge       json.RawMessage `json:"maxSurge"`
			} `json:"rollingUpdate"`
		} `json:"updateStrategy"`
	} `json:"spec"`
}

type daemonStatus struct {
	ObservedGeneration     int64 `json:"observedGeneration,omitempty"`
	CurrentNumberScheduled int   `json:"currentNumberScheduled"`
	NumberMisscheduled     int   `json:"numberMisscheduled"`
	DesiredNumberScheduled int   `json:"desiredNumberScheduled"`
	NumberReady            int   `json:"numberReady"`
	UpdatedNumberScheduled int   `json:"updatedNumberScheduled,omitempty"`
	NumberAvailable        int   `json:"numberAvailable,omitempty"`
	NumberUnavailable      int   `json:"numberUnavailable,omitempty"`
}

func (d *daemonSet) base() *object {
	if d == nil {
		return nil
	}
	return &d.object
}

// daemons are the pods of a DaemonSet on a node.
type daemons struct {
	old, new *pod // of an old template and of the current one, neither over nor leaving
	leaving  bool // there are others, which are being deleted
}

// syncDaemonSet maintains one pod on each node that the template selects.
func (c *Cluster) syncDaemonSet(ctx context.Context, d *daemonSet) {
	if !c.complete(ctx, kube.DaemonSets, &d.object) {
		return
	}
	var template struct {
		Spec struct {
			NodeSelector map[string]string `json:"nodeSelector"`
		} `json:"spec"`
	}
	_ = json.Unmarshal(d.Spec.Template, &template) // on an error it selects all nodes
	revision := hashOf(d.Spec.Template)
	update := c.revise(kube.DaemonSets, &d.object, d.Spec.Template, revision)
	st := daemonStatus{ObservedGeneration: d.Metadata.Generation}
	var nodes []string
	for n := range c.nodes.all() {
		if n.Metadata.DeletionTimestamp == "" && subset(template.Spec.NodeSelector, n.Metadata.Labels) {
			nodes = append(nodes, n.Metadata.Name)
		}
	}
	st.DesiredNumberScheduled = len(nodes)
	surge := d.surge(len(nodes))
	pods := c.daemonsOf(d)
	there := map[string]daemons{}
	for _, p := range pods {
		on := there[p.Spec.NodeName]
		slot, beside := &on.old, on.new
		if p.Metadata.Labels[revisionLabel] == revision {
			slot, beside = &on.new, on.old
		}
		n, ok := c.nodes.get(kube.Key{Name: p.Spec.NodeName})
		switch {
		case p.leaving():
			on.leaving = true
		case p.over():
			c.stop(p)
			on.leaving = true
		case !ok || !subset(template.Spec.NodeSelector, n.Metadata.Labels):
			st.NumberMisscheduled++
			c.stop(p)
		case *slot != nil || beside != nil && surge == 0:
			c.stop(p) // one is enough
		default:
			*slot = p
		}
		there[p.Spec.NodeName] = on
	}
	var missing []string
	for _, name := range nodes {
		on := there[name]
		p := cmp.Or(on.old, on.new) // the older one counts
		if p == nil {
			if !on.leaving || surge > 0 {
				missing = append(missing, name)
			}
			continue
		}
		st.CurrentNumberScheduled++
		if p == on.new {
			st.UpdatedNumberScheduled++
		}
		if p.ready() {
			st.NumberReady++
		}
		if d.available(c, p) {
			st.NumberAvailable++
		}
	}
	st.NumberUnavailable = st.DesiredNumberScheduled - st.NumberAvailable
	switch {
	case d.Spec.UpdateStrategy.Type == "OnDelete":
	case surge > 0:
		missing = append(missing, c.renewBeside(d, nodes, there, surge)...)
	default:
		c.renew(d, nodes, there, st)
	}
	c.addDaemons(d, missing, revision)
	c.forgetDaemons(d, pods, update)
	c.patchStatus(ctx, kube.DaemonSets, &d.object, st)
}

// daemonsOf returns the pods of d, the oldest first.
func (c *Cluster) daemonsOf(d *daemonSet) []*pod {
	pods := c.podsOf(&d.object)
	slices.SortStableFunc(pods, func(a, b *pod) int {
		return cmp.Compare(a.Metadata.CreationTimestamp, b.Metadata.CreationTimestamp)
	})
	return pods
}

// forgetDaemons deletes the oldest revisions of d beyond the limit, except that of its template
// and those of its pods.
func (c *Cluster) forgetDaemons(d *daemonSet, pods []*pod, update string) {
	used := map[string]bool{update: true}
	for _, p := range pods {
		used[d.Metadata.Name+"-"+p.Metadata.Labels[revisionLabel]] = true
	}
	c.forget(&d.object, d.Spec.HistoryLimit, used)
}

// surge returns how many of n nodes may have a pod of the current template beside an old one.
func (d *daemonSet) surge(n int) int {
	most := d.Spec.UpdateStrategy.RollingUpdate.MaxSurge
	if d.Spec.UpdateStrategy.Type == "OnDelete" || len(most) == 0 || string(most) == "null" {
		return 0
	}
	return part(most, n, true)
}

// available reports whether a pod of d is available.
func (d *daemonSet) available(c *Cluster, p *pod) bool {
	return c.available(p, d.Spec.MinReadySeconds, task{kube.DaemonSets.Plural, d.key()})
}

// addDaemons creates a pod on each of these nodes.
func (c *Cluster) addDaemons(d *daemonSet, nodes []string, revision string) {
	if len(nodes) > burst {
		nodes = nodes[:burst]
		c.later(c.now, task{kube.DaemonSets.Plural, d.key()})
	}
	generation := cmp.Or(d.Metadata.Annotations["deprecated.daemonset.template.generation"], strconv.FormatInt(d.Metadata.Generation, 10))
	labels := map[string]string{revisionLabel: revision, "pod-template-generation": generation}
	for _, node := range nodes {
		if name := c.newPod(kube.DaemonSets, &d.object, d.Spec.Template, d.Metadata.Name+"-", labels, map[string]any{"nodeName": node}); name != "" {
			c.record(kube.DaemonSets, &d.object, "daemonset-controller", "SuccessfulCreate", "Created pod: %s", name)
		}
	}
}

// renew stops pods of an old template, as many as may be unavailable.
func (c *Cluster) renew(d *daemonSet, nodes []string, there map[string]daemons, st daemonStatus) {
	most := d.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable
	if len(most) == 0 {
		most = json.RawMessage("1")
	}
	room := max(1, part(most, st.DesiredNumberScheduled, true)) - st.NumberUnavailable
	for _, name := range nodes {
		p := there[name].old
		if p == nil {
			continue
		}
		if d.available(c, p) { // the others are unavailable already
			if room <= 0 {
				continue
			}
			room--
		}
		c.dismiss(d, p)
	}
}

// renewBeside stops old pods that have a successor, or are not ready. It returns the nodes whose
// old pod gets a successor now: an unavailable one at once, the others as many as surge allows.
func (c *Cluster) renewBeside(d *daemonSet, nodes []string, there map[string]daemons, surge int) []string {
	var urgent, others []string
	for _, name := range nodes {
		on := there[name]
		switch {
		case on.old == nil:
		case on.new == nil && d.available(c, on.old):
			others = append(others, name)
		case on.new == nil:
			urgent = append(urgent, name)
		case d.available(c, on.new) || !on.old.ready():
			c.dismiss(d, on.old)
		default:
			surge--
		}
	}
	return append(urgent, others[:min(len(others), max(0, surge))]...)
}

// dismiss stops a pod of an old template.
func (c *Cluster) dismiss(d *daemonSet, p *pod) {
	c.stop(p)
	c.record(kube.DaemonSets, &d.object, "daemonset-controller", "SuccessfulDelete", "Deleted pod: %s", p.Metadata.Name)
}
