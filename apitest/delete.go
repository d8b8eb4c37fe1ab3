package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/apitest/internal/webhook"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// deleteOptions is the body of a DELETE.
type deleteOptions struct {
	Kind              string         `json:"kind,omitempty"`
	APIVersion        string         `json:"apiVersion,omitempty"`
	Preconditions     *preconditions `json:"preconditions,omitempty"`
	DryRun            []string       `json:"dryRun,omitempty"`
	PropagationPolicy *string        `json:"propagationPolicy,omitempty"`
	OrphanDependents  *bool          `json:"orphanDependents,omitempty"`
	GracePeriod       *int64         `json:"gracePeriodSeconds,omitempty"`
	Unreadable        *bool          `json:"ignoreStoreReadErrorWithClusterBreakingPotential,omitempty"`
}

// preconditions must hold for an object to be deleted.
type preconditions struct {
	UID             *string `json:"uid,omitempty"`
	ResourceVersion *string `json:"resourceVersion,omitempty"`
}

// fromQuery reads the options in the query if there is no body; the revision of a list
// becomes a precondition, too.
func (o *deleteOptions) fromQuery(q url.Values) error {
	text := func(name string) *string {
		if !q.Has(name) {
			return nil
		}
		return new(q.Get(name))
	}
	if p := text("propagationPolicy"); p != nil && *p != "" {
		o.PropagationPolicy = p
	}
	if q.Has("orphanDependents") {
		o.OrphanDependents = new(wire.QueryBool(q, "orphanDependents"))
	}
	if q.Has("gracePeriodSeconds") {
		n, err := strconv.ParseInt(q.Get("gracePeriodSeconds"), 10, 64)
		if err != nil {
			return err
		}
		o.GracePeriod = &n
	}
	if q.Has("ignoreStoreReadErrorWithClusterBreakingPotential") {
		o.Unreadable = new(wire.QueryBool(q, "ignoreStoreReadErrorWithClusterBreakingPotential"))
	}
	if p := (preconditions{text("uid"), text("resourceVersion")}); p != (preconditions{}) {
		o.Preconditions = &p
	}
	return nil
}

