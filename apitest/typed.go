package apitest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// decode decodes the object of a client by its type: without unknown fields, which
// options.validation handles.
func (c *change) decode(p payload) (*object.Object, *kube.Status) {
	info, b := c.target.info, p.json
	c.target.res = c.target.form.Resource // which an attempt before may have changed
	if info.BuiltIn && string(bytes.TrimSpace(b)) == "null" {
		b = []byte("{}")
	}
	v, strict, wrong := c.target.form.Type().Read(b)
	head, err := wire.HeadOf(v, b, wrong == nil && len(strict) == 0)
	if err != nil && c.options.verb == "patch" {
		return nil, c.badPatch(b, fmt.Errorf("couldn't get version/kind; json parse error: %v", err))
	}
	if err != nil {
		return nil, wire.BadRequest("the object provided is unrecognized (must be of type %s): couldn't get version/kind; json parse error: %v (%s)", info.Kind, err, wire.Summary(b))
	}
	if st := c.mismatch(head, b); st != nil {
		return nil, st
	}
	c.peek(b)
	if wrong != nil && c.options.verb == "patch" {
		return nil, c.badPatch(b, wrong)
	}
	if wrong != nil {
		return nil, wire.BadRequest("%s in version %q cannot be handled as a %s: %v", cmp.Or(head.Kind, info.Kind), info.Version, info.Kind, wrong)
	}
	if strict = slices.Concat(oneLine(p.twice, c.options.validation), c.doubled, strict); len(strict) > 0 {
		switch c.options.validation {
		case "Strict":
			if c.options.verb == "patch" {
				return nil, c.badPatch(b, fmt.Errorf("strict decoding error: %s", strings.Join(strict, ", ")))
			}
			return nil, wire.BadRequest("%s in version %q cannot be handled as a %s: strict decoding error: %s",
				cmp.Or(head.Kind, info.Kind), info.Version, info.Kind, strings.Join(strict, ", "))
		case "Warn":
			c.warnings = strict
		}
	}
	other := c.target.form != info
	if other {
		if _, st := decodeObject(c.target, b); st != nil {
			return nil, st
		}
		v, c.target.res = c.keep(v), info.Resource
	}
	filled := info.BuiltIn && kinds.SetDefaults(info.Resource, v)
	if other || filled || len(strict) > 0 || len(info.Schema) > 0 || info.BuiltIn { // empty fields of a built-in type were left out
		if !info.BuiltIn {
			c.swollen = !info.Type().Default(v) || c.swollen
		}
		return c.named(v)
	}
	return c.decodeNamed(b)
}

// mismatch refuses an object, b, that has not the kind and version of the URL.
func (c *change) mismatch(head wire.Head, b []byte) *kube.Status {
	info := c.target.info
	if st := unregistered(info, head.APIVersion, head.Kind, b); st != nil && c.options.verb == "patch" {
		return c.badPatch(b, st)
	} else if st != nil {
		return st
	}
	if info.BuiltIn && head.Kind != "" && head.Kind != info.Kind {
		err := fmt.Errorf("converting (%[1]s.%[2]s) to (%[3]s.%[4]s): unknown conversion", info.Version, head.Kind, info.GoPackage(), info.Kind)
		if c.options.verb == "patch" {
			return c.badPatch(b, err)
		}
		return wire.BadRequest("%s in version %q cannot be handled as a %s: %v", head.Kind, info.Version, info.Kind, err)
	}
	if !info.BuiltIn && head.Kind != "" && head.Kind != info.Kind {
		return wire.Invalid(info.Group, head.Kind, wire.NameIn(b), kube.StatusCause{Reason: "FieldValueInvalid",
			Message: fmt.Sprintf("Invalid value: %q: must be %s", head.Kind, info.Kind), Field: "kind"})
	}
	if !info.BuiltIn && head.Kind == "" {
		missing := fmt.Sprintf("Object 'Kind' is missing in '%s'", b)
		if c.options.verb == "patch" {
			return c.badPatch(b, errors.New(missing))
		}
		if c.options.validation == "Ignore" { // kube-apiserver uses another decoder, which has set defaults by then
			return wire.BadRequest("%s in version %q cannot be handled as a %s: %s", info.Kind, c.target.form.Version, info.Kind, missing)
		}
		return wire.BadRequest("the object provided is unrecognized (must be of type %s): %v (%s)", info.Kind, missing, wire.Summary(b))
	}
	if want := c.target.form.APIVersion(); !info.BuiltIn && head.APIVersion != want && c.options.verb == "patch" {
		group, _, ok := strings.Cut(head.APIVersion, "/")
		if !ok {
			group = ""
		}
		return wire.Invalid(group, head.Kind, wire.NameIn(b), kube.StatusCause{Reason: "FieldValueInvalid",
			Message: fmt.Sprintf("Invalid value: %q: must be %s", head.APIVersion, want), Field: "apiVersion"})
	}
	if !info.BuiltIn && head.APIVersion != c.target.form.APIVersion() {
		return wire.BadRequest("the API version in the data (%s) does not match the expected API version (%s)", head.APIVersion, c.target.form.APIVersion())
	}
	return nil
}

