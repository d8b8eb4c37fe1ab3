package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/listwatch/listwatch/kube"
)

// deleteOptions is the body of a DELETE.
type deleteOptions struct {
	Kind          string `json:"kind"`
	APIVersion    string `json:"apiVersion"`
	Preconditions *struct {
		UID             *string `json:"uid"`
		ResourceVersion *string `json:"resourceVersion"`
	} `json:"preconditions"`
	DryRun            []string `json:"dryRun"`
	PropagationPolicy *string  `json:"propagationPolicy"`
	OrphanDependents  *bool    `json:"orphanDependents"`
}

// deletion is how objects are deleted.
type deletion struct {
	dry    bool
	policy string // Foreground, Orphan or Background; the collector ends the first two
}

func readDeletion(x *exchange) (o deleteOptions, d deletion, st *kube.Status) {
	b, _, st := readBody(x, typeJSON, typeYAML)
	if st != nil {
		return o, d, st
	}
	if len(b) == 0 { // the query counts only then
		o.DryRun = x.r.URL.Query()["dryRun"]
		if p := x.r.URL.Query().Get("propagationPolicy"); p != "" {
			o.PropagationPolicy = &p
		}
	} else if err := json.Unmarshal(b, &o); err != nil {
		return o, d, statusBadRequest("couldn't get version/kind; json parse error: %v", err)
	}
	if o.Kind != "" && o.Kind != "DeleteOptions" {
		return o, d, statusBadRequest("no kind %q is registered for version %q in scheme \"pkg/runtime/scheme.go:111\"", o.Kind, o.APIVersion)
	}
	if o.PropagationPolicy != nil {
		d.policy = *o.PropagationPolicy
	}
	var causes []kube.StatusCause
	if o.OrphanDependents != nil && o.PropagationPolicy != nil {
		causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid",
			Message: fmt.Sprintf("Invalid value: %q: orphanDependents and deletionPropagation cannot be both set", d.policy), Field: "propagationPolicy"})
	}
	switch d.policy {
	case "", "Background", "Foreground", "Orphan":
	default:
		causes = append(causes, kube.StatusCause{Reason: "FieldValueNotSupported",
			Message: fmt.Sprintf("Unsupported value: %q: supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"", d.policy), Field: "propagationPolicy"})
	}
	if causes = append(causes, checkDryRun(o.DryRun)...); len(causes) > 0 {
		return o, d, statusInvalid("meta.k8s.io", "DeleteOptions", "", causes...)
	}
	d.dry = len(o.DryRun) > 0
	if o.OrphanDependents != nil && *o.OrphanDependents {
		d.policy = "Orphan"
	}
	return o, d, nil
}

func (s *Server) delete(x *exchange, w http.ResponseWriter, v *view) *kube.Status {
	opts, d, st := readDeletion(x)
	if st != nil {
		return st
	}
	res, key := x.target.res, x.target.key
	c := &change{srv: s, ctx: x.r.Context(), target: x.target, user: s.username(x.r), options: writeOptions{verb: "delete", dry: d.dry}}
	last, kept, st := c.remove(opts, d)
	for _, text := range c.warnings {
		w.Header().Add("Warning", warning(text))
	}
	if st != nil {
		return st
	}
	if kept || x.target.info.returns {
		writeJSON(w, http.StatusOK, "application/json", append(v.object(last), '\n'))
		return nil
	}
	WriteStatus(w, &kube.Status{Details: &kube.StatusDetails{Name: key.Name, Group: res.Group, Kind: res.Plural, UID: last.meta.UID}})
	return nil
}

// remove deletes the object if the preconditions hold and admission has nothing
// against it.
func (c *change) remove(opts deleteOptions, d deletion) (last *object, kept bool, st *kube.Status) {
	s, t, key := c.srv.store, c.target.table, c.target.key
	for range attempts {
		s.mu.Lock()
		old := t.objects[key]
		s.mu.Unlock()
		if st := c.deletable(old, opts); st != nil {
			return nil, false, st
		}
		hooks := c.srv.admission(c, old, nil)
		if _, st := hooks.mutate(nil); st != nil {
			return nil, false, st
		}
		if st := hooks.validate(); st != nil {
			return nil, false, st
		}
		s.mu.Lock()
		if t.objects[key] == old {
			last, kept = s.remove(t, old, d)
			s.settle(c.srv.options)
			s.mu.Unlock()
			return last, kept, nil
		}
		s.mu.Unlock()
	}
	return nil, false, statusConflict(c.target.res, key.Name, modified)
}

// deletable checks the preconditions.
func (c *change) deletable(old *object, opts deleteOptions) *kube.Status {
	res := c.target.res
	if old == nil {
		return statusNotFound(res, c.target.key.Name)
	}
	if p := opts.Preconditions; p != nil {
		if p.UID != nil && *p.UID != old.meta.UID {
			return precondition(res, old.key.Name, "UID", *p.UID, old.meta.UID, "deleted and then recreated")
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != old.meta.ResourceVersion {
			return precondition(res, old.key.Name, "ResourceVersion", *p.ResourceVersion, old.meta.ResourceVersion, "modified")
		}
	}
	if c.srv.options.Namespaces && res == kube.Namespaces && slices.Contains(firstNamespaces[:], old.key.Name) {
		return &kube.Status{Code: http.StatusForbidden, Reason: "Forbidden",
			Message: fmt.Sprintf("namespaces %q is forbidden: this namespace may not be deleted", old.key.Name),
			Details: &kube.StatusDetails{Name: old.key.Name, Kind: res.Plural}}
	}
	return nil
}

// precondition is the 409 of a precondition of a DELETE; it names the kind
// where other answers name the resource.
func precondition(res kube.Resource, name, what, want, have, since string) *kube.Status {
	return &kube.Status{Code: http.StatusConflict, Reason: "Conflict",
		Message: fmt.Sprintf("Operation cannot be fulfilled on %s %q: the %s in the precondition (%s) does not match the %s in record (%s). "+
			"The object might have been %s", kube.Resource{Group: res.Group, Plural: res.Kind}.GroupResource(), name, what, want, what, have, since),
		Details: &kube.StatusDetails{Name: name, Group: res.Group, Kind: res.Kind}}
}

// remove deletes o, or, where finalizers keep it, marks it as being deleted.
// It returns the last state. The caller holds mu.
func (st *store) remove(t *table, o *object, d deletion) (last *object, kept bool) {
	finalizers := o.meta.Finalizers
	switch d.policy {
	case "Foreground":
		finalizers = with(finalizers, foreground)
	case "Orphan":
		finalizers = with(finalizers, orphan)
	}
	if len(finalizers) == 0 && !emptying(t.info.Resource, o) {
		if !d.dry {
			o = o.at(t.info, st.commit(t, o.key, nil))
		}
		return o, false
	}
	if o.meta.DeletionTimestamp != "" && len(finalizers) == len(o.meta.Finalizers) {
		return o, true
	}
	marked := &object{key: o.key, meta: o.meta, fields: o.fields, rv: o.rv}
	marked.meta.Finalizers = finalizers
	if o.meta.DeletionTimestamp == "" {
		marked.meta.DeletionTimestamp = timestamp()
		marked.meta.DeletionGracePeriodSeconds = new(int64(0))
		if t.info.counts(o) {
			marked.meta.Generation++
		}
	}
	if t.info.Resource == kube.Namespaces && emptying(t.info.Resource, o) {
		marked.meta.DeletionGracePeriodSeconds = nil
		marked.setField("status", json.RawMessage(`{"phase":"Terminating"}`), true)
	}
	if d.dry {
		marked.seal(t.info, o.rv)
		return marked, true
	}
	st.commit(t, o.key, marked)
	return marked, true
}

func with(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(slices.Clone(list), s)
}

// deleteCollection deletes what a LIST with the same options returns.
func (s *Server) deleteCollection(x *exchange, w http.ResponseWriter, q *query, v *view) *kube.Status {
	_, d, st := readDeletion(x)
	if st != nil {
		return st
	}
	if x.target.res.Namespaced && x.target.key.Namespace == "" {
		return statusMethod()
	}
	q.match, q.token = "", ""
	p, st := s.store.page(x.target.table, q, continueToken{})
	if st != nil {
		return st
	}
	s.removeAll(x, p, d)
	writeJSON(w, http.StatusOK, "application/json", v.list(p, false))
	return nil
}

// removeAll removes the objects of p that are still there. The answer has them as
// they were.
func (s *Server) removeAll(x *exchange, p *page, d deletion) {
	st, t := s.store, x.target.table
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, o := range p.objects {
		if current := t.objects[o.key]; current != nil {
			st.remove(t, current, d)
		}
	}
	st.settle(s.options)
}
