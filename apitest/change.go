package apitest

import (
	"context"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// A change is one write on its way. Verbs differ in next, which says what the
// object is to become; everything else happens to all of them, in the order of
// kube-apiserver: what the server sets, what a subresource may touch, admission,
// and at last the check that nobody else wrote meanwhile.
type change struct {
	srv     *Server
	ctx     context.Context
	target  target
	options writeOptions

	// next returns what old is to become, a new object; old is nil where there
	// is none. It is called again if somebody else wrote meanwhile.
	next     func(old *object.Object) (*object.Object, *kube.Status)
	mode     mode
	owned    bool // managedFields is settled: by an apply
	hides    bool // what is written will be shown otherwise: see object.hidden
	counted  bool // it counts as a new generation, though nothing of it shows
	user     string
	agent    string // User-Agent
	warnings []string
	causes   []kube.StatusCause // to refuse it for, besides those that validation finds
	sent     map[string]any     // what is to be stored, in the version in which it was written; nil where that is the one stored
	doubled  []string           // what a patch says of fields that it has twice
}

// mode is what a change wants to find.
type mode int

const (
	creates mode = iota // nothing
	updates             // an object
	upserts             // either
)

// attempts is how often a change is computed anew. kube-apiserver does so until the
// request is given up: each time, somebody else has succeeded.
const attempts = 1000

// run carries the change out and returns what is stored now.
func (c *change) run() (o *object.Object, created bool, st *kube.Status) {
	res := c.target.res
	for range attempts {
		old := c.current(c.target.key)
		if old == nil && c.mode == updates {
			return nil, false, wire.NotFound(res, c.target.key.Name)
		}
		if o, st = c.next(old); st != nil {
			return nil, false, st
		}
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

// current returns the object that there is, nil for none and for a create.
func (c *change) current(key kube.Key) *object.Object {
	if c.mode == creates {
		return nil
	}
	c.srv.store.Lock()
	defer c.srv.store.Unlock()
	return c.target.table.Get(key)
}

// finish lets admission and the schema have their say. It returns the object to
// store.
func (c *change) finish(old, o *object.Object) (*object.Object, *kube.Status) {
	hooks := c.srv.admission(c, old, o)
	o, st := hooks.mutate(o)
	if st != nil {
		return nil, st
	}
	bare := len(o.Meta.Labels) == 0
	if st := c.settle(old, o); st != nil {
		return nil, st
	}
	switch c.target.info.GroupResource() {
	case kube.Jobs.GroupResource():
		kinds.ShowTemplateLabels(o)
		o.Hidden = bare && len(o.Meta.Labels) > 0 // it is kept without
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
	return o, hooks.validate()
}

// settle lets the schema have its say. It decodes o once, for all who look into it.
func (c *change) settle(old, o *object.Object) *kube.Status {
	info := c.target.info
	kinds.CompleteNode(info.Resource, o)
	tracked := !c.owned && !c.srv.options.NoManagedFields
	assigned := info.BuiltIn && (c.target.sub == "" || c.target.sub == "scale")
	named := c.causes
	if old == nil {
		named = kinds.NameCauses(info, &o.Meta)
	}
	if !tracked && !assigned && len(info.Schema) == 0 && named == nil && c.target.sub != "status" {
		return nil
	}
	live := map[string]any(nil)
	if old != nil {
		live = old.Parts(info)
		o.Share(old, live, assigned)
		if info.BuiltIn {
			kinds.SetDefaults(info.Resource, live) // Put stores what a test gives, which may lack them
		}
	}
	next := o.Parts(info)
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
			o.Meta.Generation = old.Meta.Generation // what the client left out is there again
		}
		return st
	}
	if r := (rules.Refusals{Causes: named}); info.BuiltIn && c.target.sub == "status" && !c.srv.options.NoValidation {
		if kinds.RefuseStatus(&r, info.Resource, next); len(r.Causes) > 0 {
			return wire.Invalid(info.Group, info.Kind, o.Key.Name, r.Causes...)
		}
	}
	return nil
}

// assign gives o, of a built-in type, what nobody owns, and refuses what is wrong.
// next is its value, and live that of what is there.
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

// commit stores o in the place of old. It returns nil and no Status where
// somebody else was quicker.
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
	if old == nil { // its namespace or definition may have been deleted since it was prepared
		if st := st.Admits(t, c.target.res, o); st != nil {
			return nil, st
		}
	}
	switch dry := c.options.dry; {
	case old != nil && !old.Hidden && !o.Hidden && !c.counted && old.Same(o):
		return old, nil
	case old != nil && o.Meta.DeletionTimestamp != "" && len(o.Meta.Finalizers) == 0 && !store.Emptying(c.target.res, o):
		if !dry { // the last finalizer was all that kept it
			st.Commit(t, o.Key, nil)
			st.Settle()
		}
		o.Seal(t.Info, old.Revision) // the answer is what was asked for, not what was deleted
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
		if old != nil && len(o.Meta.Finalizers) < len(old.Meta.Finalizers) {
			st.Settle()
		}
	}
	return o, nil
}
