package kube_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

func TestSetControllerReference(t *testing.T) {
	owner := kube.Partial{Meta: kube.Meta{Namespace: "a", Name: "web", UID: "1"}}
	child := kube.Meta{Namespace: "a", Name: "web-1", OwnerReferences: []kube.OwnerReference{{Kind: "Other", UID: "9"}}}
	shared := child.OwnerReferences
	for range 2 { // the second time changes nothing
		if err := child.SetControllerReference(kube.Deployments, owner); err != nil {
			t.Fatal(err)
		}
	}
	yes := true
	want := []kube.OwnerReference{
		{Kind: "Other", UID: "9"},
		{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "1", Controller: &yes, BlockOwnerDeletion: &yes},
	}
	if diff := cmp.Diff(want, child.OwnerReferences); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(shared) != 1 {
		t.Error("the slice that was there has changed")
	}
	if ref, ok := kube.ControllerOf(child.OwnerReferences); !ok || ref.Name != "web" {
		t.Errorf("controller %+v, %v", ref, ok)
	}
}

func TestSetControllerReferenceRefuses(t *testing.T) {
	yes := true
	for name, c := range map[string]struct {
		child kube.Meta
		owner kube.Meta
		want  string
	}{
		"another controller": {kube.Meta{Namespace: "a", Name: "c", OwnerReferences: []kube.OwnerReference{{Kind: "Foo", Name: "x", UID: "2", Controller: &yes}}},
			kube.Meta{Namespace: "a", Name: "web", UID: "1"}, "a/c is already controlled by Foo x"},
		"another namespace": {kube.Meta{Namespace: "b", Name: "c"}, kube.Meta{Namespace: "a", Name: "web", UID: "1"}, `in namespace "a"`},
		"no UID":            {kube.Meta{Namespace: "a", Name: "c"}, kube.Meta{Namespace: "a", Name: "web"}, "no UID"},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(c.child.OwnerReferences)
			err := c.child.SetControllerReference(kube.Deployments, c.owner)
			if err == nil || !strings.Contains(err.Error(), c.want) || len(c.child.OwnerReferences) != before {
				t.Errorf("error: %v", err)
			}
			var owned *kube.OwnedError
			if errors.As(err, &owned) != (name == "another controller") {
				t.Errorf("error of type %T", err)
			}
		})
	}
}

// typed is an object as Kubernetes' own types are: its UID is no string.
type typed struct{ meta }

type meta struct {
	Namespace, Name string
	UID             uid
}

func (m *meta) GetNamespace() string       { return m.Namespace }
func (m *meta) GetName() string            { return m.Name }
func (m *meta) GetResourceVersion() string { return "1" }
func (m *meta) GetUID() uid                { return m.UID }

func TestOwnerOfATypeOfKubernetes(t *testing.T) {
	child := kube.Meta{Namespace: "a", Name: "web-1"}
	if err := child.SetControllerReference(kube.Pods, &typed{meta{"a", "web", "1"}}); err != nil {
		t.Fatal(err)
	}
	if ref, _ := kube.ControllerOf(child.OwnerReferences); ref.UID != "1" || ref.Name != "web" || ref.Kind != "Pod" {
		t.Errorf("reference %+v", ref)
	}
	if err := child.SetControllerReference(kube.Pods, &typed{meta{"a", "web", ""}}); err == nil || !strings.Contains(err.Error(), "no UID") {
		t.Errorf("an owner without UID: %v", err)
	}
}

func TestFinalizers(t *testing.T) {
	shared := append(make([]string, 0, 4), "x")
	m := kube.Meta{Finalizers: shared}
	if !m.AddFinalizer("f") || m.AddFinalizer("f") || !m.HasFinalizer("f") {
		t.Error("f is not added once")
	}
	if diff := cmp.Diff([]string{"x", ""}, shared[:2]); diff != "" {
		t.Errorf("the slice that was there (-want +got):\n%s", diff)
	}
	if !m.RemoveFinalizer("f") || m.RemoveFinalizer("f") || m.HasFinalizer("f") || !m.HasFinalizer("x") {
		t.Error("f is not removed once")
	}
}

// uid is how Kubernetes' own types name a UID.
type uid string

// otherReference has the fields of metav1.OwnerReference.
type otherReference struct {
	APIVersion, Kind, Name         string
	UID                            uid
	Controller, BlockOwnerDeletion *bool
}

func TestOwnerReferencesOf(t *testing.T) {
	yes, no := true, false
	want := []kube.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "x", UID: "1", Controller: &yes, BlockOwnerDeletion: &no}, {Kind: "Foo", UID: "2"}}
	got := kube.OwnerReferencesOf[otherReference]()([]otherReference{{"v1", "Pod", "x", "1", &yes, &no}, {Kind: "Foo", UID: "2"}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if same := kube.OwnerReferencesOf[kube.OwnerReference]()(want); &same[0] != &want[0] {
		t.Error("references of this package are copied")
	}
	defer func() {
		if recover() == nil {
			t.Error("a type without the fields is accepted")
		}
	}()
	kube.OwnerReferencesOf[struct{ Name string }]()
}
