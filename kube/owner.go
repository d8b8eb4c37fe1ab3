package kube

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/listwatch/listwatch/internal/uid"
)

// OwnedError reports that an object is already controlled by another one.
type OwnedError struct {
	Key   Key            // of the object
	Owner OwnerReference // its controller
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("%s is already controlled by %s %s", e.Key, e.Owner.Kind, e.Owner.Name)
}

// NewControllerReference returns a reference that makes owner, an object of r, the
// controller of the dependent. A foreground deletion of the owner waits for the
// dependent. owner may be of any type with a UID, such as *corev1.Pod.
func NewControllerReference(r Resource, owner Object) OwnerReference {
	yes := true
	return OwnerReference{
		APIVersion: r.APIVersion(), Kind: r.Kind, Name: owner.GetName(), UID: uidOf(owner),
		Controller: &yes, BlockOwnerDeletion: &yes,
	}
}

// uidOf returns the UID of an object; empty if it has none. The method GetUID of Kubernetes'
// own types returns a string of another type, so their field is read.
func uidOf(o Object) string {
	if id, ok := uid.Of(&o); ok {
		return id
	}
	if v := reflect.Indirect(reflect.ValueOf(o)); v.Kind() == reflect.Struct {
		if f := v.FieldByName("UID"); f.Kind() == reflect.String {
			return f.String()
		}
	}
	return ""
}

// OwnerReferencesOf returns a function that converts owner references of type R: those of
// this package, which it returns as they are, and metav1.OwnerReference, or any other
// struct with the same fields. It panics for another R.
func OwnerReferencesOf[R any]() func([]R) []OwnerReference {
	same := func(refs []OwnerReference) []OwnerReference { return refs }
	if f, ok := any(same).(func([]R) []OwnerReference); ok {
		return f
	}
	to, from := reflect.TypeFor[OwnerReference](), reflect.TypeFor[R]()
	var fields [][]int // of R, in the order of those of OwnerReference
	for i := range to.NumField() {
		f, ok := from.FieldByName(to.Field(i).Name)
		if !ok || !f.Type.ConvertibleTo(to.Field(i).Type) {
			panic(fmt.Sprintf("kube: %s is no owner reference: field %s", from, to.Field(i).Name))
		}
		fields = append(fields, f.Index)
	}
	return func(refs []R) []OwnerReference {
		out := make([]OwnerReference, len(refs))
		for i := range refs {
			was, o := reflect.ValueOf(&refs[i]).Elem(), reflect.ValueOf(&out[i]).Elem()
			for k, index := range fields {
				o.Field(k).Set(was.FieldByIndex(index).Convert(o.Field(k).Type()))
			}
		}
		return out
	}
}

// ControllerOf returns the reference to the controller among refs.
func ControllerOf(refs []OwnerReference) (OwnerReference, bool) {
	i := slices.IndexFunc(refs, func(r OwnerReference) bool { return r.Controller != nil && *r.Controller })
	if i < 0 {
		return OwnerReference{}, false
	}
	return refs[i], true
}

// SetControllerReference makes owner, an object of r, the controller of the object: when
// the owner is deleted, the garbage collector deletes the object. It fails with an
// *[OwnedError] if another object is the controller. It also fails if the owner has no
// name or UID, or is in another namespace: the garbage collector treats an owner in
// another namespace as deleted. See
// https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/.
func (m *Meta) SetControllerReference(r Resource, owner Object) error {
	if uidOf(owner) == "" || owner.GetName() == "" {
		return fmt.Errorf("own %s: the owner has no name or no UID: it must be an object that the server stored", m.key())
	}
	if ns := owner.GetNamespace(); r.Namespaced && ns != m.Namespace {
		return fmt.Errorf("own %s: the owner %s is in namespace %q: an owner is in the same namespace, or cluster scoped", m.key(), owner.GetName(), ns)
	}
	ref := NewControllerReference(r, owner)
	if was, ok := ControllerOf(m.OwnerReferences); ok && was.UID != ref.UID {
		return &OwnedError{Key: m.key(), Owner: was}
	}
	refs := slices.Clone(m.OwnerReferences) // the object may be shared with a cache
	if i := slices.IndexFunc(refs, func(o OwnerReference) bool { return o.UID == ref.UID }); i >= 0 {
		refs[i] = ref
	} else {
		refs = append(refs, ref)
	}
	m.OwnerReferences = refs
	return nil
}

func (m *Meta) key() Key { return Key{m.Namespace, m.Name} }

// HasFinalizer reports whether the object has the finalizer: the server keeps a deleted
// object until it has none. See
// https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/.
func (m *Meta) HasFinalizer(name string) bool { return slices.Contains(m.Finalizers, name) }

// AddFinalizer adds the finalizer and reports whether that changed anything. Write the
// object before you create anything that the finalizer cleans up. AddFinalizer does not
// change an object that is being deleted.
func (m *Meta) AddFinalizer(name string) bool {
	if m.DeletionTimestamp != nil || m.HasFinalizer(name) {
		return false
	}
	m.Finalizers = append(slices.Clone(m.Finalizers), name)
	return true
}

// RemoveFinalizer removes the finalizer and reports whether that changed anything.
func (m *Meta) RemoveFinalizer(name string) bool {
	if !m.HasFinalizer(name) {
		return false
	}
	m.Finalizers = slices.DeleteFunc(slices.Clone(m.Finalizers), func(f string) bool { return f == name })
	return true
}
