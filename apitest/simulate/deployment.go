package simulate

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/kube"
)

type deployment struct {
	object
	Spec struct {
		Replicas         *int            `json:"replicas"`
		Paused           bool            `json:"paused"`
		MinReadySeconds  int             `json:"minReadySeconds"`
		ProgressDeadline *int            `json:"progressDeadlineSeconds"`
		HistoryLimit     *int            `json:"revisionHistoryLimit"`
		Selector         json.RawMessage `json:"selector"`
		Template         json.RawMessage `json:"template"`
		Strategy         struct {
			Type          string `json:"type"`
			RollingUpdate struct {
				MaxSurge       json.RawMessage `json:"maxSurge"`
				MaxUnavailable json.RawMessage `json:"maxUnavailable"`
			} `json:"rollingUpdate"`
		} `json:"strategy"`
	} `json:"spec"`
	Status deploymentStatus `json:"status"`
}

type deploymentStatus struct {
	ObservedGeneration  int64       `json:"observedGeneration,omitempty"`
	Replicas            int         `json:"replicas,omitempty"`
	UpdatedReplicas     int         `json:"updatedReplicas,omitempty"`
	ReadyReplicas       int         `json:"readyReplicas,omitempty"`
	AvailableReplicas   int         `json:"availableReplicas,omitempty"`
	UnavailableReplicas int         `json:"unavailableReplicas,omitempty"`
	TerminatingReplicas int         `json:"terminatingReplicas,omitempty"`
	Conditions          []condition `json:"conditions,omitempty"`
}

func (d *deployment) base() *object {
	if d == nil {
		return nil
	}
	return &d.object
}

const (
	hashLabel    = "pod-template-hash"
	late         = "ProgressDeadlineExceeded"
	revisionNote = "deployment.kubernetes.io/revision"
)

// syncDeployment moves the replica sets of d one step towards its template.
func (c *Cluster) syncDeployment(ctx context.Context, d *deployment) {
	want, surge, unavailable := d.wants()
	hash := hashOf(d.Spec.Template)
	sets := slices.SortedFunc(maps.Values(c.sets[d.Metadata.UID]), byAge)
	if len(sets) == 0 && d.Metadata.Annotations[revisionNote] == "" && !d.Spec.Paused {
		// This write makes the server set its defaults, if it has not yet: later that
		// would look like another template.
		c.patch(ctx, kube.Deployments, &d.object, map[string]any{"metadata": map[string]any{"annotations": map[string]any{revisionNote: "1"}}})
		return
	}
	i := slices.IndexFunc(sets, func(s *replicaSet) bool { return s.Metadata.Labels[hashLabel] == hash })
	me := task{kube.Deployments.Plural, d.key()}
	counts := map[*replicaSet]tally{}
	var all, spec tally // spec: desired pods of the sets; of these, available ones
	for _, s := range sets {
		n := c.count(c.podsOf(&s.object), d.Spec.MinReadySeconds, me)
		counts[s] = n
		all.total, all.ready, all.available, all.leaving = all.total+n.total, all.ready+n.ready, all.available+n.available, all.leaving+n.leaving
		spec.total += s.replicas()
		spec.available += min(n.available, s.replicas()) // the others are about to be stopped
	}
	old := sets
	var now *replicaSet
	if i >= 0 {
		now = sets[i]
		old = slices.Delete(slices.Clone(sets), i, i+1)
	}
	switch {
	case d.Spec.Paused || isScaled(sets, want):
		c.rescale(d, sets, now, counts[now].available)
	case d.Spec.Strategy.Type == "Recreate":
		for _, s := range old {
			c.scale(d, s, 0)
		}
		if spec.total == orZero(now) && all.total+all.leaving == counts[now].total+counts[now].leaving {
			c.grow(d, now, hash, want)
		}
	default:
		size := orZero(now)
		grown := min(want, size+max(0, want+surge-spec.total))
		if now == nil || size != grown {
			c.grow(d, now, hash, grown)
		}
		c.shrink(d, old, counts, spec.total-(want-unavailable)-max(0, size-counts[now].available), spec.available-(want-unavailable))
	}
	if d.Spec.Paused || isComplete(now, counts[now], all, want) {
		c.prune(d, old, counts)
	}
	if now != nil {
		c.number(ctx, d, now, old)
	}
	c.reportDeployment(ctx, d, now, want, unavailable, spec.total, all, counts[now])
}

// isComplete reports whether all pods are of the current template, whose set is now, and available.
func isComplete(now *replicaSet, updated, all tally, want int) bool {
	return now != nil && updated.total == want && all.total == want && all.available >= want
}

func orZero(s *replicaSet) int {
	if s == nil {
		return 0
	}
	return s.replicas()
}

