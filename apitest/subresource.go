package apitest

import (
	"encoding/json"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/pods"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// Subresources that have the object's own kind and may change only a part of it.

// isPartial reports whether sub is one of them.
func isPartial(r *object.Info, sub string) bool {
	switch sub {
	case kinds.EphemeralContainers, kinds.Resize:
		return r.Resource == kube.Pods && r.BuiltIn
	case kinds.Approval:
		return r.Resource == kinds.CertificateSigningRequests && r.BuiltIn
	}
	return false
}

// part makes o, sent by a client, into old with the part of o that the subresource may
// change, and returns what is wrong with it.
func (c *change) part(old, o *object.Object) (causes []kube.StatusCause) {
	sent := *o
	*o = object.Object{Key: old.Key, Meta: old.Meta, Fields: old.Fields}
	o.Meta.ManagedFields = sent.Meta.ManagedFields
	field := "spec"
	if c.target.sub == kinds.Approval {
		field = "status"
	}
	raw, _ := sent.Field(field)
	was, _ := old.Field(field)
	next, live := map[string]any{}, map[string]any{}
	if len(raw) > 0 && string(raw) != "null" {
		next = object.DecodeValue(raw)
	}
	if len(was) > 0 {
		live = object.DecodeValue(was)
	}
	is := schema.Copy(live)
	var r rules.Refusals
	switch c.target.sub {
	case kinds.EphemeralContainers:
		is["ephemeralContainers"] = next["ephemeralContainers"]
		if rules.Lacks(is, "ephemeralContainers") {
			delete(is, "ephemeralContainers")
		}
		pods.RefuseEphemeral(&r, is, live)
	case kinds.Resize:
		pods.Resize(is, next)
		pods.RefuseResized(&r, is, live)
	case kinds.Approval:
		is["conditions"] = next["conditions"]
		stamp(rules.ListAt(is, "conditions"))
		if rules.Lacks(is, "conditions") {
			delete(is, "conditions")
		}
	}
	if b, err := json.Marshal(is); err == nil && !rules.SameValue(is, live) {
		o.SetField(field, b, true)
	}
	return r.Causes
}

// stamp sets missing times of conditions.
func stamp(conditions []any) {
	for _, e := range conditions {
		c, ok := e.(map[string]any)
		if !ok {
			continue
		}
		for _, name := range [...]string{"lastUpdateTime", "lastTransitionTime"} {
			if c[name] == nil {
				c[name] = object.Timestamp()
			}
		}
	}
}

// hasSubresource reports whether r has a subresource.
func hasSubresource(r *object.Info, name string) bool {
	switch name {
	case "status":
		return r.Status
	case "scale":
		return r.Scale != nil
	case "finalize":
		return r.Resource == kube.Namespaces
	}
	return isPartial(r, name)
}
