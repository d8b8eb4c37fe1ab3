package simulate

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

type statefulSet struct {
	object
	Spec struct {
		Replicas        *int            `json:"replicas"`
		MinReadySeconds int             `json:"minReadySeconds"`
		PodManagement   string          `json:"podManagementPolicy"`
		ServiceName     string          `json:"serviceName"`
		Template        json.RawMessage `json:"template"`
		Ordinals        struct {
			Start int `json:"start"`
		} `json:"ordinals"`
		UpdateStrategy struct {
			Type          string `json:"type"`
			RollingUpdate struct {
				Partition int `json:"partition"`
			} `json:"rollingUpdate"`
		} `json:"updateStrategy"`
	} `json:"spec"`
	Status statefulStatus `json:"status"`
}

type statefulStatus struct {
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
	Replicas           int    `json:"replicas"`
	ReadyReplicas      int    `json:"readyReplicas,omitempty"`
	AvailableReplicas  int    `json:"availableReplicas"`
	CurrentReplicas    int    `json:"currentReplicas,omitempty"`
	UpdatedReplicas    int    `json:"updatedReplicas,omitempty"`
	CurrentRevision    string `json:"currentRevision,omitempty"`
	UpdateRevision     string `json:"updateRevision,omitempty"`
	CollisionCount     int    `json:"collisionCount"`
}

func (s *statefulSet) base() *object {
	if s == nil {
		return nil
	}
	return &s.object
}

// revisionLabel is the label for the template of a pod.
const revisionLabel = "controller-revision-hash"

func (c *Cluster) sawStatefulSet(old, s *statefulSet) {
	if s == nil {
		delete(c.templates, old.Metadata.UID)
	}
	c.saw(kube.StatefulSets, old.base(), s.base())
}

// syncStatefulSet does the next step in order: one pod at a time, unless pods are
// managed in parallel.
func (c *Cluster) syncStatefulSet(ctx context.Context, s *statefulSet) {
	me := task{kube.StatefulSets.Plural, s.key()}
	want, start := orOne(s.Spec.Replicas), s.Spec.Ordinals.Start
	update := s.Metadata.Name + "-" + hashOf(s.Spec.Template)
	current := s.Status.CurrentRevision
	if current == "" {
		current = update
	}
	pods := c.podsOf(&s.object)
	c.keep(s, update) // to create pods of an older revision again
	byOrdinal := map[int]*pod{}
	var beyond []*pod
	for _, p := range pods {
		n, err := strconv.Atoi(strings.TrimPrefix(p.Metadata.Name, s.Metadata.Name+"-"))
		switch {
		case err != nil:
		case n >= start && n < start+want:
			byOrdinal[n] = p
		default:
			beyond = append(beyond, p)
		}
	}
	if !c.order(s, byOrdinal, start, want, current, update) {
		c.shrinkStateful(s, byOrdinal, beyond, start, want, update)
	}
	c.reportStateful(ctx, s, pods, want, current, update, me)
}

// order creates missing pods, and reports whether it waits for one.
func (c *Cluster) order(s *statefulSet, byOrdinal map[int]*pod, start, want int, current, update string) (busy bool) {
	parallel := s.Spec.PodManagement == "Parallel"
	made := 0
	for n := start; n < start+want; n++ {
		p := byOrdinal[n]
		if p != nil && p.over() && !p.leaving() {
			c.stop(p) // it is created again
		}
		if p == nil && made < burst {
			name := s.Metadata.Name + "-" + itoa(n)
			revision, template := update, s.Spec.Template
			if kept, ok := c.templates[s.Metadata.UID][current]; ok && n < start+s.Spec.UpdateStrategy.RollingUpdate.Partition {
				revision, template = current, kept
			}
			labels := map[string]string{revisionLabel: revision, "statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": itoa(n)}
			if c.newPod(kube.StatefulSets, &s.object, template, name, labels, map[string]any{"hostname": name, "subdomain": s.Spec.ServiceName}) {
				c.record(kube.StatefulSets, &s.object, "statefulset-controller", "SuccessfulCreate", "create Pod %s in StatefulSet %s successful", name, s.Metadata.Name)
			}
			made++
		}
		settled := false
		if p != nil {
			at, ready := p.availableAt(s.Spec.MinReadySeconds)
			if settled = ready && !at.After(c.now); ready && !settled {
				c.later(at, task{kube.StatefulSets.Plural, s.key()})
			}
		}
		if !settled {
			busy = true
			if !parallel {
				return true
			}
		}
	}
	if made == burst {
		c.later(c.now, task{kube.StatefulSets.Plural, s.key()})
	}
	return busy
}

