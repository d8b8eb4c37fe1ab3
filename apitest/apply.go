package apitest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// applied returns the result of a server-side apply to old. See
// https://kubernetes.io/docs/reference/using-api/server-side-apply/.
func (c *change) applied(old *object.Object, p payload) (*object.Object, *kube.Status) {
	info, key := c.target.info, c.target.key
	config, err := schema.DecodeObject(p.json)
	if err != nil {
		return nil, wire.BadRequest("error decoding patch: error unmarshaling JSON: while decoding JSON: %v", err)
	}
	meta, _ := config["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		config["metadata"] = meta
	}
	if c.target.sub == "scale" {
		return c.applyScale(old, config)
	}
	var live map[string]any
	if old != nil {
		live = view.Shown(c.target.form, old).Decoded()
	}
	merged, err := c.target.form.Type().Apply(live, config, c.write())
	if err != nil {
		return nil, wire.StatusOf(err)
	}
	c.peek(p.json)
	merged, st := c.convert(merged, meta)
	if st != nil {
		return nil, st
	}
	switch {
	case len(p.twice) > 0 && c.options.validation == "Strict":
		return nil, wire.BadRequest("error strict decoding patch: error converting YAML to JSON: %s", oneLine(p.twice, "Strict")[0])
	case c.options.validation == "Warn":
		c.warnings = slices.Clone(p.twice)
	}
	if uid := rules.TextAt(meta, "uid"); old == nil && uid != "" {
		return nil, wire.Conflict(info.Resource, key.Name, "uid mismatch: the provided object specified uid "+uid+", and no existing object was found")
	}
	if info.BuiltIn {
		kinds.SetDefaults(info.Resource, merged)
	} else {
		c.swollen = !info.Type().DefaultApplied(merged)
	}
	if c.target.form != info {
		merged, c.target.res = c.keep(merged), info.Resource
	}
	b, err := schema.Encode(merged)
	if err != nil {
		return nil, wire.Raw("%v", err)
	}
	c.owned = true
	o, st := c.decodeNamed(b)
	if st == nil && !info.BuiltIn {
		o.Hidden = hasNull(meta)
	}
	return o, st
}

// applyScale returns the result of an apply to the scale subresource, whose only writable
// field is the number. The owners of the number are asked. kube-apiserver can do so for
// built-in types only: it fails to convert those of definitions.
func (c *change) applyScale(old *object.Object, config map[string]any) (*object.Object, *kube.Status) {
	info := c.target.info
	current, spec := object.DecodeValue(view.ScaleOf(info, old)), rules.ObjectAt(config, "spec")
	meta := rules.ObjectAt(config, "metadata")
	if kind := rules.TextAt(config, "apiVersion") + ", Kind=" + rules.TextAt(config, "kind"); kind != "autoscaling/v1, Kind=Scale" {
		return nil, wire.BadRequest("invalid object type: %s", kind)
	} else if name := rules.TextAt(meta, "name"); name != "" && name != old.Key.Name {
		return nil, wire.BadRequest("the name of the object (%s) does not match the name on the URL (%s)", name, old.Key.Name)
	}
	for name, v := range spec {
		rules.ObjectAt(current, "spec")[name] = v
	}
	if rv := rules.TextAt(meta, "resourceVersion"); rv != "" {
		rules.ObjectAt(current, "metadata")["resourceVersion"] = rv
	}
	b, err := schema.Encode(current)
	if err != nil {
		return nil, wire.Raw("%v", err)
	}
	o, st := c.scaled(old, b)
	if st != nil || info.BuiltIn && c.srv.options.NoManagedFields {
		return o, st
	}
	part := map[string]any{"apiVersion": info.APIVersion(), "kind": info.Kind, "metadata": map[string]any{"name": old.Key.Name}}
	if n, ok := spec["replicas"]; ok {
		part["spec"] = map[string]any{"replicas": n}
	}
	merged, err := info.Type().Apply(view.Shown(info, old).Decoded(), part, c.write())
	if err != nil {
		st := wire.StatusOf(err)
		named := strings.NewReplacer(" using "+info.APIVersion(), " using autoscaling/v1").Replace
		st.Message = named(st.Message)
		if st.Details != nil {
			for i := range st.Details.Causes {
				st.Details.Causes[i].Message = named(st.Details.Causes[i].Message)
			}
		}
		return nil, st
	}
	if !info.BuiltIn {
		return nil, wire.Raw("failed to convert new object (%s/%s; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1",
			rules.TextAt(meta, "namespace"), old.Key.Name)
	}
	o.Meta.ManagedFields = object.Marshal(rules.ObjectAt(merged, "metadata")["managedFields"])
	c.owned = true
	return o, nil
}

// hasNull reports whether a member of metadata is null, but for those that every
// write replaces.
func hasNull(meta map[string]any) bool {
	for name, v := range meta {
		if v == nil && name != "creationTimestamp" && name != "managedFields" {
			return true
		}
	}
	return false
}

// convert returns what was merged as one of Go's objects, with what those always
// have, or why it cannot become one: the schema knows of texts that are times,
// base64 or quantities only that they are texts. meta is that of what was applied.
func (c *change) convert(merged, meta map[string]any) (map[string]any, *kube.Status) {
	form := c.target.form
	if !form.BuiltIn {
		return merged, nil
	}
	b, err := schema.Encode(merged)
	if err != nil {
		return nil, wire.Raw("%v", err)
	}
	o, _, err := form.Type().Read(b)
	if err == nil {
		return o, nil
	}
	text := err.Error()
	if strings.HasPrefix(text, "illegal base64") {
		text = "error decoding from json: " + text
	}
	version := fmt.Sprintf("%s, Kind=%s", form.APIVersion(), form.Kind)
	if form.Group == "" {
		version = "/" + version
	}
	return nil, wire.Raw("failed to convert new object (%s/%s; %s) to proper version: unable to convert unstructured object to %s: %s",
		rules.TextAt(meta, "namespace"), rules.TextAt(meta, "name"), version, version, text)
}
