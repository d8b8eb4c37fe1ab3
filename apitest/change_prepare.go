package apitest

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// prepareCreate sets the server's fields of a new object.
func (c *change) prepareCreate(o *object.Object) *kube.Status {
	s, info := c.srv.store, c.target.info
	switch {
	case c.options.verb == "update" && o.Meta.UID != "":
		return c.otherUID(o.Key, o.Meta.UID, "")
	case c.options.verb != "create":
	case o.Meta.ResourceVersion != "" && !c.options.dry:
		return wire.Raw("resourceVersion should not be set on objects to be created")
	}
	s.Lock()
	st := s.Admits(c.target.table, c.target.res, o)
	s.Unlock()
	if st != nil {
		return st
	}
	if o.Meta.Name == "" && o.Meta.GenerateName != "" {
		s.Lock()
		for range 8 {
			o.Meta.Name = o.Meta.GenerateName[:min(len(o.Meta.GenerateName), rules.MaxGenerated)] + s.Suffix()
			if c.target.table.Get(kube.Key{Namespace: o.Meta.Namespace, Name: o.Meta.Name}) == nil {
				break
			}
		}
		s.Unlock()
	}
	o.Key = kube.Key{Namespace: o.Meta.Namespace, Name: o.Meta.Name}
	o.Meta.UID, o.Meta.CreationTimestamp, o.Meta.DeletionTimestamp = "", "", ""
	if !info.BuiltIn || kinds.CountsGeneration(info, o) {
		o.Meta.Generation = 0 // otherwise that of the client
	}
	o.Meta.DeletionGracePeriodSeconds = nil
	if info.Status && info.Resource != kube.Nodes { // a kubelet registers its node with the status
		o.SetField("status", nil, false)
		if info.BuiltIn {
			if status := kinds.NewStatus(info.Resource, o.Parts(info)); status != nil {
				o.SetField("status", object.Marshal(status), true)
			}
		}
	}
	if isPartial(info, kinds.Approval) { // a signing request names its user
		spec, _ := o.Field("spec")
		o.SetField("spec", object.SetAt(spec, "username", c.user), true)
	}
	s.Lock()
	s.PrepareCreate(info, o)
	if !info.BuiltIn && !info.NoCount {
		o.Meta.Generation = 1 // with or without a spec
	}
	s.Unlock()
	if info.Resource == kube.CustomResourceDefinitions {
		return store.PrepareDefinition(nil, o)
	}
	return nil
}

const modified = "the object has been modified; please apply your changes to the latest version and try again"