// wants returns the number of desired pods, and how many additional and how many
// unavailable ones a rolling update may have.
func (d *deployment) wants() (replicas, surge, unavailable int) {
	replicas = orOne(d.Spec.Replicas)
	ru := d.Spec.Strategy.RollingUpdate
	surge = part(ru.MaxSurge, replicas, true)
	unavailable = min(part(ru.MaxUnavailable, replicas, false), replicas)
	if d.Spec.Strategy.Type == "Recreate" {
		return replicas, 0, 0
	}
	if surge == 0 && unavailable == 0 {
		unavailable = min(1, replicas)
	}
	return replicas, surge, unavailable
}

// part returns a number or a percentage of whole; default 25%.
func part(v json.RawMessage, whole int, up bool) int {
	s := strings.Trim(string(v), `"`)
	if s == "" || s == "null" {
		s = "25%"
	}
	number, percent := strings.CutSuffix(s, "%")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n < 0:
		return 0
	case !percent:
		return n
	case up:
		return (min(n, 1000)*whole + 99) / 100
	}
	return min(n, 1000) * whole / 100
}

// notes returns the annotations that the set of the current template has too, such as the
// change-cause of kubectl rollout history.
func (d *deployment) notes() map[string]string {
	notes := maps.Clone(d.Metadata.Annotations)
	for _, name := range []string{"kubectl.kubernetes.io/last-applied-configuration", revisionNote, desiredNote, maxNote} {
		delete(notes, name)
	}
	return notes
}

// grow scales the set of the current template to n.
func (c *Cluster) grow(d *deployment, now *replicaSet, hash string, n int) {
	if now != nil {
		c.scale(d, now, n)
		return
	}
	template := fieldsOf(d.Spec.Template)
	meta := fieldsOf(template["metadata"])
	var labels map[string]string
	_ = json.Unmarshal(meta["labels"], &labels) // it was decoded before
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[hashLabel] = hash
	meta.set("labels", labels)
	template.set("metadata", meta)
	selector := fieldsOf(d.Spec.Selector)
	match := map[string]string{}
	_ = json.Unmarshal(selector["matchLabels"], &match)
	match[hashLabel] = hash
	selector.set("matchLabels", match)
	notes := map[string]string{}
	maps.Copy(notes, d.notes())
	maps.Copy(notes, d.sizes())
	name := d.Metadata.Name + "-" + hash
	if !c.create(kube.ReplicaSets, kube.Key{Namespace: d.Metadata.Namespace, Name: name}, map[string]any{
		"metadata": metadata{Name: name, Namespace: d.Metadata.Namespace, Labels: labels, Annotations: notes, OwnerReferences: ownedBy(kube.Deployments, &d.object)},
		"spec":     map[string]any{"replicas": n, "minReadySeconds": d.Spec.MinReadySeconds, "selector": selector, "template": template},
	}) {
		c.orphaned = true // it may be of an earlier Deployment with this name
		c.later(c.now.Add(time.Second), task{kube.Deployments.Plural, d.key()})
	} else if n > 0 {
		c.record(kube.Deployments, &d.object, "deployment-controller", "ScalingReplicaSet", "Scaled up replica set %s from 0 to %d", name, n)
	}
}

// scale sets the number of desired pods of s.
func (c *Cluster) scale(d *deployment, s *replicaSet, n int) bool {
	return s.replicas() == n || c.resize(d, s, n)
}

// shrink takes pods from old sets: at most spare, and at most extra of the available
// ones.
func (c *Cluster) shrink(d *deployment, old []*replicaSet, counts map[*replicaSet]tally, spare, extra int) {
	for _, s := range old {
		n := counts[s]
		idle := max(0, s.replicas()-n.available)
		take := min(s.replicas(), max(0, spare), idle+max(0, extra))
		if take <= 0 {
			continue
		}
		if c.scale(d, s, s.replicas()-take) {
			spare -= take
			extra -= max(0, take-idle)
		}
	}
}

// prune deletes empty sets beyond the limit, oldest revisions first.
func (c *Cluster) prune(d *deployment, old []*replicaSet, counts map[*replicaSet]tally) {
	limit := 10
	if d.Spec.HistoryLimit != nil {
		limit = max(0, *d.Spec.HistoryLimit)
	}
	empty := slices.DeleteFunc(slices.Clone(old), func(s *replicaSet) bool {
		return s.replicas() > 0 || counts[s].total+counts[s].leaving > 0
	})
	slices.SortStableFunc(empty, func(a, b *replicaSet) int { return cmp.Compare(a.revision(), b.revision()) })
	for _, s := range empty[:max(0, len(empty)-limit)] {
		c.srv.Delete(kube.ReplicaSets, s.key())
	}
}

