package compat_test

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// parentKind is a kind with a size and a status, for the controller of a story.
type parentKind struct {
	prepare  func(ctx context.Context, t *testing.T, s *server)
	empty    func() client.Object
	make     func(ns, name string, size int64) client.Object
	size     func(o client.Object) int64
	resize   func(o client.Object, size int64)
	observed func(o client.Object) int64
	observe  func(o client.Object, generation int64)
}

func managerStories() []story {
	return []story{
		{name: "Manager", play: func(t *testing.T, s *server) *transcript { return playManager(t, s, "manager", deployments) }},
		{name: "ManagerCustom", play: func(t *testing.T, s *server) *transcript { return playManager(t, s, "manager-custom", widgets) }},
	}
}

// deployments are typed and built in. Nobody but the story acts on them.
var deployments = parentKind{
	empty: func() client.Object { return &appsv1.Deployment{} },
	make: func(ns, name string, size int64) client.Object {
		replicas, labels := int32(size), map[string]string{"app": "compat"}
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels},
			Spec: appsv1.DeploymentSpec{
				Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.invalid/none"}}},
				},
			},
		}
	},
	size:     func(o client.Object) int64 { return int64(*o.(*appsv1.Deployment).Spec.Replicas) },
	resize:   func(o client.Object, size int64) { *o.(*appsv1.Deployment).Spec.Replicas = int32(size) },
	observed: func(o client.Object) int64 { return o.(*appsv1.Deployment).Status.ObservedGeneration },
	observe:  func(o client.Object, n int64) { o.(*appsv1.Deployment).Status.ObservedGeneration = n },
}

var widgetKind = schema.GroupVersionKind{Group: "compat.example.com", Version: "v1", Kind: "Widget"}

// widgets are custom and not typed.
var widgets = parentKind{
	prepare: func(ctx context.Context, t *testing.T, s *server) { defineWidgets(ctx, t, s) },
	empty: func() client.Object {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(widgetKind)
		return u
	},
	make: func(ns, name string, size int64) client.Object {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": size}}}
		u.SetGroupVersionKind(widgetKind)
		u.SetNamespace(ns)
		u.SetName(name)
		u.SetLabels(map[string]string{"app": "compat"})
		return u
	},
	size:   func(o client.Object) int64 { return number(o, "spec", "size") },
	resize: func(o client.Object, size int64) { setNumber(o, size, "spec", "size") },
	observed: func(o client.Object) int64 {
		return number(o, "status", "observedGeneration")
	},
	observe: func(o client.Object, n int64) { setNumber(o, n, "status", "observedGeneration") },
}

func number(o client.Object, path ...string) int64 {
	n, _, _ := unstructured.NestedInt64(o.(*unstructured.Unstructured).Object, path...)
	return n
}

func setNumber(o client.Object, n int64, path ...string) {
	if err := unstructured.SetNestedField(o.(*unstructured.Unstructured).Object, n, path...); err != nil {
		panic(err) // the path is one of ours
	}
}

// widgetDefinition is what a user would apply.
const widgetDefinition = `{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "widgets.compat.example.com"},
  "spec": {
    "group": "compat.example.com", "scope": "Namespaced",
    "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList", "shortNames": ["wd"], "categories": ["all"]},
    "versions": [{
      "name": "v1", "served": true, "storage": true,
      "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
      "additionalPrinterColumns": [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Observed", "type": "integer", "jsonPath": ".status.observedGeneration", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}],
      "schema": {"openAPIV3Schema": {"type": "object", "description": "Widget is a thing of a size.", "properties": {
        "spec": {"type": "object", "required": ["size"], "properties": {
          "size": {"type": "integer", "minimum": 0, "maximum": 100, "description": "Size is how large it is."},
          "colour": {"type": "string", "default": "blue", "enum": ["blue", "red"]},
          "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
            "type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "weight": {"type": "integer"}}}}}},
        "status": {"type": "object", "properties": {
          "observedGeneration": {"type": "integer"}, "size": {"type": "integer"},
          "conditions": {"type": "array", "items": {"type": "object", "properties": {
            "type": {"type": "string"}, "status": {"type": "string"}}}}}}}}}
    }]
  }
}`

// defineWidgets creates the CustomResourceDefinition and waits until it is
// established.
func defineWidgets(ctx context.Context, t *testing.T, s *server) {
	t.Helper()
	c, err := dynamic.NewForConfig(s.config(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	crds := c.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	var u unstructured.Unstructured
	if err := u.UnmarshalJSON([]byte(widgetDefinition)); err != nil {
		t.Fatal(err)
	}
	if _, err := crds.Create(ctx, &u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := crds.Delete(ctx, u.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	widgets := c.Resource(widgetKind.GroupVersion().WithResource("widgets"))
	if !eventually(ctx, func() bool {
		o, err := crds.Get(ctx, u.GetName(), metav1.GetOptions{})
		if err != nil {
			return false
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
				_, err := widgets.List(ctx, metav1.ListOptions{})
				return err == nil
			}
		}
		return false
	}) {
		t.Fatal("the CustomResourceDefinition was not established and served")
	}
}

func (u *user) lease() []string {
	l := &coordinationv1.Lease{}
	u.must(u.direct.Get(context.WithoutCancel(u.ctx), u.key("compat"), l))
	holder := "<none>"
	if l.Spec.HolderIdentity != nil {
		holder = *l.Spec.HolderIdentity
	}
	return []string{"holder " + holder}
}
