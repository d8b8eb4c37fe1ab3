package store

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// With Options.Namespaces a namespace must exist before objects are created in it, and
// deleting it deletes its objects, as a cluster's controller does.

// admitsNamespace returns why o may not be created in its namespace. The caller holds
// the lock.
func (st *Store) admitsNamespace(res kube.Resource, o *object.Object) *kube.Status {
	if !st.options.Namespaces || !res.Namespaced {
		return nil
	}
	ns := st.tables[kube.Namespaces.GroupResource()].objects[kube.Key{Name: o.Meta.Namespace}]
	switch {
	case ns == nil:
		return wire.NotFound(kube.Namespaces, o.Meta.Namespace)
	case ns.Meta.DeletionTimestamp != "":
		return &kube.Status{Code: http.StatusForbidden, Reason: "Forbidden",
			Message: fmt.Sprintf("%s %q is forbidden: unable to create new content in namespace %s because it is being terminated", res.GroupResource(), o.Meta.Name, o.Meta.Namespace),
			Details: &kube.StatusDetails{Name: o.Meta.Name, Group: res.Group, Kind: res.Plural, Causes: []kube.StatusCause{{
				Reason: "NamespaceTerminating", Message: "namespace " + o.Meta.Namespace + " is being terminated", Field: "metadata.namespace"}}}}
	}
	return nil
}

// setTerminating sets the phase of a namespace that is being deleted.
func setTerminating(o *object.Object) {
	raw, _ := o.Field("status")
	o.SetField("status", object.SetAt(raw, "phase", "Terminating"), true)
}

// Emptying reports whether a namespace still waits for its spec.finalizers.
func Emptying(res kube.Resource, o *object.Object) bool {
	if res != kube.Namespaces {
		return false
	}
	finalizers, _ := o.Lookup("spec.finalizers").([]any)
	return len(finalizers) > 0
}

// terminate marks a namespace as being deleted, deletes its objects, and finally the
// namespace, unless finalizers keep any of them. The caller holds the lock.
func (st *Store) terminate(t *Table, ns *object.Object) {
	if ns.Meta.DeletionTimestamp == "" {
		marked := &object.Object{Key: ns.Key, Meta: ns.Meta, Fields: ns.Fields}
		marked.Meta.DeletionTimestamp = object.Timestamp()
		setTerminating(marked)
		st.Commit(t, ns.Key, marked)
		ns = marked
	}
	left := false
	for _, other := range st.sortedTables() {
		if !other.Info.Namespaced {
			continue
		}
		for _, o := range other.Within(ns.Key.Name) {
			if _, kept := st.Remove(other, o, Deletion{Policy: Background}); kept {
				left = true
			}
		}
	}
	if !left {
		done := &object.Object{Key: ns.Key, Meta: ns.Meta, Fields: ns.Fields}
		done.SetField("spec", json.RawMessage(`{}`), true)
		if len(done.Meta.Finalizers) == 0 {
			st.Commit(t, ns.Key, nil)
			return
		}
		next := done.Parts(t.Info) // no writer owns spec.finalizers any more
		done.Meta.ManagedFields, _ = t.Info.Type().UpdateManaged(ns.Parts(t.Info), next, schema.Managed{Live: ns.Meta.ManagedFields},
			schema.Write{Manager: "kube-controller-manager", Subresource: "finalize", Now: time.Now()})
		st.Commit(t, ns.Key, done)
	}
}

// settleNamespaces continues with the namespaces that are being deleted. The caller
// holds the lock.
func (st *Store) settleNamespaces() {
	t := st.tables[kube.Namespaces.GroupResource()]
	if t == nil {
		return
	}
	for o := range t.sorted.All() {
		if ns := t.objects[o.Key]; ns != nil && ns.Meta.DeletionTimestamp != "" && Emptying(t.Info.Resource, ns) {
			st.terminate(t, ns)
		}
	}
}

// Within returns the objects of a namespace.
func (t *Table) Within(namespace string) []*object.Object {
	var list []*object.Object
	for o := range t.sorted.from(kube.Key{Namespace: namespace}) {
		if o.Key.Namespace != namespace {
			break
		}
		list = append(list, o)
	}
	return list
}
