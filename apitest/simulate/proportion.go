package simulate

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/listwatch/listwatch/kube"
)

// A set tells by its annotations the sizes that its Deployment had when the set was scaled
// last: the desired pods, and these with those that a rolling update may add.
const (
	desiredNote = "deployment.kubernetes.io/desired-replicas"
	maxNote     = "deployment.kubernetes.io/max-replicas"
)

// sizes returns the annotations of a set that is scaled now.
func (d *deployment) sizes() map[string]string {
	want, surge, _ := d.wants()
	return map[string]string{desiredNote: itoa(want), maxNote: itoa(want + surge)}
}

// size returns the number in an annotation of s; false if there is none.
func (s *replicaSet) size(note string) (int, bool) {
	n, err := strconv.ParseUint(s.Metadata.Annotations[note], 10, 31)
	if err != nil {
		return 0, false
	}
	return int(n), true
}

// isScaled reports whether the number of desired pods has changed since the sets were scaled.
func isScaled(sets []*replicaSet, want int) bool {
	return slices.ContainsFunc(sets, func(s *replicaSet) bool {
		n, ok := s.size(desiredNote)
		return ok && n != want && s.replicas() > 0
	})
}

// rescale applies a change of the number of desired pods, and does not continue a rollout.
// now is the set of the current template, of which that many pods are available; nil if a
// paused Deployment has none yet.
func (c *Cluster) rescale(d *deployment, sets []*replicaSet, now *replicaSet, available int) {
	want := orOne(d.Spec.Replicas)
	active := slices.DeleteFunc(slices.Clone(sets), func(s *replicaSet) bool { return s.replicas() == 0 })
	switch {
	case len(sets) == 0:
	case len(active) == 0:
		latest := now
		if latest == nil {
			latest = slices.MaxFunc(sets, byAge)
		}
		c.scale(d, latest, want)
	case len(active) == 1:
		c.scale(d, active[0], want)
	case now != nil && now.replicas() == want && available == want && !isScaled([]*replicaSet{now}, want):
		for _, s := range active {
			if s != now {
				c.scale(d, s, 0)
			}
		}
	case d.Spec.Strategy.Type != "Recreate":
		c.spread(d, active)
	}
}

// spread scales active sets in proportion to their sizes, so that a rollout is as far as it
// was. What rounding leaves goes to the largest set.
func (c *Cluster) spread(d *deployment, active []*replicaSet) {
	allowed, surge, _ := d.wants()
	if allowed > 0 {
		allowed += surge
	}
	left := allowed
	for _, s := range active {
		left -= s.replicas()
	}
	grows := left > 0
	slices.SortFunc(active, func(a, b *replicaSet) int {
		age := byAge(a, b)
		if grows {
			age = -age
		}
		return cmp.Or(cmp.Compare(b.replicas(), a.replicas()), age)
	})
	sizes := make([]int, len(active))
	for i, s := range active {
		share := s.share(allowed, d.Status.Replicas)
		switch {
		case left == 0:
			share = 0
		case grows:
			share = min(share, left)
		default:
			share = max(share, left)
		}
		sizes[i] = s.replicas() + share
		left -= share
	}
	sizes[0] = max(0, sizes[0]+left)
	for i, s := range active {
		c.resize(d, s, sizes[i])
	}
}

// share returns by how many pods s changes if its Deployment may have allowed pods, and has
// pods now.
func (s *replicaSet) share(allowed, pods int) int {
	if allowed == 0 {
		return -s.replicas()
	}
	before, _ := s.size(maxNote)
	if before = cmp.Or(before, pods); before <= 0 {
		return 0
	}
	return (2*s.replicas()*allowed+before)/(2*before) - s.replicas() // rounded
}

// byAge compares the times of creation, and else the names.
func byAge(a, b *replicaSet) int {
	return cmp.Or(cmp.Compare(a.Metadata.CreationTimestamp, b.Metadata.CreationTimestamp), a.key().Compare(b.key()))
}

// resize sets the number of desired pods of s, and the annotations of its sizes.
func (c *Cluster) resize(d *deployment, s *replicaSet, n int) bool {
	was := s.replicas()
	notes := map[string]string{}
	maps.Copy(notes, s.Metadata.Annotations)
	maps.Copy(notes, d.sizes())
	if was == n && maps.Equal(notes, s.Metadata.Annotations) {
		return true
	}
	f := fieldsOf(s.body)
	spec, meta := fieldsOf(f["spec"]), fieldsOf(f["metadata"])
	spec.set("replicas", n)
	meta.set("annotations", notes)
	f.set("spec", spec)
	f.set("metadata", meta)
	if !c.put(kube.ReplicaSets, &s.object, f) {
		return false
	}
	if was != n {
		how := "up"
		if n < was {
			how = "down"
		}
		c.record(kube.Deployments, &d.object, "deployment-controller", "ScalingReplicaSet", "Scaled %s replica set %s from %d to %d", how, s.Metadata.Name, was, n)
	}
	return true
}