// prepareUpdate checks the preconditions in o and keeps the fields that this change
// must not modify.
func (c *change) prepareUpdate(old, o *object.Object) *kube.Status {
	info := c.target.info
	o.Key = old.Key
	if o.Meta.ResourceVersion == "0" {
		o.Meta.ResourceVersion = "" // same as none
	}
	switch {
	case o.Meta.UID != "" && o.Meta.UID != old.Meta.UID && c.options.verb != "patch":
		return c.otherUID(old.Key, o.Meta.UID, old.Meta.UID)
	case o.Meta.ResourceVersion == "" && kinds.StrategyOf(info).Guarded && c.options.verb == "update" && c.target.sub != "scale":
		return wire.Invalid(info.Group, info.Plural, old.Key.Name, kube.StatusCause{Reason: "FieldValueInvalid",
			Message: "Invalid value: 0: must be specified for an update", Field: "metadata.resourceVersion"})
	case o.Meta.ResourceVersion != "" && o.Meta.ResourceVersion != old.Meta.ResourceVersion:
		return wire.Conflict(info.Resource, old.Key.Name, modified)
	}
	var wrong []kube.StatusCause
	switch c.target.sub {
	case kinds.EphemeralContainers, kinds.Resize, kinds.Approval:
		wrong = c.part(old, o)
	case "status":
		status, ok := o.Field("status")
		if zero := kinds.ZeroStatus(info.Resource); zero != "" && info.BuiltIn && (!ok || string(status) == "null") {
			status, ok = []byte(zero), true
		}
		meta := o.Meta
		if *o = (object.Object{Key: old.Key, Meta: old.Meta, Fields: old.Fields}); info.BuiltIn {
			o.Meta = statusMeta(info.Resource, &old.Meta, meta)
			status, ok = kinds.CompleteStatus(info, status)
			if info.Resource == kube.Pods {
				status = withQOS(status, old)
			}
		}
		o.Meta.ManagedFields = meta.ManagedFields
		o.SetField("status", status, ok)
	case "finalize":
		status, ok := old.Field("status")
		o.SetField("status", status, ok)
	default:
		if info.Status {
			status, ok := old.Field("status")
			o.SetField("status", status, ok)
		}
	}
	if c.causes = nil; c.srv.options.NoValidation {
	} else if c.target.sub == "" || c.target.sub == "status" && info.BuiltIn {
		meta := o.Meta
		if c.target.sub == "status" && info.Resource == kube.Pods {
			meta.DeletionTimestamp = "" // a client cannot set it
		}
		c.causes = rules.MetaCauses(&old.Meta, &meta)
	}
	if len(wrong) > 0 && !c.srv.options.NoValidation {
		return wire.Invalid(info.Group, info.Kind, old.Key.Name, wrong...)
	}
	owners := o.Meta.ManagedFields
	store.PrepareUpdate(info, old, o)
	if c.owned {
		o.Meta.ManagedFields = owners // an apply may leave none
	}
	if _, some := o.Field("webhooks"); c.counted && some {
		c.counted = false // an apply does not count there
	} else if c.counted {
		o.Meta.Generation = old.Meta.Generation + 1
	}
	if info.Resource == kube.Deployments && c.target.sub == "" && !maps.Equal(old.Meta.Annotations, o.Meta.Annotations) {
		o.Meta.Generation = old.Meta.Generation + 1 // annotations control rollouts too
	}
	if info.Resource == kube.CustomResourceDefinitions && c.target.sub == "" {
		return store.PrepareDefinition(old, o)
	}
	return nil
}

// statusMeta returns the metadata of a built-in object after a write to its status:
// that of the write, except the fields that the kind keeps.
func statusMeta(res kube.Resource, old *object.Meta, o object.Meta) object.Meta {
	switch res {
	case kube.Deployments:
		o.Labels = old.Labels
	case kube.Pods:
		o.OwnerReferences = old.OwnerReferences
	}
	o.ManagedFields = old.ManagedFields
	return o
}

// withQOS gives the status of a pod its previous QoS class.
func withQOS(status json.RawMessage, old *object.Object) json.RawMessage {
	is := object.DecodeValue(status)
	if class := old.Lookup("status.qosClass"); class != nil && is["qosClass"] != class {
		is["qosClass"] = class
		return object.Marshal(is)
	}
	return status
}

// otherUID is the 409 of an update with another UID than the object's.
func (c *change) otherUID(key kube.Key, want, have string) *kube.Status {
	info, root := c.target.info, "/registry/"
	if c.options.dry { // it does not reach etcd
		root = "/"
	}
	return wire.Conflict(info.Resource, key.Name, fmt.Sprintf("StorageError: invalid object, Code: 4, Key: %s%s/%s, ResourceVersion: 0, AdditionalErrorMsg: "+
		"Precondition failed: UID in precondition: %s, UID in object meta: %s", root, info.Registry(), key, want, have))
}

// keep returns the stored form of what a client wrote.
func (c *change) keep(v map[string]any) map[string]any {
	form := c.target.form
	if form.Kept == nil {
		return view.EventToCore(v)
	}
	c.swollen = !form.Type().Default(v) || c.swollen
	c.sent = object.Marshal(v)
	return view.Converted(form.Kept, v)
}

// asSent returns next, the object to store, in the version in which it was written,
// with the fields that only that version has.
func (c *change) asSent(next map[string]any) map[string]any {
	if len(c.sent) == 0 || c.target.sub != "" {
		return view.FromKept(c.target.form, next)
	}
	sent := object.DecodeValue(c.sent)
	sent["metadata"] = next["metadata"]
	return sent
}
