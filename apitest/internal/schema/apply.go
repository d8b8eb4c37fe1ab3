package schema

import (
	"errors"
	"maps"
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Write is the writer and the kind of a write.
type Write struct {
	Manager     string    // fieldManager, or the part of the User-Agent before "/"; default: "unknown"
	Subresource string    // "status"; empty: the object itself
	HasStatus   bool      // the resource has a status subresource: a write to the object does not own status
	Force       bool      // Apply only: take over fields of others instead of a conflict
	Now         time.Time // of the request
}

// Apply does a server-side apply: it returns live with config's fields set, and without
// those that w.Manager applied before and config lacks, with updated managedFields.
// live is nil if the object does not exist; then the result lacks the fields that a
// create adds. Neither is changed, and the result shares nothing with them. config is
// not pruned before: a field that t does not have is an error. The caller sets defaults
// of the result.
//
// The error is a *kube.Status: a conflict with other managers, 409 with a cause for
// each field, or the errors of config.
func (t *Type) Apply(live, config map[string]any, w Write) (map[string]any, error) {
	m, err := decodeManaged(managedOf(live))
	if err != nil {
		return nil, internal("failed to decode managed fields: %v", err)
	}
	if id := kindOf(config); id != t.id {
		return nil, badRequest("invalid object type: %v", id)
	}
	if managedOf(config) != nil {
		return nil, badRequest("metadata.managedFields must be nil")
	}
	patch, err := t.Typed().FromUnstructured(config)
	if err != nil {
		return nil, internal("failed to create typed patch object (%s): %v", whatIs(config), err)
	}
	plain := withoutManaged(live)
	was, err := t.typed(plain, typed.AllowDuplicates)
	if err != nil {
		return nil, internal("failed to create typed live object (%s): %v", whatIs(live), err)
	}
	if len(m.fields) == 0 && live != nil {
		before := w
		before.Manager = "before-first-apply"
		if err := t.update(nil, plain, m, before, known{}); err != nil {
			return nil, internal("failed to create manager for existing fields: %v", err)
		}
	}
	merged, err := t.merge(was, patch, m, w)
	if conflicts := (merge.Conflicts)(nil); errors.As(err, &conflicts) && w.Manager == kubectl {
		// What kubectl apply set, kubectl apply --server-side may take.
		if conflicts = t.without(conflicts, plain); len(conflicts) == 0 {
			w.Force = true
			merged, err = t.merge(was, patch, m, w)
		} else {
			err = conflicts
		}
	}
	if conflicts := (merge.Conflicts)(nil); errors.As(err, &conflicts) {
		return nil, conflict(conflicts)
	} else if err != nil {
		return nil, internal("%v", err)
	}
	if merged == nil { // nothing changed but, perhaps, the owners
		merged = Copy(plain)
	} else {
		m.times[w.id(t, opApply)] = w.now()
	}
	if w.Manager == kubectl {
		syncLastApplied(merged, config)
	}
	v, err := m.encode()
	if err != nil {
		return nil, internal("failed to encode managed fields: %v", err)
	}
	setManaged(merged, v)
	return merged, nil
}

// merge returns the merged object, nil if it is unchanged.
func (t *Type) merge(was, patch *typed.TypedValue, m *managed, w Write) (map[string]any, error) {
	id := w.id(t, opApply)
	version := fieldpath.APIVersion(t.id.apiVersion())
	is, fields, err := t.updater(w).Apply(was, patch, version, maps.Clone(m.fields), id, w.Force)
	if err != nil {
		return nil, err
	}
	m.fields = fields
	strip(m, id)
	if is == nil {
		return nil, nil
	}
	object, ok := Copy(is.AsValue().Unstructured()).(map[string]any)
	if !ok {
		return nil, errors.New("the merged object is not an object")
	}
	if t.builtIn {
		t.Prune(object) // of the nulls that complete added
	}
	return object, nil
}

func (w Write) id(t *Type, operation string) string {
	m := manager{w.Manager, operation, t.id.apiVersion(), w.Subresource}
	if m.Manager == "" {
		m.Manager = "unknown"
	}
	return m.id()
}

func (w Write) now() string { return w.Now.UTC().Format(time.RFC3339) }

// typed returns o, nil for a missing one, for structured-merge-diff.
func (t *Type) typed(o map[string]any, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	var v any = o
	if o == nil {
		v = map[string]any{}
	}
	if t.builtIn {
		v = complete(t.root, v)
	}
	return t.Typed().FromUnstructured(v, options...)
}
