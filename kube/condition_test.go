package kube_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

func TestSetCondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now().UTC()
		time.Sleep(90*time.Minute + time.Nanosecond)
		now := start.Add(90 * time.Minute) // whole seconds, as the API has them
		at := start.Add(time.Minute)
		was := []kube.Condition{
			{Type: "Ready", Status: kube.ConditionFalse, ObservedGeneration: 1, LastTransitionTime: start, Reason: "Starting", Message: "0 of 1"},
			{Type: "Synced", Status: kube.ConditionTrue, LastTransitionTime: start, Reason: "Synced"},
		}
		ready := func(status kube.ConditionStatus, since time.Time) kube.Condition {
			return kube.Condition{Type: "Ready", Status: status, ObservedGeneration: 2, LastTransitionTime: since, Reason: "R", Message: "m"}
		}
		degraded := kube.Condition{Type: "Degraded", Status: kube.ConditionUnknown, LastTransitionTime: now}
		for name, c := range map[string]struct {
			was  []kube.Condition
			set  kube.Condition
			want []kube.Condition
		}{
			"the same status keeps its time":   {was, ready(kube.ConditionFalse, at), []kube.Condition{ready(kube.ConditionFalse, start), was[1]}},
			"another status is from now":       {was, ready(kube.ConditionTrue, time.Time{}), []kube.Condition{ready(kube.ConditionTrue, now), was[1]}},
			"another status with its own time": {was, ready(kube.ConditionTrue, at), []kube.Condition{ready(kube.ConditionTrue, at), was[1]}},
			"a new type":                       {was, kube.Condition{Type: "Degraded", Status: kube.ConditionUnknown}, []kube.Condition{was[0], was[1], degraded}},
			"the first":                        {nil, kube.Condition{Type: "Degraded", Status: kube.ConditionUnknown}, []kube.Condition{degraded}},
		} {
			if diff := cmp.Diff(c.want, kube.SetCondition(c.was, c.set)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

func TestSetConditionDoesNotModifyWhatACacheShares(t *testing.T) {
	shared := append(make([]kube.Condition, 0, 4), kube.Condition{Type: "Ready", Status: kube.ConditionFalse})
	kube.SetCondition(shared, kube.Condition{Type: "Ready", Status: kube.ConditionTrue})
	kube.SetCondition(shared, kube.Condition{Type: "Synced", Status: kube.ConditionTrue})
	want := []kube.Condition{{Type: "Ready", Status: kube.ConditionFalse}, {}}
	if diff := cmp.Diff(want, shared[:2]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConditionOf(t *testing.T) {
	all := []kube.Condition{{Type: "A", Reason: "1"}, {Type: "B", Reason: "2"}}
	if c, ok := kube.ConditionOf(all, "B"); !ok || c != all[1] {
		t.Errorf("%+v, %v", c, ok)
	}
	if c, ok := kube.ConditionOf(all, "C"); ok || c != (kube.Condition{}) {
		t.Errorf("%+v, %v", c, ok)
	}
}
