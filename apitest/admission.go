package apitest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/apitest/internal/webhook"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// Admission is a write that a hook may refuse or, if it mutates, change. See
// https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/.
type Admission struct {
	Operation   string // CREATE, UPDATE or DELETE
	Resource    kube.Resource
	Subresource string // "status", "scale", or ""
	Key         kube.Key
	User        string
	DryRun      bool

	// Object is the object to store, as JSON; nil for a DELETE. A mutating hook may assign
	// another one. Old is the stored object; nil for a CREATE. Of a scale both are a Scale.
	Object, Old []byte

	Warnings []string // for the client
}

// hook is an admission hook of the test.
type hook struct {
	match   Match
	mutates bool
	call    func(*Admission) error
}

// Mutate sets a hook that may change objects before validation; hooks are called in the
// order in which they were set, then webhooks. An error refuses the write: the client gets a
// *kube.Status as it is, any other error as a 403. Only Verb, Resource, Namespace and Name of m
// count. The hook must not call the server.
func (s *Server) Mutate(m Match, f func(*Admission) error) (remove func()) {
	return s.addHook(&hook{m, true, f})
}

// Validate sets a hook that may refuse writes. Otherwise it is like Mutate.
func (s *Server) Validate(m Match, f func(*Admission) error) (remove func()) {
	return s.addHook(&hook{m, false, f})
}

func (s *Server) addHook(h *hook) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = append(slices.Clip(s.hooks), h)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hooks = slices.DeleteFunc(slices.Clone(s.hooks), func(o *hook) bool { return o == h })
	}
}

// admitting is a write that is being admitted.
type admitting struct {
	*Admission
	c                    *change
	hooks                []*hook
	mutating, validating []*webhook.Webhook
}

// admission begins the admission of a write: old becomes o, either of which may be nil.
// It returns nil if there are no hooks.
func (s *Server) admission(c *change, old, o *object.Object) *admitting {
	s.mu.Lock()
	hooks := s.hooks
	s.mu.Unlock()
	operation := "UPDATE"
	switch {
	case old == nil:
		operation = "CREATE"
	case o == nil:
		operation = "DELETE"
	}
	mutating, validating := s.webhooks(c, operation)
	if len(hooks)+len(mutating)+len(validating) == 0 {
		return nil
	}
	a := &Admission{Operation: operation, Resource: c.target.form.Resource, Subresource: c.target.sub, Key: c.target.key, DryRun: c.options.dry, User: c.user}
	if old != nil {
		if a.Old = old.Body; c.target.form != c.target.info || old.Version != c.target.form.Version {
			a.Old = view.InVersion(a.Old, a.Resource)
		}
		if a.Subresource == "scale" {
			a.Old = view.ScaleOf(c.target.info, old)
		}
	}
	return &admitting{a, c, hooks, mutating, validating}
}

// mutate returns o as the mutating hooks change it. They see what was sent, to which
// the server has added managedFields only.
func (a *admitting) mutate(old, o *object.Object) (*object.Object, *kube.Status) {
	if a == nil {
		return o, nil
	}
	if o != nil {
		seen := a.c.before
		seen.Meta.ManagedFields = o.Meta.ManagedFields
		a.show(&seen, seen.Meta.ResourceVersion, true)
		a.c.before.Forget()
		o.Forget()
	}
	shown := a.Object
	if st := a.call(true, a.mutating); st != nil || o == nil {
		a.c.warnings = append(a.c.warnings, a.Warnings...)
		return nil, st
	}
	if bytes.Equal(shown, a.Object) {
		return o, nil
	}
	return a.c.readmit(old, o, a.Object)
}

// validate calls the validating hooks for o, which is to be stored in place of old.
func (a *admitting) validate(old, o *object.Object) *kube.Status {
	if a == nil {
		return nil
	}
	if o != nil && old != nil {
		a.show(o, old.Meta.ResourceVersion, false)
	} else if o != nil {
		a.show(o, "", false)
	}
	o.Forget()
	st := a.call(false, a.validating)
	a.c.warnings = append(a.c.warnings, a.Warnings...)
	return st
}

