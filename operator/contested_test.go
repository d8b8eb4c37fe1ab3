package operator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Two programs with different desired states would write one child at full speed.
func TestContestedChild(t *testing.T) {
	run(t, func(w *world) {
		w.work = func(ctx context.Context, s shop) error {
			_, err := w.budgets.Apply(ctx, s, map[string]any{"spec": map[string]any{"minAvailable": len(s.Spec.Maps)}})
			return err
		}
		defer w.operate()()
		w.create(func(s *shop) { s.Spec.Maps = []string{"a"} })
		changeBack := func() {
			if _, err := client.Of[kube.Partial](w.client, budgets).Patch(w.Context(), x, client.MergePatch, `{"spec":{"minAvailable":7}}`); err != nil {
				w.Fatal(err)
			}
		}
		w.ForgetRequests()
		for range 600 {
			if strings.Contains(w.get(budgets), `"minAvailable":1`) {
				changeBack()
			}
			<-time.After(100 * time.Millisecond)
		}
		if n := len(w.writes()); n < 15 || n > 30 {
			t.Errorf("%d writes in a minute in which somebody always changes the child back, want 15 to 30", n)
		}
		<-time.After(6 * time.Second)
		w.has(budgets, `"minAvailable":1`)

		<-time.After(20 * time.Second)
		for range 4 { // as a person does
			changeBack()
			<-time.After(500 * time.Millisecond)
			w.has(budgets, `"minAvailable":1`)
		}
	})
}

// Nor is a child that is always deleted created at full speed, even where time stands still, as in
// this test while the deletion follows at once.
func TestContestedByDeletions(t *testing.T) {
	run(t, func(w *world) {
		w.work = func(ctx context.Context, s shop) error {
			_, err := w.budgets.Apply(ctx, s, map[string]any{"spec": map[string]any{"minAvailable": 1}})
			return err
		}
		defer w.operate()()
		w.create(nil)
		<-time.After(time.Minute)
		w.ForgetRequests()
		ctx, cancel := context.WithCancel(w.Context())
		over := make(chan struct{})
		go func() {
			defer close(over)
			for ev := range watch.New(client.Of[kube.Partial](w.client, budgets), watch.Options{}).Events(ctx) {
				if ev.Type == watch.Added {
					w.Delete(budgets, ev.Key)
				}
			}
		}()
		<-time.After(time.Minute)
		cancel()
		<-over
		if n := len(w.writes()); n < 15 || n > 30 {
			t.Errorf("%d writes in a minute in which somebody always deletes the child, want 15 to 30", n)
		}
		<-time.After(6 * time.Second)
		w.has(budgets, `"minAvailable":1`)
	})
}

// The pauses of several children do not add up.
func TestContestedChildren(t *testing.T) {
	run(t, func(w *world) {
		names := []string{"a", "b", "c"}
		var last time.Time
		var longest time.Duration
		w.work = func(ctx context.Context, s shop) error {
			if !last.IsZero() {
				longest = max(longest, time.Since(last))
			}
			last = time.Now()
			for _, name := range names {
				if _, err := w.maps.Apply(ctx, s, `{"metadata":{"name":"`+name+`"},"data":{"text":"ours"}}`); err != nil {
					return err
				}
			}
			return nil
		}
		w.create(nil)
		defer w.operate()()
		<-time.After(time.Second)
		for range 600 {
			for _, name := range names {
				if _, err := client.Of[kube.Partial](w.client, kube.ConfigMaps).Patch(w.Context(), kube.Key{Namespace: "a", Name: name}, client.MergePatch, `{"data":{"text":"theirs"}}`); err != nil {
					w.Fatal(err)
				}
			}
			<-time.After(100 * time.Millisecond)
		}
		if longest < 4*time.Second || longest > 6*time.Second {
			t.Errorf("the longest pause is %s, want 5s", longest)
		}
	})
}
