package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/listwatch/listwatch/kube"
)

// deleteOptions is the body of a DELETE.
type deleteOptions struct {
	Preconditions *struct {
		UID             *string `json:"uid"`
		ResourceVersion *string `json:"resourceVersion"`
	} `json:"preconditions"`
	DryRun []string `json:"dryRun"`
}

func readDeleteOptions(x *exchange) (o deleteOptions, st *kube.Status) {
	b, st := readBody(x)
	if st != nil {
		return o, st
	}
	if len(b) > 0 {
		if err := json.Unmarshal(b, &o); err != nil {
			return o, statusBadRequest("couldn't get version/kind; json parse error: %v", err)
		}
	}
	dry, st := dryRun(x, "DeleteOptions")
	if dry {
		o.DryRun = []string{"All"}
	}
	return o, st
}

func (s *Server) delete(x *exchange, w http.ResponseWriter, v *view) *kube.Status {
	opts, st := readDeleteOptions(x)
	if st != nil {
		return st
	}
	res, key := x.target.res, x.target.key
	last, kept, st := s.store.deleteIf(x.target.table, key, opts)
	if st != nil {
		return st
	}
	if kept || x.target.table.info.returns {
		writeJSON(w, http.StatusOK, "application/json", append(v.object(last), '\n'))
		return nil
	}
	WriteStatus(w, &kube.Status{Details: &kube.StatusDetails{Name: key.Name, Group: res.Group, Kind: res.Plural, UID: last.meta.UID}})
	return nil
}

// deleteIf removes an object if the preconditions hold.
func (st *store) deleteIf(t *table, key kube.Key, opts deleteOptions) (*object, bool, *kube.Status) {
	st.mu.Lock()
	defer st.mu.Unlock()
	res, old := t.info.Resource, t.objects[key]
	if old == nil {
		return nil, false, statusNotFound(res, key.Name)
	}
	if p := opts.Preconditions; p != nil {
		if p.UID != nil && *p.UID != old.meta.UID {
			return nil, false, precondition(res, key.Name, "UID", *p.UID, old.meta.UID, "deleted and then recreated")
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != old.meta.ResourceVersion {
			return nil, false, precondition(res, key.Name, "ResourceVersion", *p.ResourceVersion, old.meta.ResourceVersion, "modified")
		}
	}
	last, kept := st.remove(t, old, len(opts.DryRun) > 0)
	return last, kept, nil
}

// precondition is the 409 of a precondition of a DELETE; it names the kind
// where other answers name the resource.
func precondition(res kube.Resource, name, what, want, have, since string) *kube.Status {
	return &kube.Status{Code: http.StatusConflict, Reason: "Conflict",
		Message: fmt.Sprintf("Operation cannot be fulfilled on %s %q: the %s in the precondition (%s) does not match the %s in record (%s). "+
			"The object might have been %s", res.Kind, name, what, want, what, have, since),
		Details: &kube.StatusDetails{Name: name, Group: res.Group, Kind: res.Kind}}
}

// remove deletes o, or, where finalizers keep it, marks it as being deleted.
// It returns the last state.
func (st *store) remove(t *table, o *object, dry bool) (last *object, kept bool) {
	if len(o.meta.Finalizers) == 0 {
		if !dry {
			o = o.at(t.info, st.commit(t, o.key, nil))
		}
		return o, false
	}
	if o.meta.DeletionTimestamp != "" {
		return o, true
	}
	marked := *o
	marked.meta.DeletionTimestamp = timestamp()
	marked.meta.DeletionGracePeriodSeconds = new(int64(0))
	if t.info.counts(o) {
		marked.meta.Generation++
	}
	st.write(t, &marked, dry)
	return &marked, true
}

// deleteCollection deletes what a LIST with the same options returns.
func (s *Server) deleteCollection(x *exchange, w http.ResponseWriter, q *query, v *view) *kube.Status {
	opts, st := readDeleteOptions(x)
	if st != nil {
		return st
	}
	if x.target.res.Namespaced && x.target.key.Namespace == "" {
		return statusMethod()
	}
	q.limit, q.match, q.token = 0, "", ""
	p, st := s.store.page(x.target.table, q, continueToken{})
	if st != nil {
		return st
	}
	s.store.removeAll(x.target.table, p, len(opts.DryRun) > 0)
	writeJSON(w, http.StatusOK, "application/json", v.list(p, false))
	return nil
}

// removeAll removes the objects of p that are still there and puts their last
// states into p.
func (st *store) removeAll(t *table, p *page, dry bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for i, o := range p.objects {
		if current := t.objects[o.key]; current != nil {
			p.objects[i], _ = st.remove(t, current, dry)
		}
	}
	p.rv = st.rev
}