// show passes o with a resourceVersion to the hooks, in the version of the request. raw
// says that it was not prepared yet.
func (a *admitting) show(o *object.Object, version string, raw bool) {
	c, info := a.c, a.c.target.info
	rv, _ := store.ParseRevision(version) // it was checked
	w := *o
	w.Seal(info, rv)
	if c.target.sub == "scale" {
		if a.Object = view.ScaleOf(info, &w); raw {
			a.Object = object.Marshal(c.scale)
		}
		return
	}
	if a.Key, a.Object = w.Key, w.Body; c.target.form == info {
		return
	}
	if a.Object = view.InVersion(w.Body, a.Resource); len(c.sent) == 0 || !raw && c.target.sub != "" {
		return
	}
	v, sent := object.DecodeValue(w.Body), object.DecodeValue(c.sent) // which has fields that are not stored
	sent["metadata"] = v["metadata"]
	if status, ok := v["status"]; ok && !raw && info.Status {
		sent["status"] = status
	} else if !raw && info.Status {
		delete(sent, "status")
	}
	a.Object = object.Marshal(sent)
}

// call calls the hooks of one phase, then the webhooks.
func (a *admitting) call(mutates bool, webhooks []*webhook.Webhook) *kube.Status {
	s := a.c.srv
	namespace := func(name string) []byte { return s.Get(kube.Namespaces, kube.Key{Name: name}) }
	options := any(a.c.deletion)
	if a.c.deletion == nil {
		options = webhook.OptionsOf(a.Operation, a.c.r.URL.Query())
	}
	c := webhook.Caller{User: s.userInfo(a.c.r), Options: options, ID: s.store.NewUID, Namespace: namespace, InVersion: view.InVersion,
		Kind: kindOf[a.Subresource], Nameless: a.c.target.verb == "deletecollection", Turns: s.turns, Turn: &ExchangeOf(a.c.r).turn}
	for _, h := range a.hooks {
		if h.mutates != mutates || !h.match.admits(a.Admission) {
			continue
		}
		c.Yield()
		before := a.Object
		if err := h.call(a.Admission); err != nil {
			return refusal(a.Admission, err)
		}
		if !mutates {
			a.Object = before
		}
	}
	return c.Call(a.c.ctx, webhooks, (*webhook.Write)(a.Admission), mutates)
}

