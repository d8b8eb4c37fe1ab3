package apitest

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/apitest/schema"
	"github.com/listwatch/listwatch/kube"
)

// builtInTypes are kube-apiserver's. Parsing them takes a while and nothing in
// them changes, so all servers of a process share them.
var builtInTypes = sync.OnceValue(func() *schema.Catalog { return new(schema.Catalog) })

// typeOf returns the type of what r serves. A resource of which nothing is known
// takes anything.
func typeOf(r *ResourceInfo) *schema.Type {
	if r.builtIn {
		if t, err := builtInTypes().Type(r.Resource); err == nil {
			return t
		}
	}
	t, err := builtInTypes().Custom(r.Resource, r.Schema)
	if err != nil {
		t, err = builtInTypes().Custom(r.Resource, nil)
	}
	if err != nil {
		panic(err) // an empty schema is always good
	}
	return t
}

// decode reads the object that a client sent, as its type has it: without fields
// that the type does not know, of which options.validation says what becomes.
func (c *change) decode(b []byte) (*object, *kube.Status) {
	info := c.target.info
	var head struct{ Kind, APIVersion string }
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, statusBadRequest("the object provided is unrecognized (must be of type %s): couldn't get version/kind; json parse error: %v (%s)", info.Kind, err, summary(b))
	}
	badPatch := func(err error) *kube.Status {
		return statusInvalid("", "", "", kube.StatusCause{Reason: "FieldValueInvalid", Message: fmt.Sprintf("Invalid value: %q: %v", b, err), Field: "patch"})
	}
	if st := unregistered(info, head.APIVersion, head.Kind, b); st != nil && c.options.verb == "patch" {
		return nil, badPatch(st)
	} else if st != nil {
		return nil, st
	}
	if !info.builtIn && head.Kind != "" && head.Kind != info.Kind {
		return nil, statusInvalid(info.Group, head.Kind, nameIn(b), kube.StatusCause{Reason: "FieldValueInvalid",
			Message: fmt.Sprintf("Invalid value: %q: must be %s", head.Kind, info.Kind), Field: "kind"})
	}
	v, strict, err := c.target.form.typ().Read(b)
	if err != nil && c.options.verb == "patch" {
		return nil, badPatch(err)
	}
	if err != nil {
		return nil, statusBadRequest("%s in version %q cannot be handled as a %s: %v", cmp.Or(head.Kind, info.Kind), info.Version, info.Kind, err)
	}
	if len(strict) > 0 {
		switch c.options.validation {
		case "Strict":
			if c.options.typ == typeStrategic {
				return nil, badPatch(fmt.Errorf("strict decoding error: %s", strings.Join(strict, ", ")))
			}
			return nil, statusBadRequest("%s in version %q cannot be handled as a %s: strict decoding error: %s",
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
		v, c.target.res = eventToCore(v), info.Resource
	}
	filled := info.builtIn && setDefaults(info.Resource, v)
	if other || filled || len(strict) > 0 || len(info.Schema) > 0 {
		if !info.builtIn {
			info.typ().Default(v)
		}
		if b, err = schema.Encode(v); err != nil {
			return nil, statusRaw("%v", err)
		}
	}
	return c.decodeNamed(b)
}

// decodeNamed is decodeObject, but that what is written to a name must have it.
func (c *change) decodeNamed(b []byte) (*object, *kube.Status) {
	if name := c.target.key.Name; name != "" && nameIn(b) == "" {
		return nil, statusBadRequest("the name of the object (%s based on URL) was undeterminable: name must be provided", name)
	}
	return decodeObject(c.target, b)
}

// nameIn returns metadata.name.
func nameIn(b []byte) string {
	var o struct{ Metadata struct{ Name string } }
	json.Unmarshal(b, &o) // what is no object has no name
	return o.Metadata.Name
}

// unregistered refuses a kind that kube-apiserver does not know, where it wants
// one of its own.
func unregistered(info *ResourceInfo, apiVersion, kind string, b []byte) *kube.Status {
	apiVersion, kind = cmp.Or(apiVersion, info.APIVersion()), cmp.Or(kind, info.Kind)
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group, version = "", apiVersion
	}
	switch {
	case strings.Contains(version, "/"):
		return statusBadRequest("the object provided is unrecognized (must be of type %s): unexpected GroupVersion string: %s (%s)", info.Kind, apiVersion, summary(b))
	case !info.builtIn || kind == info.Kind && apiVersion == info.APIVersion():
		return nil
	}
	if _, err := builtInTypes().Type(kube.Resource{Group: group, Version: version, Kind: kind}); err == nil {
		return nil // it is refused later
	}
	return statusBadRequest("%s in version %q cannot be handled as a %s: no kind %q is registered for version %q in scheme \"pkg/runtime/scheme.go:111\"",
		kind, version, info.Kind, kind, apiVersion)
}

