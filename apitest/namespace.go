package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/listwatch/listwatch/apitest/schema"
	"github.com/listwatch/listwatch/kube"
)

// With Options.Namespaces a namespace must exist before anything is created in
// it, and deleting it deletes what is in it, as its controller does in a cluster.

// firstNamespaces are there from the start.
var firstNamespaces = [...]string{"default", "kube-node-lease", "kube-public", "kube-system"}

func (s *Server) addNamespaces() {
	for _, name := range firstNamespaces {
		if s.Get(kube.Namespaces, kube.Key{Name: name}) != nil {
			continue // it was saved
		}
		s.Put(kube.Namespaces, fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"kubernetes.io/metadata.name":%q}},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}`, name, name))
	}
}

// admitsNamespace says why o may not be created where it is to be. The caller holds mu.
func (st *store) admitsNamespace(res kube.Resource, o *object, options Options) *kube.Status {
	if !options.Namespaces || !res.Namespaced {
		return nil
	}
	ns := st.tables[kube.Namespaces.GroupResource()].objects[kube.Key{Name: o.meta.Namespace}]
	switch {
	case ns == nil:
		return statusNotFound(kube.Namespaces, o.meta.Namespace)
	case ns.meta.DeletionTimestamp != "":
		return &kube.Status{Code: http.StatusForbidden, Reason: "Forbidden",
			Message: fmt.Sprintf("%s %q is forbidden: unable to create new content in namespace %s because it is being terminated", res.GroupResource(), o.meta.Name, o.meta.Namespace),
			Details: &kube.StatusDetails{Name: o.meta.Name, Group: res.Group, Kind: res.Plural, Causes: []kube.StatusCause{{
				Reason: "NamespaceTerminating", Message: "namespace " + o.meta.Namespace + " is being terminated", Field: "metadata.namespace"}}}}
	}
	return nil
}

// setTerminating sets the phase of a namespace that is being deleted.
func setTerminating(o *object) {
	raw, _ := o.field("status")
	o.setField("status", setAt(raw, "phase", "Terminating"), true)
}

// emptying reports whether a namespace still waits for its spec.finalizers.
func emptying(res kube.Resource, o *object) bool {
	if res != kube.Namespaces {
		return false
	}
	finalizers, _ := o.lookup("spec.finalizers").([]any)
	return len(finalizers) > 0
}

// terminate marks a namespace as being deleted, deletes what is in it, and at
// last the namespace, unless finalizers hold up any of it. The caller holds mu.
func (st *store) terminate(t *table, ns *object) {
	if ns.meta.DeletionTimestamp == "" {
		marked := &object{key: ns.key, meta: ns.meta, fields: ns.fields}
		marked.meta.DeletionTimestamp = timestamp()
		setTerminating(marked)
		st.commit(t, ns.key, marked)
		ns = marked
	}
	left := false
	for _, other := range st.sortedTables() {
		if !other.info.Namespaced {
			continue
		}
		for _, o := range other.within(ns.key.Name) {
			if _, kept := st.remove(other, o, deletion{}); kept {
				left = true
			}
		}
	}
	if !left {
		done := &object{key: ns.key, meta: ns.meta, fields: ns.fields}
		done.setField("spec", json.RawMessage(`{}`), true)
		if len(done.meta.Finalizers) == 0 {
			st.commit(t, ns.key, nil)
			return
		}
		next := done.parts(t.info) // nobody owns spec.finalizers any more
		done.meta.ManagedFields, _ = t.info.typ().UpdateManaged(ns.parts(t.info), next, schema.Managed{Live: ns.meta.ManagedFields},
			schema.Write{Manager: "kube-controller-manager", Subresource: "finalize", Now: time.Now()})
		st.commit(t, ns.key, done)
	}
}

// settleNamespaces goes on with the namespaces that are being deleted. The caller
// holds mu.
func (st *store) settleNamespaces() {
	t := st.tables[kube.Namespaces.GroupResource()]
	if t == nil {
		return
	}
	for o := range t.sorted.all() {
		if ns := t.objects[o.key]; ns != nil && ns.meta.DeletionTimestamp != "" && emptying(t.info.Resource, ns) {
			st.terminate(t, ns)
		}
	}
}

// within returns the objects of a namespace.
func (t *table) within(namespace string) []*object {
	var list []*object
	for o := range t.sorted.from(kube.Key{Namespace: namespace}) {
		if o.key.Namespace != namespace {
			break
		}
		list = append(list, o)
	}
	return list
}
