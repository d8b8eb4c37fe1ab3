package simulate

import (
	"context"
	"encoding/json"

	"github.com/listwatch/listwatch/kube"
)

type daemonSet struct {
	object
	Spec struct {
		MinReadySeconds int             `json:"minReadySeconds"`
		Template        json.RawMessage `json:"template"`
		UpdateStrategy  struct {
			Type          string `json:"type"`
			RollingUpdate struct {
				MaxUnavailable json.RawMessage `json:"maxUnavailable"`
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

// syncDaemonSet maintains one pod on each node that the template selects.
func (c *Cluster) syncDaemonSet(ctx context.Context, d *daemonSet) {
	me := task{kube.DaemonSets.Plural, d.key()}
	var template struct {
		Spec struct {
			NodeSelector map[string]string `json:"nodeSelector"`
		} `json:"spec"`
	}
	_ = json.Unmarshal(d.Spec.Template, &template) // on an error it selects all nodes
	revision := hashOf(d.Spec.Template)
	pods := c.podsOf(&d.object)
	there := map[string]*pod{}
	st := daemonStatus{ObservedGeneration: d.Metadata.Generation}
	for _, p := range pods {
		other := there[p.Spec.NodeName]
		n, ok := c.nodes.get(kube.Key{Name: p.Spec.NodeName})
		switch {
		case p.over() && !p.leaving():
			c.stop(p)
		case !ok || !subset(template.Spec.NodeSelector, n.Metadata.Labels):
			if !p.leaving() {
				st.NumberMisscheduled++
				c.stop(p)
			}
		case other != nil && !p.leaving() && !other.leaving():
			c.stop(p) // one is enough
		case other == nil || other.leaving():
			there[p.Spec.NodeName] = p
		}
	}
	var stale []*pod
	made := 0
	for _, r := range c.nodes.rows {
		if r.obj == nil || r.obj.Metadata.DeletionTimestamp != "" || !subset(template.Spec.NodeSelector, r.obj.Metadata.Labels) {
			continue
		}
		st.DesiredNumberScheduled++
		p := there[r.key.Name]
		if p == nil {
			if made++; made > burst {
				continue
			}
			name := d.Metadata.Name + "-" + c.suffix(5)
			labels := map[string]string{revisionLabel: revision, "pod-template-generation": "1"}
			if c.newPod(kube.DaemonSets, &d.object, d.Spec.Template, name, labels, map[string]any{"nodeName": r.key.Name}) {
				c.record(kube.DaemonSets, &d.object, "daemonset-controller", "SuccessfulCreate", "Created pod: %s", name)
			}
			continue
		}
		if p.leaving() {
			continue
		}
		st.CurrentNumberScheduled++
		if p.Metadata.Labels[revisionLabel] == revision {
			st.UpdatedNumberScheduled++
		} else {
			stale = append(stale, p)
		}
		at, ready := p.availableAt(d.Spec.MinReadySeconds)
		if ready {
			st.NumberReady++
			if !at.After(c.now) {
				st.NumberAvailable++
			} else {
				c.later(at, me)
			}
		}
	}
	if made > burst {
		c.later(c.now, me)
	}
	st.NumberUnavailable = st.DesiredNumberScheduled - st.NumberAvailable
	if d.Spec.UpdateStrategy.Type != "OnDelete" {
		c.renew(d, stale, st)
	}
	c.patchStatus(ctx, kube.DaemonSets, &d.object, st)
}

// renew stops pods of an old template, as many as may be unavailable.
func (c *Cluster) renew(d *daemonSet, stale []*pod, st daemonStatus) {
	most := d.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable
	if len(most) == 0 {
		most = json.RawMessage("1")
	}
	room := max(1, part(most, st.DesiredNumberScheduled, true)) - st.NumberUnavailable
	for _, p := range stale {
		if at, ready := p.availableAt(d.Spec.MinReadySeconds); ready && !at.After(c.now) { // the others are unavailable already
			if room <= 0 {
				continue
			}
			room--
		}
		c.stop(p)
		c.record(kube.DaemonSets, &d.object, "daemonset-controller", "SuccessfulDelete", "Deleted pod: %s", p.Metadata.Name)
	}
}