// summary is what kube-apiserver's errors quote of a body.
func summary(b []byte) string {
	const most = 30
	var text string
	switch {
	case len(b) == 0:
		return "<empty>"
	case b[0] == '{':
		text = string(b[:min(len(b), most)])
	default:
		text = hex.EncodeToString(b[:min(len(b), most)])
	}
	if len(b) > most {
		text += " ..."
	}
	return text
}

// managedEntry is an entry of managedFields in the order of kube-apiserver's own
// types.
type managedEntry struct {
	Manager     string          `json:"manager,omitempty"`
	Operation   string          `json:"operation,omitempty"`
	APIVersion  string          `json:"apiVersion,omitempty"`
	Time        string          `json:"time,omitempty"`
	FieldsType  string          `json:"fieldsType,omitempty"`
	FieldsV1    json.RawMessage `json:"fieldsV1,omitempty"`
	Subresource string          `json:"subresource,omitempty"`
}

// inOrder returns managedFields as built-in types have it.
func inOrder(raw json.RawMessage) json.RawMessage {
	var entries []managedEntry
	if len(raw) == 0 || json.Unmarshal(raw, &entries) != nil {
		return raw
	}
	return marshal(entries)
}

// value returns o as package schema has it.
func (o *object) value() map[string]any { return decodeValue(o.body) }

// patch answers a PATCH of any kind.
func (s *Server) patch(x *exchange, w http.ResponseWriter, v *view) *kube.Status {
	accepted := []string{typeJSONPatch, typeMerge, typeApply}
	if x.target.info.builtIn {
		accepted = []string{typeJSONPatch, typeMerge, typeStrategic, typeApply}
	}
	typ, st := bodyType(x, accepted...)
	if st != nil && x.target.info.builtIn {
		st.Message, st.Details = "415: Unsupported Media Type", &kube.StatusDetails{}
	}
	if st != nil {
		return st
	}
	opts, st := parseWriteOptions(x, "PatchOptions", typ)
	if st != nil {
		return st
	}
	b, _, st := readBody(x, accepted...)
	if st != nil {
		return st
	}
	if typ != typeApply && !json.Valid(b) {
		return statusBadRequest("invalid JSON patch")
	}
	c := &change{srv: s, ctx: x.r.Context(), target: x.target, options: opts, user: s.username(x.r), agent: x.r.UserAgent(), mode: updates}
	c.next = func(old *object) (*object, *kube.Status) { return c.patched(old, typ, b) }
	if typ == typeApply {
		c.mode = upserts
		c.next = func(old *object) (*object, *kube.Status) { return c.applied(old, b) }
	}
	return c.answer(w, v, http.StatusOK)
}

