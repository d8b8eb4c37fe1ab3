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
		HistoryLimit    *int            `json:"revisionHistoryLimit"`
		Template        json.RawMessage `json:"template"`
		Ordinals        struct {
			Start int `json:"start"`
		} `json:"ordinals"`
		UpdateStrategy struct {
			Type          string `json:"type"`
			RollingUpdate struct {
				Partition      int              `json:"partition"`
				MaxUnavailable *json.RawMessage `json:"maxUnavailable"`
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

// parallel reports whether no pod waits for others.
func (s *statefulSet) parallel() bool { return s.Spec.PodManagement == "Parallel" }

// maxUnavailable returns how many of want pods an update may make unavailable.
func (s *statefulSet) maxUnavailable(want int) int {
	most := s.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable
	if most == nil {
		return 1
	}
	return max(1, part(*most, want, false))
}

// syncStatefulSet does the next step in order: one pod at a time, unless pods are
// managed in parallel.
func (c *Cluster) syncStatefulSet(ctx context.Context, s *statefulSet) {
	if !c.complete(ctx, kube.StatefulSets, &s.object) {
		return
	}
	me := task{kube.StatefulSets.Plural, s.key()}
	want, start := orOne(s.Spec.Replicas), s.Spec.Ordinals.Start
	update := c.revise(kube.StatefulSets, &s.object, s.Spec.Template, hashOf(s.Spec.Template))
	current := s.Status.CurrentRevision
	if c.history[s.Metadata.UID][current] == nil {
		current = update
	}
	pods := c.podsOf(&s.object)
	used := map[string]bool{current: true, update: true}
	byOrdinal := map[int]*pod{}
	var beyond []*pod
	for _, p := range pods {
		used[p.Metadata.Labels[revisionLabel]] = true
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
		c.shrinkStateful(s, beyond)
		if s.parallel() || len(beyond) == 0 {
			c.renewStateful(s, byOrdinal, start, want, update)
		}
	}
	c.forget(&s.object, s.Spec.HistoryLimit, used)
	c.reportStateful(ctx, s, pods, want, current, update, me)
}

// order creates missing pods, and reports whether the others wait for one.
func (c *Cluster) order(s *statefulSet, byOrdinal map[int]*pod, start, want int, current, update string) (busy bool) {
	made := 0
	for n := start; n < start+want; n++ {
		p := byOrdinal[n]
		if p != nil && p.over() && !p.leaving() {
			c.stop(p) // it is created again
		}
		if p == nil && made < burst {
			name := s.Metadata.Name + "-" + itoa(n)
			revision, template := update, s.Spec.Template
			if old := c.history[s.Metadata.UID][current]; old != nil && current != update && n < start+s.Spec.UpdateStrategy.RollingUpdate.Partition {
				revision, template = current, old.Data.Spec.Template
			}
			labels := map[string]string{revisionLabel: revision, "statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": itoa(n)}
			if c.newPod(kube.StatefulSets, &s.object, template, name, labels, map[string]any{"hostname": name, "subdomain": s.Spec.ServiceName}) != "" {
				c.record(kube.StatefulSets, &s.object, "statefulset-controller", "SuccessfulCreate", "create Pod %s in StatefulSet %s successful", name, s.Metadata.Name)
			}
			made++
		}
		if !s.available(c, p) && !s.parallel() {
			return true
		}
	}
	if made == burst {
		c.later(c.now, task{kube.StatefulSets.Plural, s.key()})
	}
	return false
}

// available reports whether a pod of s, which may be nil, is available.
func (s *statefulSet) available(c *Cluster, p *pod) bool {
	return c.available(p, s.Spec.MinReadySeconds, task{kube.StatefulSets.Plural, s.key()})
}

// shrinkStateful stops the last excess pod; in parallel, all of them.
func (c *Cluster) shrinkStateful(s *statefulSet, beyond []*pod) {
	slices.SortFunc(beyond, func(a, b *pod) int { return ordinal(b) - ordinal(a) })
	for _, p := range beyond {
		if !p.leaving() {
			c.stopStateful(s, p)
		}
		if !s.parallel() {
			return
		}
	}
}

// renewStateful stops pods of an old template, the last ones first, as long as no more pods
// than permitted are unavailable. In parallel, those that are unavailable anyway do not wait.
func (c *Cluster) renewStateful(s *statefulSet, byOrdinal map[int]*pod, start, want int, update string) {
	if s.Spec.UpdateStrategy.Type == "OnDelete" {
		return
	}
	spare := s.maxUnavailable(want)
	for n := start; n < start+want; n++ {
		if !s.available(c, byOrdinal[n]) {
			spare--
		}
	}
	for n := start + want - 1; n >= start+s.Spec.UpdateStrategy.RollingUpdate.Partition; n-- {
		p := byOrdinal[n]
		switch {
		case p == nil || p.leaving() || p.Metadata.Labels[revisionLabel] == update:
		case s.parallel() && !s.available(c, p):
			c.stopStateful(s, p)
		case spare > 0:
			c.stopStateful(s, p)
			spare--
		}
	}
}

func (c *Cluster) stopStateful(s *statefulSet, p *pod) {
	c.stop(p)
	c.record(kube.StatefulSets, &s.object, "statefulset-controller", "SuccessfulDelete", "delete Pod %s in StatefulSet %s successful", p.Metadata.Name, s.Metadata.Name)
}

func ordinal(p *pod) int {
	n, _ := strconv.Atoi(p.Metadata.Name[strings.LastIndexByte(p.Metadata.Name, '-')+1:]) // pods without an ordinal do not get here
	return n
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
