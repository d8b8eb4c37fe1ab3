package cache

import (
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// Labeled is an object with labels: Kubernetes' own types, types that embed kube.Meta,
// and codec.Raw.
type Labeled interface {
	kube.Object
	GetLabels() map[string]string
}

// Owned is an object with owner references of type R, which callers need not name: types
// that embed kube.Meta, codec.Raw, and Kubernetes' own types, whose references are
// metav1.OwnerReference.
type Owned[R any] interface {
	kube.Object
	GetOwnerReferences() []R
}

// ByNamespace adds an index by namespace. Select and List use it until it is closed.
func ByNamespace[T kube.Object](s *Store[T]) *Index[T, string] {
	f := func(o T) (string, bool) { return o.GetNamespace(), true }
	return newIndex(s, one(f), true)
}

// ByLabel adds an index by the value of a label. Objects without the label are not in it.
func ByLabel[T Labeled](s *Store[T], label string) *Index[T, string] {
	if f, ok := any(codec.Raw.Label).(func(T, string) (string, bool)); ok {
		return By(s, func(o T) (string, bool) { return f(o, label) }) // does not allocate
	}
	return By(s, func(o T) (string, bool) {
		v, ok := o.GetLabels()[label]
		return v, ok
	})
}

// ByOwner adds an index by the UIDs of the owners, see
// https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/.
func ByOwner[T Owned[R], R any](s *Store[T]) *Index[T, string] {
	owners := kube.OwnerReferencesOf[R]()
	values := func(dst []string, o T) []string {
		for _, r := range owners(o.GetOwnerReferences()) {
			dst = append(dst, r.UID)
		}
		return dst
	}
	return newIndex(s, values, false)
}

// MatchLabels returns a function for Select, List and HandleSelected that reports
// whether sel selects an object.
func MatchLabels[T Labeled](sel kube.Selector) func(T) bool {
	if label, ok := any(codec.Raw.Label).(func(T, string) (string, bool)); ok { // does not allocate
		return func(o T) bool {
			return sel.MatchesFunc(func(key string) (string, bool) { return label(o, key) })
		}
	}
	return func(o T) bool { return sel.Empty() || sel.Matches(o.GetLabels()) }
}