// patched returns what a patch makes of old.
func (c *change) patched(old *object, typ string, patch []byte) (*object, *kube.Status) {
	info := c.target.info
	current := c.target.form.shown(old).value()
	if c.target.sub == "scale" {
		current = decodeValue(info.scale(old))
	}
	var merged map[string]any
	var err error
	switch typ {
	case typeJSONPatch:
		merged, err = schema.JSONPatch(current, patch)
	case typeMerge:
		merged, err = schema.MergePatch(current, patch)
	case typeStrategic:
		var p map[string]any
		if p, err = schema.DecodeObject(patch); err == nil {
			merged, err = c.target.form.typ().StrategicMerge(current, p)
		}
	}
	if err != nil {
		return nil, schemaStatus(err)
	}
	b, err := schema.Encode(merged)
	if err != nil {
		return nil, statusRaw("%v", err)
	}
	if c.target.sub == "scale" {
		return c.scaled(old, b)
	}
	o, st := c.decode(b)
	if st == nil && o.key != old.key {
		return nil, statusBadRequest("the name of the object (%s) does not match the name on the URL (%s)", o.key.Name, old.key.Name)
	}
	return o, st
}

// decodeValue decodes what this server has encoded.
func decodeValue(b []byte) map[string]any {
	v, err := schema.DecodeObject(b)
	if err != nil {
		panic(fmt.Sprintf("apitest: a stored object is not JSON: %v", err))
	}
	return v
}

// schemaStatus is the Status of an error of package schema.
func schemaStatus(err error) *kube.Status {
	if st, ok := err.(*kube.Status); ok {
		return st
	}
	return statusBadRequest("%v", err)
}

// applied returns what a server-side apply makes of old. See
// https://kubernetes.io/docs/reference/using-api/server-side-apply/.
func (c *change) applied(old *object, b []byte) (*object, *kube.Status) {
	info, key := c.target.info, c.target.key
	config, err := schema.DecodeObject(b)
	if err != nil {
		return nil, statusBadRequest("error decoding YAML: %v", err)
	}
	meta, _ := config["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		config["metadata"] = meta
	}
	if meta["namespace"] == nil && info.Namespaced {
		meta["namespace"] = key.Namespace
	}
	var live map[string]any
	if old != nil {
		live = c.target.form.shown(old).value()
	}
	merged, err := c.target.form.typ().Apply(live, config, c.write())
	if err != nil {
		return nil, schemaStatus(err)
	}
	if info.builtIn {
		setDefaults(info.Resource, merged)
	} else {
		info.typ().Default(merged)
	}
	if c.target.form != info {
		merged, c.target.res = eventToCore(merged), info.Resource
	}
	if b, err = schema.Encode(merged); err != nil {
		return nil, statusRaw("%v", err)
	}
	c.owned = true
	return c.decodeNamed(b)
}

// write says who writes, for managedFields.
func (c *change) write() schema.Write {
	agent, _, _ := strings.Cut(c.agent, "/")
	return schema.Write{
		Manager: cmp.Or(c.options.manager, agent), Subresource: c.target.sub,
		HasStatus: c.target.info.Status, Force: c.options.force, Now: time.Now(),
	}
}

// check checks o, a custom resource, against its schema.
func (c *change) check(o *object, next, live map[string]any) *kube.Status {
	info := c.target.info
	var r refusals
	r.metadata(info.Resource, object1(next, "metadata"))
	if causes := append(r.causes, info.typ().Validate(next, live)...); len(causes) > 0 {
		return statusInvalid(info.Group, info.Kind, o.key.Name, causes...)
	}
	return nil
}

// own notes in managedFields of o and next who set which field.
func (c *change) own(o *object, next, live map[string]any) *kube.Status {
	typ := c.target.info.typ()
	if c.target.form != c.target.info { // fields have the names of the form in which they are written
		typ, next = c.target.form.typ(), eventFromCore(next)
		if live != nil {
			live = eventFromCore(live)
		}
	}
	typ.Update(live, next, c.write())
	o.meta.ManagedFields = nil
	if meta, ok := next["metadata"].(map[string]any); ok && meta["managedFields"] != nil {
		b, err := schema.Encode(meta["managedFields"])
		if err != nil {
			return statusRaw("%v", err)
		}
		o.meta.ManagedFields = b
	}
	return nil
}

// whole returns a copy of o, which may be new, with its body.
func (o *object) whole(info *ResourceInfo) *object {
	w := *o
	w.seal(info, 0)
	return &w
}
