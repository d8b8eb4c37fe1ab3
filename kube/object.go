package kube

import (
	"fmt"
	"strings"
	"time"

	"github.com/listwatch/listwatch/internal/clip"
)

// Object is the interface of all objects. The generated getters of Kubernetes' own
// types implement it, so *corev1.Pod can be used without importing it here.
type Object interface {
	GetNamespace() string
	GetName() string
	GetResourceVersion() string
}

// Key names an object within one resource. Namespace is empty for cluster scoped
// objects. A Key does not contain the UID: an object that is deleted and created again
// has the same Key and another UID.
type Key struct {
	Namespace string
	Name      string
}

// KeyOf returns the key of o.
func KeyOf[T Object](o T) Key { return Key{o.GetNamespace(), o.GetName()} }

// ParseKey parses "name" or "namespace/name", the form of String.
func ParseKey(s string) (Key, error) {
	ns, name, found := strings.Cut(s, "/")
	if !found {
		ns, name = "", s
	}
	if name == "" || found && ns == "" || strings.Contains(name, "/") {
		return Key{}, fmt.Errorf("parse key %q: want name or namespace/name", clip.Text(s, 200))
	}
	return Key{ns, name}, nil
}

// String returns "namespace/name", or "name" without a namespace.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Compare orders keys as a LIST of kube-apiserver does: by the text "namespace/name". The
// namespace a-b is therefore before a, since - is before /.
func (k Key) Compare(o Key) int {
	if k.Namespace == o.Namespace {
		return strings.Compare(k.Name, o.Name)
	}
	n := min(len(k.Namespace), len(o.Namespace))
	if c := strings.Compare(k.Namespace[:n], o.Namespace[:n]); c != 0 {
		return c
	}
	if n < len(k.Namespace) && k.Namespace[n] > '/' || n < len(o.Namespace) && o.Namespace[n] < '/' {
		return 1
	}
	return -1
}

// Meta is an object's metadata, to be embedded:
//
//	type Foo struct {
//		kube.Meta `json:"metadata"`
//		Spec      FooSpec
//	}
//
// It has no managedFields, which few programs read and which are often half of an
// object. Its strings may share one allocation of a few KB: use strings.Clone for a
// string that is kept longer than the others. See
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/.
type Meta struct {
	Name                       string            `json:"name,omitempty"`
	GenerateName               string            `json:"generateName,omitempty"`
	Namespace                  string            `json:"namespace,omitempty"`
	UID                        string            `json:"uid,omitempty"`
	ResourceVersion            string            `json:"resourceVersion,omitempty"`
	Generation                 int64             `json:"generation,omitempty"`
	CreationTimestamp          time.Time         `json:"creationTimestamp,omitzero"`
	DeletionTimestamp          *time.Time        `json:"deletionTimestamp,omitempty"`
	DeletionGracePeriodSeconds *int64            `json:"deletionGracePeriodSeconds,omitempty"`
	Labels                     map[string]string `json:"labels,omitempty"`
	Annotations                map[string]string `json:"annotations,omitempty"`
	OwnerReferences            []OwnerReference  `json:"ownerReferences,omitempty"`
	Finalizers                 []string          `json:"finalizers,omitempty"`
}

// GetNamespace returns the namespace, empty for cluster scoped objects.
func (m Meta) GetNamespace() string { return m.Namespace }

// GetName returns the name.
func (m Meta) GetName() string { return m.Name }

// GetResourceVersion returns the opaque resource version.
func (m Meta) GetResourceVersion() string { return m.ResourceVersion }

// GetUID returns the UID, which no other object, past or future, has.
func (m Meta) GetUID() string { return m.UID }

// GetLabels returns the labels. They are shared with m.
func (m Meta) GetLabels() map[string]string { return m.Labels }

// GetAnnotations returns the annotations. They are shared with m.
func (m Meta) GetAnnotations() map[string]string { return m.Annotations }

// GetGeneration returns the generation, which the server increments at each change of the
// desired state; 0 for resources without generations.
func (m Meta) GetGeneration() int64 { return m.Generation }

// GetOwnerReferences returns the owner references. They are shared with m.
func (m Meta) GetOwnerReferences() []OwnerReference { return m.OwnerReferences }

// OwnerReference points from a dependent to its owner, in the same namespace or
// cluster scoped. See
// https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/.
type OwnerReference struct {
	APIVersion         string `json:"apiVersion"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	UID                string `json:"uid"`
	Controller         *bool  `json:"controller,omitempty"`
	BlockOwnerDeletion *bool  `json:"blockOwnerDeletion,omitempty"`
}

// Partial is an object of any resource, reduced to its metadata. A collection of
// Partial requests PartialObjectMetadata, so that spec and status are not sent.
type Partial struct {
	Meta `json:"metadata"`
}
