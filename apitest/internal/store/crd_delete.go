package store

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// The deletion of a CustomResourceDefinition first deletes its objects. While
// finalizers keep one of them, this finalizer keeps the definition.
const cleanup = "customresourcecleanup.apiextensions.k8s.io"

// retire deletes the objects of a definition that is to be deleted. If finalizers keep
// some, it marks the definition as being deleted and returns it; else nil. The caller
// holds the lock.
func (st *Store) retire(t *Table, definition *object.Object) (marked *object.Object) {
	kept, _ := resourcesOf(definition)
	if kept == nil {
		return nil
	}
	defined := st.tables[kept.GroupResource()]
	if defined == nil || !defined.defined {
		return nil
	}
	held := false
	for o := range defined.sorted.All() {
		held = held || len(o.Meta.Finalizers) > 0
	}
	if !held {
		return nil // they are deleted with it
	}
	marked = &object.Object{Key: definition.Key, Meta: definition.Meta, Fields: definition.Fields}
	marked.Meta.DeletionTimestamp = object.Timestamp()
	marked.Meta.Finalizers = append(slices.Clone(definition.Meta.Finalizers), cleanup)
	status, _ := definition.Field("status")
	var conditions []json.RawMessage
	columns.DecodeLenient(object.LookupJSON(status, "conditions"), &conditions)
	conditions = append(conditions, object.Marshal(map[string]string{"type": "Terminating", "status": "True", "lastTransitionTime": marked.Meta.DeletionTimestamp,
		"reason": "InstanceDeletionInProgress", "message": "CustomResource deletion is in progress"}))
	marked.SetField("status", object.SetAt(status, "conditions", conditions), true)
	st.Commit(t, marked.Key, marked)
	for o := range defined.sorted.All() { // as they were at the beginning
		st.Remove(defined, o, Deletion{})
	}
	return marked
}

// retired ends the deletion of the definition of t, whose last object was deleted. The
// caller holds the lock.
func (st *Store) retired(t *Table) {
	definitions := st.tables[kube.CustomResourceDefinitions.GroupResource()]
	key := kube.Key{Name: t.Info.GroupResource()}
	definition := definitions.objects[key]
	if definition == nil || definition.Meta.DeletionTimestamp == "" || !slices.Contains(definition.Meta.Finalizers, cleanup) {
		return
	}
	rest := slices.DeleteFunc(slices.Clone(definition.Meta.Finalizers), func(f string) bool { return f == cleanup })
	if len(rest) == 0 {
		st.Commit(definitions, key, nil)
		return
	}
	freed := &object.Object{Key: key, Meta: definition.Meta, Fields: definition.Fields}
	freed.Meta.Finalizers = rest
	st.Commit(definitions, key, freed)
}

// removed returns the answer to a request for a resource that was removed since the request was
// routed to t, also if it is served again; nil = it was not. The caller holds the lock.
func (st *Store) removed(t *Table) *kube.Status {
	if st.tables[t.Info.GroupResource()] == t {
		return nil
	}
	return &kube.Status{Code: http.StatusNotFound, Reason: "NotFound", Message: "the server could not find the requested resource", Details: &kube.StatusDetails{}}
}

// serves reports whether a version of a resource, for which a request was routed, is still
// served. The caller holds the lock.
func (st *Store) serves(form *object.Info) bool {
	t := st.tables[form.GroupResource()]
	return t != nil && t.form(form.Version) != nil
}

// Admits returns why o may not be created in t now, nil if it may. The caller holds the
// lock.
func (st *Store) Admits(t *Table, res kube.Resource, o *object.Object) *kube.Status {
	if gone := st.removed(t); gone != nil {
		return gone
	}
	if t.defined {
		definition := st.tables[kube.CustomResourceDefinitions.GroupResource()].objects[kube.Key{Name: t.Info.GroupResource()}]
		if definition != nil && definition.Meta.DeletionTimestamp != "" {
			what := res.GroupResource()
			if o.Meta.Name != "" { // it is generated later
				what += fmt.Sprintf(" %q", o.Meta.Name)
			}
			return &kube.Status{Code: http.StatusForbidden, Reason: "Forbidden",
				Message: what + " is forbidden: create not allowed while custom resource definition is terminating",
				Details: &kube.StatusDetails{Name: o.Meta.Name, Group: res.Group, Kind: res.Plural}}
		}
	}
	return st.admitsNamespace(res, o)
}
