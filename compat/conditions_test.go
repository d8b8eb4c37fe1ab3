package compat_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/kube"
)

// TestConditionsAreSetAsByApimachinery sets random conditions by kube.SetCondition and
// by meta.SetStatusCondition, and compares their JSON.
func TestConditionsAreSetAsByApimachinery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(50) {
			r := rand.New(rand.NewPCG(seed, 1))
			pick := func(all ...string) string { return all[r.IntN(len(all))] }
			var theirs []metav1.Condition
			var ours []kube.Condition
			for range 20 {
				time.Sleep(time.Duration(r.IntN(5000)) * time.Millisecond)
				c := metav1.Condition{
					Type: pick("Ready", "Synced", "Degraded"), Status: metav1.ConditionStatus(pick("True", "False", "Unknown")),
					ObservedGeneration: int64(r.IntN(3)), Reason: pick("A", "B"), Message: pick("", "m"),
				}
				if r.IntN(4) == 0 {
					c.LastTransitionTime = metav1.NewTime(time.Unix(int64(r.IntN(1000)), 0))
				}
				meta.SetStatusCondition(&theirs, c)
				ours = kube.SetCondition(ours, kube.Condition{
					Type: c.Type, Status: kube.ConditionStatus(c.Status), ObservedGeneration: c.ObservedGeneration,
					LastTransitionTime: c.LastTransitionTime.UTC(), Reason: c.Reason, Message: c.Message,
				})
				want, _ := json.Marshal(theirs)
				if got, _ := json.Marshal(ours); string(got) != string(want) {
					t.Fatalf("seed %d (-apimachinery +listwatch):\n%s", seed, cmp.Diff(string(want), string(got)))
				}
			}
		}
	})
}