// kindOf is the kind of the objects of subresources that have their own.
var kindOf = map[string]kube.Resource{
	"scale":    {Group: "autoscaling", Version: "v1", Kind: "Scale"},
	"eviction": {Group: "policy", Version: "v1", Kind: "Eviction"},
	"binding":  {Version: "v1", Kind: "Binding"},
	"token":    {Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"},
}

// admitAction returns b, which was sent to a subresource that stores nothing, as the webhooks
// change it, or the denial of one. Hooks of the test are not called.
func (s *Server) admitAction(x *Exchange, dry bool, b []byte) ([]byte, *kube.Status) {
	c := s.change(x, writeOptions{verb: "create", dry: dry}, creates)
	mutating, validating := s.webhooks(c, "CREATE")
	if len(mutating)+len(validating) == 0 {
		return b, nil
	}
	t, o := x.target, object.DecodeValue(b)
	if kind, ok := kindOf[t.sub]; ok {
		o["kind"], o["apiVersion"] = kind.Kind, kind.APIVersion()
	}
	d := rules.Defaults{}
	d.Object(o, "metadata")["namespace"] = t.key.Namespace
	a := &admitting{&Admission{Operation: "CREATE", Resource: t.form.Resource, Subresource: t.sub, Key: t.key, User: c.user, DryRun: dry, Object: object.Marshal(o)},
		c, nil, mutating, validating}
	st := a.call(true, mutating)
	if st == nil {
		st = a.call(false, validating)
	}
	c.warnings = a.Warnings
	c.warn(x)
	return a.Object, st
}

// readmit returns the object to store in place of old if hooks have changed o to body. As
// the object of a client, it has the fields of its type only, and defaults, and a value of
// another type is an error; fields that the write may not change are as before.
func (c *change) readmit(old, o *object.Object, body []byte) (*object.Object, *kube.Status) {
	t := c.target
	t.key = o.Key
	decode := func() (*object.Object, *kube.Status) {
		read := t.form
		if t.form != t.info && !t.info.BuiltIn { // it may have fields of all versions
			body, read = object.Marshal(c.keep(object.DecodeValue(body))), t.info
		}
		v, _, err := read.Type().Read(body)
		if err != nil {
			return nil, wire.Internal(err.Error())
		}
		if t.res = t.info.Resource; read != t.info {
			v = c.keep(v)
		}
		if t.info.BuiltIn {
			kinds.SetDefaults(t.info.Resource, v)
		} else {
			c.swollen = !t.info.Type().Default(v) || c.swollen
		}
		return decodeObject(t, object.Marshal(v))
	}
	if t.sub == "scale" {
		decode = func() (*object.Object, *kube.Status) { return c.scaled(old, body) }
	}
	changed, st := decode()
	if st == nil && c.swollen {
		st = wire.EntityTooLarge(wire.BodyLimit)
	}
	if st != nil {
		return nil, st
	}
	m := &changed.Meta
	m.UID, m.Generation, m.GenerateName, m.ResourceVersion = "", o.Meta.Generation, o.Meta.GenerateName, o.Meta.ResourceVersion
	if old != nil {
		st = c.prepareUpdate(old, changed)
	} else {
		st = c.prepareCreate(changed)
	}
	m.UID, m.CreationTimestamp, m.ManagedFields = o.Meta.UID, o.Meta.CreationTimestamp, o.Meta.ManagedFields
	return changed, st
}

// admits reports whether m selects a.
func (m *Match) admits(a *Admission) bool {
	verb := map[string]string{"CREATE": "create", "UPDATE": "update", "DELETE": "delete"}[a.Operation]
	return (m.Verb == "" || m.Verb == verb) &&
		(m.Resource == "" || m.Resource == a.Resource.Plural || m.Resource == a.Resource.GroupResource()) &&
		(m.Namespace == "" || m.Namespace == a.Key.Namespace) &&
		(m.Name == "" || m.Name == a.Key.Name)
}

// refusal is the Status of a hook's error.
func refusal(a *Admission, err error) *kube.Status {
	if st := (*kube.Status)(nil); errors.As(err, &st) {
		return st
	}
	return &kube.Status{Code: http.StatusForbidden, Reason: "Forbidden",
		Message: fmt.Sprintf("%s %q is forbidden: %v", a.Resource.GroupResource(), a.Key.Name, err),
		Details: &kube.StatusDetails{Name: a.Key.Name, Group: a.Resource.Group, Kind: a.Resource.Plural}}
}

// equivalents returns the other versions of the resource that have the subresource.
func (c *change) equivalents() (list []kube.Resource) {
	form := c.target.form
	for _, r := range c.srv.store.Served() {
		if r.Resource != form.Resource && r.SameObjects(form) && (c.target.sub == "" || hasSubresource(r, c.target.sub)) {
			list = append(list, r.Resource)
		}
	}
	return list
}

// webhooks returns the webhooks for a write of c.
func (s *Server) webhooks(c *change, operation string) (mutating, validating []*webhook.Webhook) {
	if c.target.res.Group == kinds.MutatingConfigurations.Group {
		return nil, nil // they cannot lock themselves out
	}
	configured := func(res kube.Resource) []*webhook.Webhook {
		return webhook.Configured(s.store.Objects(res).All(), operation, c.target.form.Resource, c.target.sub, c.equivalents)
	}
	return configured(kinds.MutatingConfigurations), configured(kinds.ValidatingConfigurations)
}
