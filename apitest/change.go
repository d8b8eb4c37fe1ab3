package apitest

import (
	"context"
	"net/http"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// A change is one write in progress. Verbs differ in next, which returns the new
// object; all other steps are the same, in the order of kube-apiserver: fields that the
// server sets, fields that a subresource may change, admission, and finally the check
// that nobody else has written meanwhile.
type change struct {
	srv     *Server
	ctx     context.Context
	target  target
	options writeOptions

	// next returns the new object for old; old is nil if there is none. It is called
	// again if somebody else has written meanwhile.
	next     func(old *object.Object) (*object.Object, *kube.Status)
	mode     mode
	owned    bool // managedFields is already set: by an apply
	hides    bool // what is written is shown differently: see object.hidden
	counted  bool // it counts as a new generation, although the object does not show it
	user     string
	r        *http.Request
	deletion *deleteOptions // of a DELETE
	before   object.Object  // the new object before the server has set its fields
	noted    bool           // managedFields is set, before admission
	agent    string         // User-Agent
	warnings []string
	swollen  bool               // by defaults, of which it may have no more
	causes   []kube.StatusCause // further errors, besides those of validation
	sent     []byte             // the object in the version in which it was written; nil if that is the stored version
	doubled  []string           // errors about duplicate fields of a patch
	patch    map[string]any     // a strategic merge patch; nil if it is another kind of change
	scale    view.Scale         // of a write of the subresource scale, as it was sent
}

// change begins a change by x.
func (s *Server) change(x *Exchange, opts writeOptions, m mode) *change {
	return &change{srv: s, ctx: x.r.Context(), target: x.target, options: opts, user: s.username(x.r), r: x.r, agent: x.r.UserAgent(), mode: m}
}

// mode is what must exist for a change.
type mode int

const (
	creates mode = iota // no object
	updates             // an object
	upserts             // either
)

// maxAttempts is how often a change is computed again after a conflict. kube-apiserver
// retries until the request ends: each conflict is a success of somebody else.
const maxAttempts = 1000

// run carries out the change and returns the stored object.
func (c *change) run() (o *object.Object, created bool, st *kube.Status) {
	res := c.target.res
	for range maxAttempts {
		var old *object.Object
		if c.mode != creates {
			old = c.srv.current(c.target)
		}
		if st := ExchangeOf(c.r).decodes(old); st != nil { // it may have grown
			return nil, false, st
		}
		if old == nil && c.mode == updates {
			return nil, false, wire.NotFound(res, c.target.key.Name)
		}
		o, st = c.next(old)
		if st == nil && c.swollen {
			st = wire.EntityTooLarge(wire.BodyLimit)
		}
		if st != nil {
			return nil, false, st
		}
		c.before = *o
		if old == nil {
			st = c.prepareCreate(o)
		} else {
			st = c.prepareUpdate(old, o)
		}
		if st == nil {
			o, st = c.finish(old, o)
		}
		if st != nil {
			return nil, false, st
		}
		stored, st := c.commit(old, o)
		if stored != nil || st != nil {
			return stored, old == nil, st
		}
	}
	return nil, false, wire.Conflict(res, c.target.key.Name, modified)
}

// current returns the current object of t, nil if there is none.
func (s *Server) current(t target) *object.Object {
	s.store.Lock()
	defer s.store.Unlock()
	return t.table.Get(t.key)
}

// finish applies admission and the schema. It returns the object to store.
func (c *change) finish(old, o *object.Object) (*object.Object, *kube.Status) {
	hooks := c.srv.admission(c, old, o)
	if c.noted = false; hooks != nil && c.tracks() { // the changes of hooks belong to nobody
		next, live := c.values(old, o)
		c.own(old, o, next, live)
		c.noted = true
	}
	o, st := hooks.mutate(old, o)
	if st != nil {
		return nil, st
	}
	bare := len(o.Meta.Labels) == 0
	if st := c.applySchema(old, o); st != nil {
		return nil, st
	}
	switch c.target.info.GroupResource() {
	case kube.Jobs.GroupResource():
		kinds.ShowTemplateLabels(o)
		o.Hidden = bare && len(o.Meta.Labels) > 0 // it is stored without it
	case "endpointslices.discovery.k8s.io", "roles.rbac.authorization.k8s.io", "clusterroles.rbac.authorization.k8s.io":
		kinds.NullLists(o, "endpoints", "ports", "rules")
	case kube.Services.GroupResource():
		if c.target.sub == "" {
			c.warnings = append(c.warnings, kinds.ServiceWarnings(o)...)
		}
	}
	if !c.target.info.BuiltIn {
		c.warnings = append(c.warnings, rules.FinalizerWarnings(old, o)...)
	}
	return o, hooks.validate(old, o)
}

// applySchema applies the schema of a definition, or defaults and validation of a built-in type
// (assign). It decodes o once for all steps.
func (c *change) applySchema(old, o *object.Object) *kube.Status {
	info := c.target.info
	tracked := c.tracks() && !c.noted
	assigned := c.assigns()
	named := c.causes
	if old == nil {
		named = kinds.NameCauses(info, &o.Meta)
	}
	if !tracked && !assigned && len(info.Schema) == 0 && named == nil && c.target.sub != "status" {
		return nil
	}
	next, live := c.values(old, o)
	if !info.BuiltIn {
		if st := c.check(o, next, live, named); st != nil {
			return st
		}
	}
	if tracked {
		c.own(old, o, next, live)
	}
	if assigned {
		st := c.assign(o, next, live, named)
		if old != nil && info.Resource == kube.Pods && !kinds.MovesGeneration(info, old, o) {
			o.Meta.Generation = old.Meta.Generation // restores what the client left out
		}
		return st
	}
	if info.BuiltIn && c.target.sub == "status" && !c.srv.options.NoValidation {
		var r rules.Refusals
		r.Append(named...)
		if kinds.RefuseStatus(&r, info.Resource, next); len(r.Causes) > 0 {
			return wire.Invalid(info.Group, info.Kind, o.Key.Name, r.Causes...)
		}
	}
	return nil
}

// tracks reports whether c sets managedFields.
func (c *change) tracks() bool { return !c.owned && !c.srv.options.NoManagedFields }

// assigns reports whether c sets fields of a built-in type that no client owns.
func (c *change) assigns() bool {
	return c.target.info.BuiltIn && (c.target.sub == "" || c.target.sub == "scale")
}

// values returns the values of o and of the stored object.
func (c *change) values(old, o *object.Object) (next, live map[string]any) {
	info := c.target.info
	kinds.CompleteNode(info.Resource, o)
	if old != nil {
		live = old.Parts(info)
		o.Share(old, live, c.assigns())
		if info.BuiltIn {
			kinds.SetDefaults(info.Resource, live) // Put stores objects that may lack them
		}
	}
	next = o.Parts(info)
	if c.target.sub == "scale" {
		kinds.SetDefaults(info.Resource, next) // o is what is stored, which may lack them
	}
	return next, live
}

// assign sets the fields of o, of a built-in type, that no client owns, and validates
// it. next is its value, and live that of the stored object.
func (c *change) assign(o *object.Object, next, live map[string]any, named []kube.StatusCause) *kube.Status {
	info := c.target.info
	taken := func(any) bool { return false }
	if info.Resource == kube.Services {
		c.srv.store.Lock()
		taken = c.target.table.Taken(o.Key)
		c.srv.store.Unlock()
	}
	if kinds.Assign(info.Resource, next, live, taken) {
		o.SetValue("spec", next["spec"])
		for name, v := range rules.ObjectAt(rules.ObjectAt(next, "metadata"), "labels") {
			if o.Meta.Labels[name] != v { // of a Job
				text, _ := v.(string)
				o.SetLabel(name, text)
			}
		}
	}
	causes := named
	if !c.srv.options.NoValidation {
		causes = append(causes, kinds.Validate(info.Resource, next, live)...)
	}
	if len(causes) > 0 {
		return wire.Invalid(info.Group, info.Kind, o.Key.Name, causes...)
	}
	if live == nil {
		c.warnings = append(c.warnings, kinds.NameWarnings(info, o.Key.Name)...)
	}
	return nil
}

// commit stores o in place of old. It returns nil and no Status if somebody else has
// written meanwhile.
func (c *change) commit(old, o *object.Object) (*object.Object, *kube.Status) {
	st, t := c.srv.store, c.target.table
	st.Lock()
	defer st.Unlock()
	if found := t.Get(o.Key); found != old {
		if old == nil && c.mode == creates {
			st := wire.Exists(c.target.res, o.Key.Name)
			if found.Meta.DeletionTimestamp != "" {
				st.Message = "object is being deleted: " + st.Message
			}
			return nil, st
		}
		return nil, nil
	}
	if old == nil { // its namespace or definition may have been deleted since
		if st := st.Admits(t, c.target.res, o); st != nil {
			return nil, st
		}
	}
	switch dry := c.options.dry; {
	case old != nil && !old.Hidden && !o.Hidden && !c.counted && old.Same(o):
		return old, nil
	case old != nil && o.Meta.DeletionTimestamp != "" && len(o.Meta.Finalizers) == 0 && !store.Emptying(c.target.res, o):
		if !dry { // only the last finalizer kept it
			st.Commit(t, o.Key, nil)
			st.Settle()
		}
		o.Seal(t.Info, old.Revision) // the response is the written object, not the deleted one
		return o, nil
	case dry:
		rv := uint64(0)
		if old != nil {
			rv = old.Revision
		} else if n, err := store.ParseRevision(o.Meta.ResourceVersion); err == nil {
			rv = n // as the client has it
		}
		o.Seal(t.Info, rv)
	default:
		st.Commit(t, o.Key, o)
		st.SettleWritten(old, o)
	}
	return o, nil
}
