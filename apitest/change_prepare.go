package apitest

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/listwatch/listwatch/kube"
)

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
	s.mu.Lock()
	st := s.admits(c.target.table, c.target.res, o, c.srv.options)
	s.mu.Unlock()
	if st != nil {
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
	if !info.builtIn || countsGeneration(info, o) {
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
	if isPartial(info, approval) { // a request to sign says whose it is
		spec, _ := o.field("spec")
		o.setField("spec", setAt(spec, "username", c.user), true)
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
	case o.meta.ResourceVersion == "" && strategyOf(info).guarded && c.options.verb == "update" && c.target.sub != "scale":
		return statusInvalid(info.Group, info.Plural, old.key.Name, kube.StatusCause{Reason: "FieldValueInvalid",
			Message: "Invalid value: 0: must be specified for an update", Field: "metadata.resourceVersion"})
	case o.meta.ResourceVersion != "" && o.meta.ResourceVersion != old.meta.ResourceVersion:
		return statusConflict(info.Resource, old.key.Name, modified)
	}
	var wrong []kube.StatusCause
	switch c.target.sub {
	case ephemeralContainers, resize, approval:
		wrong = c.part(old, o)
	case "status":
		status, ok := o.field("status")
		if zero := zeroStatus(info.Resource); zero != "" && info.builtIn && (!ok || string(status) == "null") {
			status, ok = []byte(zero), true
		}
		meta := o.meta
		if *o = (object{key: old.key, meta: old.meta, fields: old.fields}); info.builtIn {
			o.meta = statusMeta(info.Resource, &old.meta, meta)
			status, ok = zeroedStatus(info, status)
			if info.Resource == kube.Pods {
				status = withQOS(status, old)
			}
		}
		o.meta.ManagedFields = meta.ManagedFields
		o.setField("status", status, ok)
	case "finalize":
		status, ok := old.field("status")
		o.setField("status", status, ok)
	default:
		if info.Status {
			status, ok := old.field("status")
			o.setField("status", status, ok)
		}
	}
	if c.causes = nil; c.srv.options.NoValidation {
	} else if c.target.sub == "" || c.target.sub == "status" && info.builtIn {
		meta := o.meta
		if c.target.sub == "status" && info.Resource == kube.Pods {
			meta.DeletionTimestamp = "" // whatever it says
		}
		c.causes = metaCauses(&old.meta, &meta)
	}
	if len(wrong) > 0 && !c.srv.options.NoValidation {
		return statusInvalid(info.Group, info.Kind, old.key.Name, wrong...)
	}
	owners := o.meta.ManagedFields
	prepareUpdate(info, old, o)
	if c.owned {
		o.meta.ManagedFields = owners // of which an apply may leave nothing
	}
	if _, some := o.field("webhooks"); c.counted && some {
		c.counted = false // which an apply leaves there
	} else if c.counted {
		o.meta.Generation = old.meta.Generation + 1
	}
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
		"Precondition failed: UID in precondition: %s, UID in object meta: %s", root, registryOf(info), key, want, have))
}
