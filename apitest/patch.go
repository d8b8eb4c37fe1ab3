package apitest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// patch handles a PATCH of any kind.
func (s *Server) patch(x *Exchange, w http.ResponseWriter, v *view.View) *kube.Status {
	accepted := x.target.patchTypes()
	typ, st := bodyType(x, accepted...)
	if st != nil || x.r.Header.Get("Content-Type") == "" {
		return statusPatchType(x.target, accepted)
	}
	opts, st := parseWriteOptions(x, "PatchOptions", typ)
	if st != nil {
		return st
	}
	p, st := readBody(x, accepted...)
	if st != nil {
		return st
	}
	if typ != wire.TypeApply && !json.Valid(p.json) {
		return wire.BadRequest("invalid JSON patch")
	}
	c := s.change(x, opts, updates)
	c.next = func(old *object.Object) (*object.Object, *kube.Status) { return c.patched(old, typ, p.json) }
	if typ == wire.TypeApply {
		if c.mode = upserts; x.target.sub != "" {
			c.mode = updates
		}
		c.next = func(old *object.Object) (*object.Object, *kube.Status) { return c.applied(old, p) }
	}
	return c.answer(w, v, http.StatusOK)
}

// patched returns the result of a patch of old. managedFields, often most of an object,
// are left out where they do not matter: the result gets those of old.
func (c *change) patched(old *object.Object, typ string, patch []byte) (*object.Object, *kube.Status) {
	if info := c.target.info; c.target.form == info && !bytes.Contains(patch, []byte("managedFields")) && !bytes.Contains(patch, []byte(`\u`)) &&
		(typ != wire.TypeJSONPatch || !bytes.Contains(patch, []byte(`"/metadata"`)) && !bytes.Contains(patch, []byte(`""`))) {
		current := old.Parts(info)
		current["metadata"].(map[string]any)["resourceVersion"] = old.Meta.ResourceVersion
		if o, st := c.patchedOf(current, old, typ, patch); st == nil {
			return o, nil
		} // an error may quote all of it
	}
	return c.patchedOf(view.Shown(c.target.form, old).Decoded(), old, typ, patch)
}

func (c *change) patchedOf(current map[string]any, old *object.Object, typ string, patch []byte) (*object.Object, *kube.Status) {
	info := c.target.info
	if c.target.sub == "scale" {
		current = object.DecodeValue(view.ScaleOf(info, old))
	}
	if c.doubled = nil; typ != wire.TypeJSONPatch { // duplicate fields: the merged object has them once
		_, strict, _ := c.target.form.Type().Read(patch)
		c.doubled = slices.DeleteFunc(strict, func(text string) bool { return !strings.HasPrefix(text, "duplicate field ") })
	}
	var merged map[string]any
	var err error
	switch typ {
	case wire.TypeJSONPatch:
		merged, err = schema.JSONPatch(current, patch)
		if st, ok := err.(*kube.Status); ok && c.options.validation == "Ignore" { // then nobody looks at the fields of the operations first
			st.Message = strings.Replace(strings.TrimPrefix(st.Message, "error decoding patch: "), "[]handlers.jsonPatchOp", "jsonpatch.Patch", 1)
		}
	case wire.TypeMerge:
		if list := bytes.HasPrefix(bytes.TrimSpace(patch), []byte("[")); list && info.BuiltIn && c.options.validation == "Ignore" {
			return c.decode(payload{json: patch}) // which takes the place of the object, if nobody looks at it first
		}
		merged, err = schema.MergePatch(current, patch)
	case wire.TypeStrategic:
		if c.patch, err = schema.DecodeObject(patch); err == nil {
			merged, err = c.target.form.Type().StrategicMerge(current, c.patch)
		}
		if err == nil { // it has the form that it is decoded into
			merged["kind"], merged["apiVersion"] = current["kind"], current["apiVersion"]
		}
	}
	if err != nil {
		return nil, wire.StatusOf(err)
	}
	b, err := schema.Encode(merged)
	if err != nil {
		return nil, wire.Raw("%v", err)
	}
	if c.target.sub == "scale" {
		return c.scaled(old, b)
	}
	o, st := c.decode(payload{json: b})
	if st == nil && o.Key != old.Key {
		return nil, wire.BadRequest("the name of the object (%s) does not match the name on the URL (%s)", o.Key.Name, old.Key.Name)
	}
	return o, st
}

// badPatch is the 422 for a patch whose result, b, cannot be decoded. kube-apiserver encodes no
// result of a strategic merge patch, and shows the patch itself.
func (c *change) badPatch(b []byte, err error) *kube.Status {
	if c.patch != nil {
		b = fmt.Append(nil, c.patch)
		if _, ok := err.(base64.CorruptInputError); ok {
			err = fmt.Errorf("error decoding from json: %w", err)
		}
	}
	return wire.Invalid("", "", "", kube.StatusCause{Reason: "FieldValueInvalid", Message: fmt.Sprintf("Invalid value: %q: %v", b, err), Field: "patch"})
}

// scaled returns old with the replicas of the Scale that a client sent.
func (c *change) scaled(old *object.Object, b []byte) (*object.Object, *kube.Status) {
	info := c.target.info
	var s view.Scale
	if err := json.Unmarshal(b, &s); err != nil && c.options.verb == "patch" {
		return nil, c.badPatch(b, err)
	} else if err != nil {
		return nil, wire.BadRequest("Scale in version \"v1\" cannot be handled as a Scale: %v", err)
	}
	if s.Metadata.Name == "" && c.options.verb == "update" {
		return nil, wire.BadRequest("the name of the object (%s based on URL) was undeterminable: name must be provided", old.Key.Name)
	}
	if s.Spec.Replicas < 0 && info.BuiltIn { // that of others is refused as it is stored
		return nil, wire.Invalid("autoscaling", "Scale", old.Key.Name, kube.StatusCause{Reason: "FieldValueInvalid",
			Message: fmt.Sprintf("Invalid value: %d: must be greater than or equal to 0", s.Spec.Replicas), Field: "spec.replicas"})
	}
	c.scale, c.scale.Kind, c.scale.APIVersion = s, "Scale", "autoscaling/v1"
	o := &object.Object{Key: old.Key, Meta: old.Meta, Fields: old.Fields}
	o.Meta.ResourceVersion = s.Metadata.ResourceVersion
	first, rest, _ := strings.Cut(info.Scale.SpecReplicas, ".")
	raw, _ := old.Field(first)
	o.SetField(first, object.SetAt(raw, rest, s.Spec.Replicas), true)
	return o, nil
}
