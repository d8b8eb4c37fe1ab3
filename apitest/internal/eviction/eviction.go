// Package eviction has the rules of kube-apiserver for the evictions of pods, which
// PodDisruptionBudgets limit.
package eviction

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/kube"
)

var budgets = kinds.Named("policy", "poddisruptionbudgets", "PodDisruptionBudget")

// budget is the part of a PodDisruptionBudget that an eviction needs.
type budget struct {
	Spec struct {
		Selector                   *columns.LabelSelector
		UnhealthyPodEvictionPolicy *string
	}
	Status struct {
		ObservedGeneration                                 int64
		DisruptionsAllowed, CurrentHealthy, DesiredHealthy int
		DisruptedPods                                      map[string]string
		Conditions                                         []map[string]any
	}
}

// Take takes one disruption from the budget of pod, or returns why it cannot. The
// caller holds the lock.
func Take(st *store.Store, pod *object.Object, dry bool) *kube.Status {
	var status struct {
		Phase      string
		Conditions columns.Conditions
	}
	raw, _ := pod.Field("status")
	columns.DecodeLenient(raw, &status)
	if status.Phase == "Succeeded" || status.Phase == "Failed" || status.Phase == "Pending" || pod.Meta.DeletionTimestamp != "" {
		return nil // it is not in use
	}
	t := st.Table(budgets)
	var found *object.Object
	var b budget
	for _, o := range t.Within(pod.Key.Namespace) {
		var is budget
		columns.DecodeLenient(o.Body, &is)
		if !is.covers(pod) {
			continue
		}
		if found != nil {
			return &kube.Status{Code: http.StatusInternalServerError,
				Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."}
		}
		found, b = o, is
	}
	if found == nil {
		return nil
	}
	if healthy := b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0; !status.Conditions.Holds("Ready") &&
		(healthy || columns.Or(b.Spec.UnhealthyPodEvictionPolicy, "") == "AlwaysAllow") {
		return nil
	}
	switch s := &b.Status; {
	case s.ObservedGeneration < found.Meta.Generation:
		return disruption(10, "The disruption budget %s is still being processed by the server.", found.Key.Name)
	case s.DisruptionsAllowed < 0:
		return forbiddenBudget(found.Key.Name, "pdb disruptions allowed is negative")
	case s.DisruptionsAllowed == 0:
		if s.CurrentHealthy > s.DesiredHealthy {
			return disruption(0, "The disruption budget %s does not allow evicting pods currently", found.Key.Name)
		}
		return disruption(0, "The disruption budget %s needs %d healthy pods and has %d currently", found.Key.Name, s.DesiredHealthy, s.CurrentHealthy)
	}
	if !dry {
		st.Commit(t, found.Key, b.after(found, pod.Key.Name))
	}
	return nil
}

// covers reports whether the budget selects pod. An empty selector selects all pods, a
// missing one none.
func (b *budget) covers(pod *object.Object) bool {
	text, ok := b.Spec.Selector.Format()
	if !ok || b.Spec.Selector == nil {
		return false
	}
	selector, err := kube.ParseSelector(text)
	return err == nil && (selector.Empty() || selector.Matches(pod.Meta.Labels))
}

// after returns the budget o, decoded as b, after the eviction of a pod.
func (b *budget) after(o *object.Object, pod string) *object.Object {
	next := &object.Object{Key: o.Key, Meta: o.Meta, Fields: o.Fields}
	raw, _ := o.Field("status")
	raw = object.SetAt(raw, "disruptionsAllowed", b.Status.DisruptionsAllowed-1)
	disrupted := maps.Clone(b.Status.DisruptedPods)
	if disrupted == nil {
		disrupted = make(map[string]string)
	}
	disrupted[pod] = object.Timestamp()
	raw = object.SetAt(raw, "disruptedPods", disrupted)
	if b.Status.DisruptionsAllowed == 1 {
		list := b.Status.Conditions
		for i, c := range list {
			if c["type"] == "DisruptionAllowed" {
				list = append(list[:i:i], list[i+1:]...)
				break
			}
		}
		list = append(list, map[string]any{"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "",
			"lastTransitionTime": object.Timestamp(), "observedGeneration": b.Status.ObservedGeneration})
		raw = object.SetAt(raw, "conditions", list)
	}
	next.SetField("status", json.RawMessage(raw), true)
	return next
}

// disruption is the 429 of an eviction that must wait.
func disruption(after int, format string, args ...any) *kube.Status {
	return &kube.Status{Code: http.StatusTooManyRequests, Reason: "TooManyRequests",
		Message: "Cannot evict pod as it would violate the pod's disruption budget.",
		Details: &kube.StatusDetails{RetryAfterSeconds: after, Causes: []kube.StatusCause{{Reason: "DisruptionBudget", Message: fmt.Sprintf(format, args...)}}}}
}

func forbiddenBudget(name, why string) *kube.Status {
	return &kube.Status{Code: http.StatusForbidden, Reason: "Forbidden",
		Message: fmt.Sprintf("poddisruptionbudgets.policy %q is forbidden: %s", name, why),
		Details: &kube.StatusDetails{Name: name, Group: "policy", Kind: "poddisruptionbudgets"}}
}