func (s *replicaSet) revision() int {
	n, _ := strconv.Atoi(s.Metadata.Annotations[revisionNote]) // 0 = none
	return n
}

// number gives the set of the current template the highest revision and the annotations of d, for
// kubectl rollout history and undo, and its minReadySeconds.
func (c *Cluster) number(ctx context.Context, d *deployment, now *replicaSet, old []*replicaSet) {
	highest := 0
	for _, s := range old {
		highest = max(highest, s.revision())
	}
	notes := map[string]string{}
	maps.Copy(notes, now.Metadata.Annotations)
	maps.Copy(notes, d.notes())
	if now.revision() <= highest {
		notes[revisionNote] = itoa(highest + 1)
	}
	if !maps.Equal(notes, now.Metadata.Annotations) || now.Spec.MinReadySeconds != d.Spec.MinReadySeconds {
		f := fieldsOf(now.body)
		meta, spec := fieldsOf(f["metadata"]), fieldsOf(f["spec"])
		meta.set("annotations", notes)
		spec.set("minReadySeconds", d.Spec.MinReadySeconds)
		f.set("metadata", meta)
		f.set("spec", spec)
		c.put(kube.ReplicaSets, &now.object, f)
		return // the rest follows when the cluster sees this change
	}
	if rev := now.Metadata.Annotations[revisionNote]; d.Metadata.Annotations[revisionNote] != rev {
		c.patch(ctx, kube.Deployments, &d.object, map[string]any{"metadata": map[string]any{"annotations": map[string]any{revisionNote: rev}}})
	}
}

// reportDeployment updates the status. desired is the sum of the desired pods of the sets.
func (c *Cluster) reportDeployment(ctx context.Context, d *deployment, now *replicaSet, want, unavailable, desired int, all, updated tally) {
	s := deploymentStatus{ObservedGeneration: d.Metadata.Generation, Replicas: all.total, UpdatedReplicas: updated.total,
		ReadyReplicas: all.ready, AvailableReplicas: all.available, UnavailableReplicas: max(0, desired-all.available), TerminatingReplicas: all.leaving}
	before := d.Status
	set := func(typ, status, reason, message string, moved bool) {
		old := find(before.Conditions, typ)
		n := condition{Type: typ, Status: status, Reason: reason, Message: message, LastUpdateTime: old.LastUpdateTime, LastTransitionTime: old.LastTransitionTime}
		if old.Status != status {
			n.LastTransitionTime = stamp(c.now)
		}
		if old.Status != status || old.Reason != reason || old.Message != message || moved {
			n.LastUpdateTime = stamp(c.now)
		}
		s.Conditions = append(s.Conditions, n)
	}
	if all.available >= want-unavailable {
		set("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", false)
	} else {
		set("Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.", false)
	}
	name := "of the new template"
	if now != nil {
		name = strconv.Quote(now.Metadata.Name)
	}
	progressing := find(before.Conditions, "Progressing")
	moved := s.UpdatedReplicas != before.UpdatedReplicas || s.Replicas != before.Replicas || s.ReadyReplicas != before.ReadyReplicas ||
		s.AvailableReplicas != before.AvailableReplicas || s.ObservedGeneration != before.ObservedGeneration
	switch deadline := c.deadline(d, progressing); {
	case d.Spec.Paused:
		set("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused", false)
	case isComplete(now, updated, all, want):
		set("Progressing", "True", "NewReplicaSetAvailable", "ReplicaSet "+name+" has successfully progressed.", false)
	case !moved && (progressing.Reason == late || !deadline.IsZero() && !deadline.After(c.now)):
		set("Progressing", "False", late, "ReplicaSet "+name+" has timed out progressing.", false)
	default:
		if !deadline.IsZero() {
			c.later(deadline, task{kube.Deployments.Plural, d.key()})
		}
		set("Progressing", "True", "ReplicaSetUpdated", "ReplicaSet "+name+" is progressing.", moved)
	}
	c.patchStatus(ctx, kube.Deployments, &d.object, s)
}

// deadline returns when d fails to make progress; zero if that is not known yet.
func (c *Cluster) deadline(d *deployment, progressing condition) time.Time {
	if progressing.Reason == "NewReplicaSetAvailable" || progressing.Reason == "DeploymentPaused" {
		return time.Time{}
	}
	since, err := time.Parse(time.RFC3339, progressing.LastUpdateTime)
	if err != nil {
		return time.Time{}
	}
	seconds := 600
	if d.Spec.ProgressDeadline != nil {
		seconds = max(1, *d.Spec.ProgressDeadline)
	}
	return since.Add(time.Duration(seconds) * time.Second)
}