func readDeletion(x *Exchange) (o deleteOptions, d store.Deletion, st *kube.Status) {
	body, st := readBody(x, wire.TypeJSON, wire.TypeYAML)
	if st != nil {
		return o, d, st
	}
	b := body.json
	var head struct { // for quotes in errors
		APIVersion string `json:"apiVersion,omitempty"`
		Kind       string `json:"kind,omitempty"`
	}
	if len(b) == 0 { // only then the query counts
		o.DryRun = x.r.URL.Query()["dryRun"]
		if err := o.fromQuery(x.r.URL.Query()); err != nil {
			return o, d, wire.BadRequest("%v", err)
		}
	} else if err := json.Unmarshal(b, &head); err != nil {
		return o, d, wire.BadRequest("couldn't get version/kind; json parse error: %v", err)
	} else if err := json.Unmarshal(b, &o); err != nil {
		return o, d, wire.BadRequest("%s", strings.Replace(err.Error(), "field deleteOptions.", "field DeleteOptions.", 1))
	}
	if o.Kind != "" && o.Kind != "DeleteOptions" {
		return o, d, wire.BadRequest("no kind %q is registered for version %q in scheme \"pkg/runtime/scheme.go:111\"", o.Kind, o.APIVersion)
	}
	o.Kind, o.APIVersion = "DeleteOptions", webhook.OptionsVersion
	if o.PropagationPolicy != nil {
		d.Policy = *o.PropagationPolicy
	}
	var causes []kube.StatusCause
	if o.OrphanDependents != nil && o.PropagationPolicy != nil {
		causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid",
			Message: fmt.Sprintf("Invalid value: %q: orphanDependents and deletionPropagation cannot be both set", d.Policy), Field: "propagationPolicy"})
	}
	switch d.Policy {
	case "", "Background", "Foreground", "Orphan":
	default:
		causes = append(causes, kube.StatusCause{Reason: "FieldValueNotSupported",
			Message: fmt.Sprintf("Unsupported value: %q: supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"", d.Policy), Field: "propagationPolicy"})
	}
	if causes = append(causes, checkDryRun(o.DryRun)...); len(causes) > 0 {
		return o, d, wire.Invalid("meta.k8s.io", "DeleteOptions", "", causes...)
	}
	d.Dry = len(o.DryRun) > 0
	switch {
	case o.OrphanDependents == nil:
	case *o.OrphanDependents:
		d.Policy = "Orphan"
	case x.target.res == kube.Namespaces: // namespaces are deleted differently
		d.Policy = "Foreground"
	default:
		d.Policy = store.Background
	}
	if x.target.res == kube.Jobs && d.Policy == "" {
		wire.Warn(x.Header(), "child pods are preserved by default when jobs are deleted; "+
			"set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning")
	}
	return o, d, nil
}

func (s *Server) delete(x *Exchange, w http.ResponseWriter, v *view.View) *kube.Status {
	opts, d, st := readDeletion(x)
	if st != nil {
		return st
	}
	c := s.deletion(x, &opts, d)
	last, kept, st := c.remove(d, s.store.SettleRemoved)
	c.warn(w)
	if st != nil {
		return st
	}
	if kept || x.target.info.Returns {
		code := http.StatusOK
		if kept && opts.OrphanDependents != nil && !*opts.OrphanDependents {
			code = http.StatusAccepted
		}
		wire.WriteJSON(w, code, "application/json", append(v.Object(last), '\n'))
		return nil
	}
	wire.WriteStatus(w, &kube.Status{Details: &kube.StatusDetails{Name: x.target.key.Name, Group: x.target.res.Group, Kind: x.target.res.Plural, UID: last.Meta.UID}})
	return nil
}

// deletion begins a change that deletes.
func (s *Server) deletion(x *Exchange, opts *deleteOptions, d store.Deletion) *change {
	c := s.change(x, writeOptions{verb: "delete", dry: d.Dry}, updates)
	c.deletion = opts
	return c
}

// remove deletes the object if the preconditions hold and admission permits it, and calls settle.
func (c *change) remove(d store.Deletion, settle func()) (last *object.Object, kept bool, st *kube.Status) {
	s, t, key := c.srv.store, c.target.table, c.target.key
	for range maxAttempts {
		old := c.srv.current(c.target)
		if st := c.deletable(old); st != nil {
			return nil, false, st
		}
		hooks := c.srv.admission(c, old, nil)
		if _, st := hooks.mutate(old, nil); st != nil {
			return nil, false, st
		}
		if st := hooks.validate(old, nil); st != nil {
			return nil, false, st
		}
		s.Lock()
		if t.Get(key) == old {
			last, kept = s.Remove(t, old, d)
			settle()
			s.Unlock()
			return last, kept, nil
		}
		s.Unlock()
	}
	return nil, false, wire.Conflict(c.target.res, key.Name, modified)
}

// deletable checks the preconditions.
func (c *change) deletable(old *object.Object) *kube.Status {
	res, opts := c.target.res, c.deletion
	if old == nil {
		return wire.NotFound(res, c.target.key.Name)
	}
	if st := opts.holds(res, old); st != nil {
		return st
	}
	if opts.Unreadable != nil && *opts.Unreadable {
		return wire.Conflict(res, old.Key.Name, fmt.Sprintf("StorageError: invalid object, Code: 4, Key: /registry/%s/%s, ResourceVersion: 0, AdditionalErrorMsg: "+
			"unsafe deletion is not allowed because the object is decodable from storage", c.target.info.Registry(), old.Key))
	}
	if c.srv.options.Namespaces && res == kube.Namespaces && slices.Contains(firstNamespaces[:], old.Key.Name) {
		return &kube.Status{Code: http.StatusForbidden, Reason: "Forbidden",
			Message: fmt.Sprintf("namespaces %q is forbidden: this namespace may not be deleted", old.Key.Name),
			Details: &kube.StatusDetails{Name: old.Key.Name, Kind: res.Plural}}
	}
	return nil
}

// holds checks the preconditions against the current object.
func (o *deleteOptions) holds(res kube.Resource, old *object.Object) *kube.Status {
	p := o.Preconditions
	switch {
	case p == nil:
	case p.UID != nil && *p.UID != old.Meta.UID:
		return precondition(res, old.Key.Name, "UID", *p.UID, old.Meta.UID, "deleted and then recreated")
	case p.ResourceVersion != nil && *p.ResourceVersion != old.Meta.ResourceVersion:
		return precondition(res, old.Key.Name, "ResourceVersion", *p.ResourceVersion, old.Meta.ResourceVersion, "modified")
	}
	return nil
}

// precondition is the 409 for a precondition of a DELETE; it contains the kind where
// other errors contain the resource.
func precondition(res kube.Resource, name, what, want, have, since string) *kube.Status {
	if res == kube.Namespaces { // namespaces are deleted differently
		return wire.Conflict(res, name, fmt.Sprintf("Precondition failed: %[1]s in precondition: %[2]s, %[1]s in object meta: %[3]s", what, want, have))
	}
	return &kube.Status{Code: http.StatusConflict, Reason: "Conflict",
		Message: fmt.Sprintf("Operation cannot be fulfilled on %s %q: the %s in the precondition (%s) does not match the %s in record (%s). "+
			"The object might have been %s", kube.Resource{Group: res.Group, Plural: res.Kind}.GroupResource(), name, what, want, what, have, since),
		Details: &kube.StatusDetails{Name: name, Group: res.Group, Kind: res.Kind}}
}

// deleteCollection deletes the objects that a LIST with the same options returns. The
// response contains them as they were.
func (s *Server) deleteCollection(x *Exchange, w http.ResponseWriter, q *store.Query, v *view.View) *kube.Status {
	opts, d, st := readDeletion(x)
	if st != nil {
		return st
	}
	if x.target.res.Namespaced && x.target.key.Namespace == "" {
		return wire.MethodNotAllowed()
	}
	if _, st := store.ParseToken(q.Token); q.Token != "" && st != nil {
		return st
	}
	q.Token = ""
	p, st := s.store.Page(x.target.table, q, store.ContinueToken{})
	if st != nil {
		return st
	}
	if st := x.shows(w, v, p.Objects...); st != nil {
		return st
	}
	b, st := v.List(p, false)
	if st != nil {
		return st
	}
	c := s.deletion(x, &opts, d)
	st = c.removeAll(p, d)
	if c.warn(w); st == nil {
		wire.WriteJSON(w, http.StatusOK, "application/json", b)
	}
	return st
}

// removeAll removes the objects of p that still exist, up to one that may not be deleted.
func (c *change) removeAll(p *store.Page, d store.Deletion) *kube.Status {
	defer c.srv.store.SettleAll() // not for each: it looks at all objects of the server
	for _, o := range p.Objects {
		c.target.key = o.Key
		if _, _, st := c.remove(d, func() {}); st != nil && st.Reason != "NotFound" {
			return st
		}
	}
	return nil
}