// shrinkStateful stops the last excess pod, or else the last one of an old template.
func (c *Cluster) shrinkStateful(s *statefulSet, byOrdinal map[int]*pod, beyond []*pod, start, want int, update string) {
	parallel := s.Spec.PodManagement == "Parallel"
	slices.SortFunc(beyond, func(a, b *pod) int { return ordinal(b) - ordinal(a) })
	for _, p := range beyond {
		if !p.leaving() {
			c.stop(p)
			c.record(kube.StatefulSets, &s.object, "statefulset-controller", "SuccessfulDelete", "delete Pod %s in StatefulSet %s successful", p.Metadata.Name, s.Metadata.Name)
		}
		if !parallel {
			return
		}
	}
	if s.Spec.UpdateStrategy.Type == "OnDelete" || len(beyond) > 0 {
		return
	}
	for n := start + want - 1; n >= start+s.Spec.UpdateStrategy.RollingUpdate.Partition; n-- {
		p := byOrdinal[n]
		if p == nil || p.leaving() {
			return
		}
		if p.Metadata.Labels[revisionLabel] != update {
			c.stop(p)
			c.record(kube.StatefulSets, &s.object, "statefulset-controller", "SuccessfulDelete", "delete Pod %s in StatefulSet %s successful", p.Metadata.Name, s.Metadata.Name)
			return
		}
	}
}

func ordinal(p *pod) int {
	n, _ := strconv.Atoi(p.Metadata.Name[strings.LastIndexByte(p.Metadata.Name, '-')+1:]) // pods without an ordinal do not get here
	return n
}

// keep stores the template of a revision; of older revisions it keeps only the current
// one.
func (c *Cluster) keep(s *statefulSet, update string) {
	kept := c.templates[s.Metadata.UID]
	if kept == nil {
		kept = map[string]json.RawMessage{}
		c.templates[s.Metadata.UID] = kept
	}
	for revision := range kept {
		if revision != s.Status.CurrentRevision {
			delete(kept, revision)
		}
	}
	kept[update] = s.Spec.Template
}

func (c *Cluster) reportStateful(ctx context.Context, s *statefulSet, pods []*pod, want int, current, update string, me task) {
	n := c.count(pods, s.Spec.MinReadySeconds, me)
	st := statefulStatus{ObservedGeneration: s.Metadata.Generation, Replicas: n.total, ReadyReplicas: n.ready, AvailableReplicas: n.available,
		CurrentRevision: current, UpdateRevision: update}
	ready := 0 // ready pods of the new template
	for _, p := range pods {
		if p.leaving() || p.over() {
			continue
		}
		switch p.Metadata.Labels[revisionLabel] {
		case update:
			st.UpdatedReplicas++
			if p.ready() {
				ready++
			}
		case current:
			st.CurrentReplicas++
		}
	}
	if current != update && ready == want && n.total == want && n.leaving == 0 {
		st.CurrentRevision = update
	}
	if st.CurrentRevision == update {
		st.CurrentReplicas = st.UpdatedReplicas
	}
	c.patchStatus(ctx, kube.StatefulSets, &s.object, st)
}
