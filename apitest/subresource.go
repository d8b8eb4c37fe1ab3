package apitest

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/schema"
	"github.com/listwatch/listwatch/kube"
)

// Subresources that are an object's own kind and may change a part of it only.

const (
	ephemeralContainers = "ephemeralcontainers"
	resize              = "resize"
	approval            = "approval"
)

var signingRequests = cluster("certificates.k8s.io", "certificatesigningrequests", "CertificateSigningRequest")

// isPartial reports whether sub is one of them.
func isPartial(r *object.Info, sub string) bool {
	switch sub {
	case ephemeralContainers, resize:
		return r.Resource == kube.Pods && r.BuiltIn
	case approval:
		return r.Resource == signingRequests && r.BuiltIn
	}
	return false
}

// part makes o, what a client sent, into old with that part of o which the
// subresource may change, and says what is wrong with it.
func (c *change) part(old, o *object.Object) (causes []kube.StatusCause) {
	sent := *o
	*o = object.Object{Key: old.Key, Meta: old.Meta, Fields: old.Fields}
	o.Meta.ManagedFields = sent.Meta.ManagedFields
	field := "spec"
	if c.target.sub == approval {
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
	var r refusals
	switch c.target.sub {
	case ephemeralContainers:
		is["ephemeralContainers"] = next["ephemeralContainers"]
		if lacks(is, "ephemeralContainers") {
			delete(is, "ephemeralContainers")
		}
		r.ephemeral(is, live)
	case resize:
		resized(is, next)
		r.resized(is, live)
	case approval:
		is["conditions"] = next["conditions"]
		stamp(list1(is, "conditions"))
		if lacks(is, "conditions") {
			delete(is, "conditions")
		}
	}
	if b, err := json.Marshal(is); err == nil && !same(is, live) {
		o.SetField(field, b, true)
	}
	return r.causes
}

// ephemeral refuses debug containers that are wrong, and the loss or change of one.
func (r *refusals) ephemeral(spec, old map[string]any) {
	const path = "spec.ephemeralContainers"
	names, volumes := map[string]bool{}, map[string]bool{}
	for _, list := range containerLists[:2] {
		for c := range objects(spec, list) {
			names[string1(c, "name")] = true
		}
	}
	for v := range objects(spec, "volumes") {
		volumes[string1(v, "name")] = true
	}
	list := list1(spec, "ephemeralContainers")
	for i, e := range list {
		c, _ := e.(map[string]any)
		at := fmt.Sprintf("%s[%d]", path, i)
		r.name(at+".name", string1(c, "name"), names)
		r.container(at, c, volumes)
	}
	if len(r.causes) > 0 {
		return
	}
	for before := range objects(old, "ephemeralContainers") {
		i := slices.IndexFunc(list, func(e any) bool {
			c, _ := e.(map[string]any)
			return c["name"] == before["name"]
		})
		switch {
		case i < 0:
			r.add("FieldValueForbidden", path, fmt.Sprintf("Forbidden: existing ephemeral containers %q may not be removed\n", before["name"]))
		case !same(list[i], before):
			r.add("FieldValueForbidden", path, fmt.Sprintf("Forbidden: existing ephemeral containers %q may not be changed\n", before["name"]))
		}
	}
}

// resized gives the containers of spec the resources that those of sent have.
func resized(spec, sent map[string]any) {
	for _, list := range containerLists[:2] {
		for c := range objects(spec, list) {
			for s := range objects(sent, list) {
				if s["name"] == c["name"] {
					c["resources"] = schema.Copy(s["resources"])
				}
			}
		}
	}
}

// resized refuses another class of service.
func (r *refusals) resized(spec, old map[string]any) {
	if was := qosClass(old); qosClass(spec) != was {
		r.invalid("spec", was, "Pod QOS Class may not change as a result of resizing")
	}
}

// stamp gives conditions the times that they lack.
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
