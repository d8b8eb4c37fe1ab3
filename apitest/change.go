package apitest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"unicode"

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
	next     func(old *object) (*object, *kube.Status)
	mode     mode
	owned    bool // managedFields is settled: by an apply
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
func (c *change) run() (o *object, created bool, st *kube.Status) {
	res := c.target.res
	for range attempts {
		old := c.current(c.target.key)
		if old == nil && c.mode == updates {
			return nil, false, statusNotFound(res, c.target.key.Name)
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
	return nil, false, statusConflict(res, c.target.key.Name, modified)
}

// current returns the object that there is, nil for none and for a create.
func (c *change) current(key kube.Key) *object {
	if c.mode == creates {
		return nil
	}
	c.srv.store.mu.Lock()
	defer c.srv.store.mu.Unlock()
	return c.target.table.objects[key]
}

// prepareCreate fills what the server sets on a new object.
func (c *change) prepareCreate(o *object) *kube.Status {
	s, info := c.srv.store, c.target.info
	switch {
	case c.options.verb == "update" && o.meta.UID != "":
		return c.otherUID(o.key, o.meta.UID, "")
	case c.options.verb != "create":
	case o.meta.ResourceVersion != "" && !c.options.dry:
		return statusRaw("resourceVersion should not be set on objects to be created")
	}
	if st := c.srv.admitsNamespace(c.target.res, o); st != nil {
		return st
	}
	if o.meta.Name == "" && o.meta.GenerateName != "" {
		s.mu.Lock()
		for range 8 {
			o.meta.Name = o.meta.GenerateName[:min(len(o.meta.GenerateName), maxGenerated)] + s.suffix()
			if c.target.table.objects[kube.Key{Namespace: o.meta.Namespace, Name: o.meta.Name}] == nil {
				break
			}
		}
		s.mu.Unlock()
	}
	o.key = kube.Key{Namespace: o.meta.Namespace, Name: o.meta.Name}
	o.meta.UID, o.meta.CreationTimestamp, o.meta.DeletionTimestamp = "", "", ""
	if !info.builtIn || info.counts(o) {
		o.meta.Generation = 0 // elsewhere it is what the client says
	}
	o.meta.DeletionGracePeriodSeconds = nil
	if info.Status && info.Resource != kube.Nodes { // a kubelet registers its node with the status
		o.setField("status", nil, false)
		if info.builtIn {
			if status := newStatus(info.Resource, o.parts(info)); status != nil {
				o.setField("status", marshal(status), true)
			}
		}
	}
	s.mu.Lock()
	s.prepareCreate(info, o)
	if !info.builtIn && !info.noCount {
		o.meta.Generation = 1 // with a spec or without
	}
	s.mu.Unlock()
	if info.Resource == kube.CustomResourceDefinitions {
		return prepareDefinition(nil, o)
	}
	return nil
}

const modified = "the object has been modified; please apply your changes to the latest version and try again"

// prepareUpdate checks the preconditions in o and keeps what this change may not
// touch.
func (c *change) prepareUpdate(old, o *object) *kube.Status {
	info := c.target.info
	o.key = old.key
	if o.meta.ResourceVersion == "0" {
		o.meta.ResourceVersion = "" // as good as none
	}
	switch {
	case o.meta.UID != "" && o.meta.UID != old.meta.UID && c.options.verb != "patch":
		return c.otherUID(old.key, o.meta.UID, old.meta.UID)
	case o.meta.ResourceVersion == "" && info.strategy().guarded && c.options.verb == "update" && c.target.sub != "scale":
		return statusInvalid(info.Group, info.Plural, old.key.Name, kube.StatusCause{Reason: "FieldValueInvalid",
			Message: "Invalid value: 0: must be specified for an update", Field: "metadata.resourceVersion"})
	case o.meta.ResourceVersion != "" && o.meta.ResourceVersion != old.meta.ResourceVersion:
		return statusConflict(info.Resource, old.key.Name, modified)
	}
	switch c.target.sub {
	case "status":
		status, ok := o.field("status")
		if zero := zeroStatus(info.Resource); zero != "" && info.builtIn && (!ok || string(status) == "null") {
			status, ok = []byte(zero), true
		}
		meta := o.meta
		if *o = (object{key: old.key, meta: old.meta, fields: old.fields}); info.builtIn {
			o.meta = statusMeta(info.Resource, &old.meta, meta)
			status, ok = info.zeroed(status)
			if info.Resource == kube.Pods {
				status = withQOS(status, old)
			}
		}
		o.meta.ManagedFields = meta.ManagedFields
		o.setField("status", status, ok)
	case "finalize":
		spec, ok := o.field("spec")
		*o = object{key: old.key, meta: old.meta, fields: old.fields}
		o.setField("spec", spec, ok)
	default:
		if info.Status {
			status, ok := old.field("status")
			o.setField("status", status, ok)
		}
	}
	if c.causes = nil; c.srv.options.NoValidation {
	} else if c.target.sub == "" || c.target.sub == "status" && info.builtIn && info.Resource != kube.Pods {
		c.causes = metaCauses(&old.meta, &o.meta)
	}
	prepareUpdate(info, old, o)
	if info.Resource == kube.Deployments && c.target.sub == "" && !maps.Equal(old.meta.Annotations, o.meta.Annotations) {
		o.meta.Generation = old.meta.Generation + 1 // a rollout is controlled by annotations too
	}
	if info.Resource == kube.CustomResourceDefinitions && c.target.sub == "" {
		return prepareDefinition(old, o)
	}
	return nil
}

// statusMeta is the metadata of a built-in object after a write to its status: that
// of the write, but for what the kind keeps.
func statusMeta(res kube.Resource, old *objectMeta, o objectMeta) objectMeta {
	switch res {
	case kube.Deployments:
		o.Labels = old.Labels
	case kube.Pods:
		o.OwnerReferences = old.OwnerReferences
	}
	o.ManagedFields = old.ManagedFields
	return o
}

// withQOS gives the status of a pod the class that it had.
func withQOS(status json.RawMessage, old *object) json.RawMessage {
	is := decodeValue(status)
	if class := old.lookup("status.qosClass"); class != nil && is["qosClass"] != class {
		is["qosClass"] = class
		return marshal(is)
	}
	return status
}

// otherUID is the 409 of an update that names another UID than the object has.
func (c *change) otherUID(key kube.Key, want, have string) *kube.Status {
	info, root := c.target.info, "/registry/"
	if c.options.dry { // which comes not as far as etcd
		root = "/"
	}
	return statusConflict(info.Resource, key.Name, fmt.Sprintf("StorageError: invalid object, Code: 4, Key: %s%s/%s, ResourceVersion: 0, AdditionalErrorMsg: "+
		"Precondition failed: UID in precondition: %s, UID in object meta: %s", root, info.registry(), key, want, have))
}

// finish lets admission and the schema have their say. It returns the object to
// store.
func (c *change) finish(old, o *object) (*object, *kube.Status) {
	hooks := c.srv.admission(c, old, o)
	o, st := hooks.mutate(o)
	if st != nil {
		return nil, st
	}
	if st := c.settle(old, o); st != nil {
		return nil, st
	}
	return o, hooks.validate()
}

// settle lets the schema have its say. It decodes o once, for all who look into it.
func (c *change) settle(old, o *object) *kube.Status {
	info := c.target.info
	completeNode(info.Resource, o)
	tracked := !c.owned && !c.srv.options.NoManagedFields
	assigned := info.builtIn && (c.target.sub == "" || c.target.sub == "scale")
	named := c.causes
	if old == nil {
		named = info.nameCauses(&o.meta)
	}
	if !tracked && !assigned && len(info.Schema) == 0 && named == nil && c.target.sub != "status" {
		return nil
	}
	next, live := o.parts(info), map[string]any(nil)
	if old != nil {
		live = old.value()
	}
	if !info.builtIn {
		if st := c.check(o, next, live, named); st != nil {
			return st
		}
	}
	if tracked {
		if st := c.own(o, next, live); st != nil {
			return st
		}
	}
	if info.builtIn {
		o.meta.ManagedFields = inOrder(o.meta.ManagedFields)
	}
	if assigned {
		st := c.assign(o, next, live, named)
		if old != nil && info.Resource == kube.Pods && !info.moves(old, o) {
			o.meta.Generation = old.meta.Generation // what the client left out is there again
		}
		return st
	}
	if r := (refusals{named}); info.builtIn && c.target.sub == "status" && !c.srv.options.NoValidation {
		if r.status(info.Resource, next); len(r.causes) > 0 {
			return statusInvalid(info.Group, info.Kind, o.key.Name, r.causes...)
		}
	}
	return nil
}

// assign gives o, of a built-in type, what nobody owns, and refuses what is wrong.
// next is its value, and live that of what is there.
func (c *change) assign(o *object, next, live map[string]any, named []kube.StatusCause) *kube.Status {
	info := c.target.info
	taken := func(any) bool { return false }
	if info.Resource == kube.Services {
		c.srv.store.mu.Lock()
		taken = c.target.table.taken(o.key)
		c.srv.store.mu.Unlock()
	}
	if assign(info.Resource, next, live, taken) {
		o.setField("spec", marshal(next["spec"]), true)
		for name, v := range object1(object1(next, "metadata"), "labels") {
			if o.meta.Labels[name] != v { // of a Job
				text, _ := v.(string)
				o.setLabel(name, text)
			}
		}
	}
	causes := named
	if !c.srv.options.NoValidation {
		causes = append(causes, validateBuiltIn(info.Resource, next, live)...)
	}
	if len(causes) > 0 {
		return statusInvalid(info.Group, info.Kind, o.key.Name, causes...)
	}
	if live == nil {
		c.warnings = append(c.warnings, info.nameWarnings(o.key.Name)...)
	}
	return nil
}

// commit stores o in the place of old. It returns nil and no Status where
// somebody else was quicker.
func (c *change) commit(old, o *object) (*object, *kube.Status) {
	st, t := c.srv.store, c.target.table
	st.mu.Lock()
	defer st.mu.Unlock()
	if found := t.objects[o.key]; found != old {
		if old == nil && c.mode == creates {
			st := statusExists(c.target.res, o.key.Name)
			if found.meta.DeletionTimestamp != "" {
				st.Message = "object is being deleted: " + st.Message
			}
			return nil, st
		}
		return nil, nil
	}
	switch dry := c.options.dry; {
	case old != nil && old.same(o):
		return old, nil
	case old != nil && o.meta.DeletionTimestamp != "" && len(o.meta.Finalizers) == 0 && !emptying(c.target.res, o):
		if !dry { // the last finalizer was all that kept it
			st.commit(t, o.key, nil)
			st.settle(c.srv.options)
		}
		o.seal(t.info, old.rv) // the answer is what was asked for, not what was deleted
		return o, nil
	case dry:
		rv := uint64(0)
		if old != nil {
			rv = old.rv
		} else if n, err := parseRevision(o.meta.ResourceVersion); err == nil {
			rv = n // as the client has it
		}
		o.seal(t.info, rv)
	default:
		st.commit(t, o.key, o)
		if old != nil && len(o.meta.Finalizers) < len(old.meta.Finalizers) {
			st.settle(c.srv.options)
		}
	}
	return o, nil
}

// maxManager is how long a fieldManager may be.
const maxManager = 128

// writeOptions are the CreateOptions, UpdateOptions or PatchOptions of a write.
type writeOptions struct {
	verb       string
	dry        bool
	manager    string // empty = the server makes one of the user agent
	validation string // Ignore, Warn, Strict
	typ        string // media type of the body
	force      bool   // of an apply
}

// parseWriteOptions reads the options of a write; kind is what an error calls
// them, and typ the media type of a patch.
func parseWriteOptions(x *exchange, kind, typ string) (o writeOptions, st *kube.Status) {
	q := x.r.URL.Query()
	o = writeOptions{verb: x.target.verb, typ: typ, manager: q.Get("fieldManager"), validation: cmp.Or(q.Get("fieldValidation"), "Warn")}
	o.dry, o.force = q.Has("dryRun"), queryBool(q, "force")
	causes := o.checkPatch(typ, q.Has("force"))
	if len(o.manager) > maxManager {
		causes = append(causes, kube.StatusCause{Reason: "FieldValueTooLong",
			Message: fmt.Sprintf("Too long: may not be more than %d bytes", maxManager), Field: "fieldManager"})
	}
	for i, r := range o.manager {
		if !unicode.IsPrint(r) {
			causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid",
				Message: fmt.Sprintf("Invalid value: %q: invalid character %U (at position %d)", o.manager, r, i), Field: "fieldManager"})
			break
		}
	}
	causes = append(causes, checkDryRun(q["dryRun"])...)
	switch o.validation {
	case "Ignore", "Warn", "Strict":
	default:
		causes = append(causes, kube.StatusCause{Reason: "FieldValueNotSupported",
			Message: fmt.Sprintf("Unsupported value: %q: supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"", o.validation), Field: "fieldValidation"})
	}
	if len(causes) > 0 {
		return o, statusInvalid("meta.k8s.io", kind, "", causes...)
	}
	return o, nil
}

// checkPatch says which options do not go with a patch of this type.
func (o writeOptions) checkPatch(typ string, force bool) []kube.StatusCause {
	switch {
	case typ == typeApply && o.manager == "":
		return []kube.StatusCause{{Reason: "FieldValueRequired", Message: "Required value: is required for apply patch", Field: "fieldManager"}}
	case o.verb == "patch" && typ != typeApply && force:
		return []kube.StatusCause{forbiddenField("force", "may not be specified for non-apply patch")}
	}
	return nil
}

// checkDryRun says what is wrong with the values of dryRun.
func checkDryRun(values []string) []kube.StatusCause {
	for _, v := range values {
		if v != "All" {
			return []kube.StatusCause{{Reason: "FieldValueNotSupported",
				Message: fmt.Sprintf("Unsupported value: %q: supported values: \"All\"", values), Field: "dryRun"}}
		}
	}
	return nil
}
