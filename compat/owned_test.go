package compat_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/apitest"
	ours "github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/manager"
)

// TestOwnedTypesOfKubernetes: the owner references of k8s.io/api types have another type
// than ours, and mean the same to Owns and ByOwner.
func TestOwnedTypesOfKubernetes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewInMemory(t)
		c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		pods := ours.New(client.Of[*corev1.Pod](c, kube.Pods), ours.Options[*corev1.Pod]{})
		owned := ours.ByOwner(pods.Store())
		var keys []kube.Key
		ctl := controller.New("sets", func(_ context.Context, k kube.Key) (controller.Result, error) {
			keys = append(keys, k)
			return controller.Result{}, nil
		}, controller.Options[kube.Key]{})
		controller.Owns(ctl, kube.ReplicaSets, pods)
		m := manager.New(manager.Options{})
		m.Add(pods, ctl)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- m.Run(ctx) }()

		writes := client.Of[*corev1.Pod](c, kube.Pods)
		create := func(name string, refs ...metav1.OwnerReference) {
			_, err := writes.Create(ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, OwnerReferences: refs},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "1"}}
		create("x", *metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet")))
		create("y", metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "other", UID: "1"})
		create("z")
		child := kube.Meta{Namespace: "a", Name: "c"}
		if err := child.SetControllerReference(kube.ReplicaSets, set); err != nil || child.OwnerReferences[0].UID != "1" {
			t.Errorf("an owner of their type: %+v, %v", child.OwnerReferences, err)
		}
		if diff := cmp.Diff([]kube.Key{{Namespace: "a", Name: "web"}}, keys); diff != "" {
			t.Errorf("keys of owners (-want +got):\n%s", diff)
		}
		of := owned.Keys("1")
		slices.SortFunc(of, kube.Key.Compare)
		if diff := cmp.Diff([]kube.Key{{Namespace: "a", Name: "x"}, {Namespace: "a", Name: "y"}}, of); diff != "" {
			t.Errorf("objects of the owner (-want +got):\n%s", diff)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