// named is decodeNamed for the encoding of v.
func (c *change) named(v map[string]any) (*object.Object, *kube.Status) {
	if o, ok := object.Of(c.target.res, v, c.target.info.BuiltIn); ok && (c.target.key.Name == "" || o.Meta.Name != "") {
		o.Hidden = c.hides
		return c.target.place(o)
	}
	b, err := schema.Encode(v)
	if err != nil {
		return nil, wire.Raw("%v", err)
	}
	return c.decodeNamed(b)
}

// peek checks an object of a built-in type for input that decoding into Go's objects
// loses, although kube-apiserver distinguishes it.
func (c *change) peek(b []byte) {
	c.hides, c.counted = false, false
	switch c.target.info.Resource {
	case kube.Secrets: // which keeps a null, and shows an empty value
		var o struct {
			Data map[string]json.RawMessage `json:"data"`
		}
		if json.Unmarshal(b, &o) == nil {
			for _, v := range o.Data {
				c.hides = c.hides || string(v) == "null"
			}
		}
	case kinds.ValidatingConfigurations, kinds.MutatingConfigurations: // a null list and an empty one differ
		var o struct {
			Webhooks *[]json.RawMessage `json:"webhooks"`
		}
		c.counted = json.Unmarshal(b, &o) == nil && o.Webhooks != nil && len(*o.Webhooks) == 0
	}
}

// oneLine returns the duplicate YAML keys as one message for an error, and as several
// for warnings.
func oneLine(twice []string, validation string) []string {
	if len(twice) > 0 && validation == "Strict" {
		return []string{"yaml: unmarshal errors:\n  " + strings.Join(twice, "\n  ")}
	}
	return slices.Clone(twice)
}

// decodeNamed is decodeObject, but the object must have the name that it is written to.
func (c *change) decodeNamed(b []byte) (*object.Object, *kube.Status) {
	if name := c.target.key.Name; name != "" && wire.NameIn(b) == "" {
		return nil, wire.BadRequest("the name of the object (%s based on URL) was undeterminable: name must be provided", name)
	}
	o, st := decodeObject(c.target, b)
	if st == nil {
		o.Hidden = c.hides
	}
	if st != nil && c.options.verb == "patch" && !c.target.info.BuiltIn {
		if _, err := object.Parse(c.target.res, b); err != nil {
			return nil, c.badPatch(b, err)
		}
	}
	return o, st
}

// unregistered refuses an unknown kind if kube-apiserver requires one of its own.
func unregistered(info *object.Info, apiVersion, kind string, b []byte) *kube.Status {
	apiVersion, kind = cmp.Or(apiVersion, info.APIVersion()), cmp.Or(kind, info.Kind)
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group, version = "", apiVersion
	}
	switch {
	case strings.Contains(version, "/"):
		return wire.BadRequest("the object provided is unrecognized (must be of type %s): unexpected GroupVersion string: %s (%s)", info.Kind, apiVersion, wire.Summary(b))
	case !info.BuiltIn || kind == info.Kind && apiVersion == info.APIVersion():
		return nil
	}
	if _, err := object.Types().Type(kube.Resource{Group: group, Version: version, Kind: kind}); err == nil {
		return nil // it is refused later
	}
	return wire.BadRequest("%s in version %q cannot be handled as a %s: no kind %q is registered for version %q in scheme \"pkg/runtime/scheme.go:111\"",
		kind, version, info.Kind, kind, apiVersion)
}

// write returns the writer, for managedFields.
func (c *change) write() schema.Write {
	agent, _, _ := strings.Cut(c.agent, "/")
	return schema.Write{
		Manager: cmp.Or(c.options.manager, agent), Subresource: c.target.sub,
		HasStatus: c.target.info.Status, Force: c.options.force, Now: time.Now(),
	}
}

// check checks o, a custom resource, against its schema.
func (c *change) check(o *object.Object, next, live map[string]any, named []kube.StatusCause) *kube.Status {
	info := c.target.info
	var r rules.Refusals
	r.Append(named...)
	r.Metadata(info.Resource, rules.ObjectAt(next, "metadata"))
	scale := view.ScaleCauses(info, o)
	if info = c.target.form; info.Kept != nil {
		next = c.asSent(next)
		if live != nil {
			live = view.FromKept(info, live)
		}
	}
	wrong := info.Type().Validate(next, live)
	if c.target.sub == "status" { // it is checked separately
		for i := range wrong {
			wrong[i].Message = strings.Replace(wrong[i].Message, ": status.", ": ", 1)
		}
	}
	if causes := slices.Concat(r.Causes, wrong, scale); len(causes) > 0 {
		return wire.Invalid(info.Group, info.Kind, o.Key.Name, causes...)
	}
	return nil
}

// own notes in managedFields of o who set which field. old is the stored object, and
// next and live are the values of both.
func (c *change) own(old, o *object.Object, next, live map[string]any) {
	typ := c.target.info.Type()
	if c.target.form != c.target.info { // fields have the names of the version in which they are written
		typ, next = c.target.form.Type(), c.asSent(next)
		if live != nil {
			live = view.FromKept(c.target.form, live)
		}
	}
	before := schema.Managed{Sent: o.Meta.ManagedFields}
	if old != nil {
		before.Live, before.Known = old.Meta.ManagedFields, old.Known == typ
	}
	if bytes.Equal(before.Sent, before.Live) {
		before.Sent = nil // it was included
	}
	var known bool
	if o.Meta.ManagedFields, known = typ.UpdateManaged(live, next, before, c.write()); known && c.target.form == c.target.info {
		o.Known = typ
	}
}
