package crd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/internal/clip"
	"github.com/listwatch/listwatch/kube"
)

// Change is a difference between two definitions.
type Change struct {
	Version string // empty for the whole definition
	Path    string // of the member in the object, or in the definition
	Message string

	// Breaking changes make the server refuse an object or a request that it accepted,
	// or lose data. They are found by comparing schemas, without the objects: several changes
	// together, or with rules in CEL, may break what each alone does not. [Check] reads the
	// objects.
	Breaking bool
}

func (c Change) String() string {
	s := c.Path + ": " + c.Message
	if c.Version != "" {
		s = c.Version + ": " + s
	}
	if c.Breaking {
		s += " (breaking)"
	}
	return s
}

// Diff returns what applying d would change on the server, in a fixed order; nothing if
// the server does not have the definition yet. Titles, examples, descriptions, columns and
// names for people are not compared.
func Diff(ctx context.Context, c *client.Client, d *Definition) ([]Change, error) {
	old, err := d.stored(ctx, c)
	if errors.Is(err, kube.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("compare definitions: %w", err)
	}
	changes := append(compare(&old.Definition, d), misread(old, d)...)
	for _, name := range old.Status.StoredVersions {
		if d.version(name) == nil {
			changes = append(changes, Change{Version: name, Path: "versions", Breaking: true,
				Message: "objects are stored in this version: migrate them, then remove it from status.storedVersions"})
		}
	}
	return changes, nil
}

// compare returns what replacing a definition by next changes, as [Diff] does.
func compare(old, next *Definition) []Change {
	var c comparison
	for _, m := range []struct{ path, was, is string }{
		{"metadata.name", old.Metadata.Name, next.Metadata.Name},
		{"scope", old.Spec.Scope, next.Spec.Scope},
		{"names.kind", old.Spec.Names.Kind, next.Spec.Names.Kind},
	} {
		if m.was != m.is {
			c.breaks(m.path, "changed from %s to %s, which needs a new definition", m.was, m.is)
		}
	}
	if was, is := old.strategy(), next.strategy(); was != is {
		c.note("conversion", "the strategy changed from %s to %s", was, is)
	}
	for i := range old.Spec.Versions {
		was := &old.Spec.Versions[i]
		is := next.version(was.Name)
		c.version = was.Name
		switch {
		case is == nil && !was.Served && !was.Storage: // Diff asks whether objects are stored in it
			c.note("versions", "removed, which was not served")
			continue
		case is == nil:
			c.breaks("versions", "removed")
			continue
		case was.Served && !is.Served:
			c.breaks("versions", "no longer served")
		case was.Storage != is.Storage:
			c.note("versions", "another version is stored")
		case !was.Served && is.Served:
			c.note("versions", "now served")
		}
		switch {
		case was.Deprecated != is.Deprecated:
			c.note("versions", "deprecated is now %v", is.Deprecated)
		case was.DeprecationWarning != is.DeprecationWarning:
			c.note("versions", "the warning that it is deprecated is now %q", is.DeprecationWarning)
		}
		c.subresources(was, is)
		if was.Schema.OpenAPIV3Schema != nil && is.Schema.OpenAPIV3Schema != nil {
			c.schema(was.root(), is.root(), "")
		}
	}
	c.storage(old, next)
	for i := range next.Spec.Versions {
		if v := &next.Spec.Versions[i]; old.version(v.Name) == nil {
			c.version = v.Name
			c.note("versions", "added")
		}
	}
	return c.changes
}

// strategy returns how objects are converted.
func (d *Definition) strategy() string {
	if d.Spec.Conversion == nil {
		return "None"
	}
	return d.Spec.Conversion.Strategy
}

type comparison struct {
	version string
	around  []*Schema // the new schemas around the members that are compared
	changes []Change
}

func (c *comparison) note(path, format string, args ...any) {
	if path == "" {
		path = "(root)"
	}
	c.changes = append(c.changes, Change{Version: c.version, Path: path, Message: fmt.Sprintf(format, args...)})
}

func (c *comparison) breaks(path, format string, args ...any) {
	c.note(path, format, args...)
	c.changes[len(c.changes)-1].Breaking = true
}

func (c *comparison) subresources(was, is *Version) {
	if was.Subresources.Status == nil && is.Subresources.Status != nil {
		c.breaks("subresources.status", "added: writes of the whole object no longer change the status")
	} else if was.Subresources.Status != nil && is.Subresources.Status == nil {
		c.breaks("subresources.status", "removed")
	}
	switch a, b := was.Subresources.Scale, is.Subresources.Scale; {
	case a == nil && b != nil:
		c.note("subresources.scale", "added")
	case a != nil && (b == nil || *a != *b):
		c.breaks("subresources.scale", "changed or removed")
	}
	for _, f := range was.SelectableFields {
		if !slices.Contains(is.SelectableFields, f) {
			c.breaks("selectableFields", "%s removed", f.JSONPath)
		}
	}
	for _, f := range is.SelectableFields {
		if !slices.Contains(was.SelectableFields, f) {
			c.note("selectableFields", "%s added", f.JSONPath)
		}
	}
}

// schema compares the schemas of one member.
func (c *comparison) schema(was, is *Schema, path string) {
	switch {
	case was.Type == is.Type && was.IntOrString == is.IntOrString:
	case wider(was, is) && !c.ruled(is):
		c.note(path, "the type changed from %s to %s", typeName(was), typeName(is))
	default:
		c.breaks(path, "the type changed from %s to %s", typeName(was), typeName(is))
		return
	}
	for _, m := range []struct{ name, was, is string }{
		{"listType", orText(was.ListType, "atomic"), orText(is.ListType, "atomic")},
		{"mapType", orText(was.MapType, "granular"), orText(is.MapType, "granular")},
		{"listMapKeys", fmt.Sprint(slices.Sorted(slices.Values(was.ListMapKeys))), fmt.Sprint(slices.Sorted(slices.Values(is.ListMapKeys)))},
	} {
		if m.was != m.is {
			c.breaks(path, "%s changed from %s to %s", m.name, m.was, m.is)
		}
	}
	for _, m := range []struct{ name, was, is string }{{"format", was.Format, is.Format}, {"pattern", was.Pattern, is.Pattern}} {
		switch {
		case m.was == m.is:
		case m.name == "format" && m.is == "" && slices.Contains(celFormats, m.was) && c.ruled(is):
			c.breaks(path, "format %s removed, and a rule may read it", m.was)
		case m.is == "":
			c.note(path, "%s %s removed", m.name, m.was)
		case m.name == "format" && (is.Type == "integer" && m.is == "int64" || is.Type == "number" && m.is == "double"): // what servers hold anyway
			c.note(path, "format is now %s", m.is)
		default:
			c.breaks(path, "%s is now %s", m.name, m.is)
		}
	}
	c.nulls(was, is, path)
	c.flag(was.PreserveUnknownFields, is.PreserveUnknownFields, path, "unknown members are now preserved", "unknown members are no longer preserved")
	switch {
	case is.EmbeddedResource && !was.EmbeddedResource:
		c.breaks(path, "is now an embedded object, which needs apiVersion and kind")
	case was.EmbeddedResource && is.limitsMetadata():
		c.breaks(path, "no longer an embedded object: apiVersion, kind and metadata are members like others")
	case was.EmbeddedResource && !is.EmbeddedResource:
		c.note(path, "no longer an embedded object")
	}
	c.enum(was, is, path)
	c.limits(was, is, path)
	c.rules(was.Validations, is.Validations, path)
	switch a, b := combinations(was), combinations(is); {
	case a == b:
	case b == "null":
		c.note(path, "allOf, anyOf, oneOf or not removed")
	default:
		c.breaks(path, "allOf, anyOf, oneOf or not changed")
	}
	if was.EmbeddedResource && is.EmbeddedResource {
		was, is = was.whole(), is.whole()
	}
	c.members(was, is, path)
}

// flag compares a part of a schema that lets the server accept more.
func (c *comparison) flag(was, is bool, path, now, nomore string) {
	switch {
	case is && !was:
		c.note(path, "%s", now)
	case was && !is:
		c.breaks(path, "%s", nomore)
	}
}

// combinations returns allOf, anyOf, oneOf and not as text, without the anyOf that only says
// again that a value is an integer or a string.
func combinations(s *Schema) string {
	text := func(of any) string {
		b, _ := json.Marshal(of) // of parts of a schema
		return string(b)
	}
	anyOf := s.AnyOf
	if s.IntOrString && text(anyOf) == `[{"type":"integer"},{"type":"string"}]` {
		anyOf = nil
	}
	if len(s.AllOf)+len(anyOf)+len(s.OneOf) == 0 && s.Not == nil {
		return "null"
	}
	return text([]any{s.AllOf, anyOf, s.OneOf, s.Not})
}

func typeName(s *Schema) string {
	if s.IntOrString {
		return "int-or-string"
	}
	return orText(s.Type, "any")
}

func orText(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func (c *comparison) enum(was, is *Schema, path string) {
	switch {
	case len(was.Enum) == 0 && len(is.Enum) == 0:
	case len(is.Enum) == 0:
		c.note(path, "the enum was removed")
	case len(was.Enum) == 0:
		c.breaks(path, "an enum was added")
	default:
		for _, e := range missing(was.Enum, is.Enum) {
			c.breaks(path, "%s removed from the enum", clip.Text(string(e), 80))
		}
		for _, e := range missing(is.Enum, was.Enum) {
			c.note(path, "%s added to the enum", clip.Text(string(e), 80))
		}
	}
}

// missing returns the values that are not among others.
func missing(values, others []json.RawMessage) (list []json.RawMessage) {
	for _, e := range values {
		if v, err := decode(e); err == nil && !slices.ContainsFunc(others, func(o json.RawMessage) bool { return same(o, v) }) {
			list = append(list, e)
		}
	}
	return list
}

// limits compares the limits of numbers and lengths.
func (c *comparison) limits(was, is *Schema, path string) {
	length := func(n *int64) json.Number {
		if n == nil {
			return ""
		}
		return json.Number(fmt.Sprint(*n))
	}
	for _, l := range []struct {
		name    string
		was, is json.Number
		sign    int // of what is tighter
	}{
		{"minimum", was.Minimum, is.Minimum, 1}, {"maximum", was.Maximum, is.Maximum, -1},
		{"minLength", length(was.MinLength), length(is.MinLength), 1}, {"maxLength", length(was.MaxLength), length(is.MaxLength), -1},
		{"minItems", length(was.MinItems), length(is.MinItems), 1}, {"maxItems", length(was.MaxItems), length(is.MaxItems), -1},
		{"minProperties", length(was.MinProperties), length(is.MinProperties), 1}, {"maxProperties", length(was.MaxProperties), length(is.MaxProperties), -1},
	} {
		a, had := rational(l.was)
		b, has := rational(l.is)
		switch {
		case has && l.was != l.is && !is.fits(l.name, l.is):
			c.breaks(path, "%s is now %s, which %s", l.name, l.is, is.misfit())
		case has && !had && l.name != "minimum" && l.sign > 0 && b.Sign() == 0: // a length is never below 0
			c.note(path, "%s %s was added", l.name, l.is)
		case has && !had:
			c.breaks(path, "%s %s was added", l.name, l.is)
		case had && !has:
			c.note(path, "%s %s removed", l.name, l.was)
		case had && b.Cmp(a) == l.sign:
			c.breaks(path, "%s changed from %s to %s, which is tighter", l.name, l.was, l.is)
		case had && b.Cmp(a) != 0:
			c.note(path, "%s changed from %s to %s", l.name, l.was, l.is)
		}
	}
	switch {
	case is.ExclusiveMinimum && !was.ExclusiveMinimum || is.ExclusiveMaximum && !was.ExclusiveMaximum:
		c.breaks(path, "a limit is now exclusive")
	case is.ExclusiveMinimum != was.ExclusiveMinimum || is.ExclusiveMaximum != was.ExclusiveMaximum:
		c.note(path, "a limit is no longer exclusive")
	}
	c.multiples(was, is, path)
}

func (c *comparison) members(was, is *Schema, path string) {
	c.around = append(c.around, is)
	defer func() { c.around = c.around[:len(c.around)-1] }()
	for _, name := range slices.Sorted(maps.Keys(was.Properties)) {
		at := join(path, name)
		switch p := is.Properties[name]; {
		case p != nil:
			c.schema(was.Properties[name], p, at)
			c.defaults(was.Properties[name], p, path, name)
		case is.AdditionalProperties != nil:
			c.note(at, "removed, and kept as an unknown member")
			c.schema(was.Properties[name], is.AdditionalProperties, at)
			c.defaults(was.Properties[name], &Schema{}, path, name)
		case is.PreserveUnknownFields:
			c.note(at, "removed, and kept as an unknown member")
			c.defaults(was.Properties[name], &Schema{}, path, name)
		default:
			c.breaks(at, "removed: the server drops it from stored objects")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is.Properties)) {
		if was.Properties[name] == nil {
			c.added(was, is.Properties[name], join(path, name))
			c.defaults(nil, is.Properties[name], path, name)
		}
	}
	for _, name := range is.Required {
		p := is.Properties[name]
		if !slices.Contains(was.Required, name) && (p == nil || !p.hasDefault()) {
			c.breaks(join(path, name), "is now required")
		}
	}
	for _, name := range was.Required {
		if !slices.Contains(is.Required, name) && is.Properties[name] != nil {
			c.note(join(path, name), "no longer required")
		}
	}
	if was.Items != nil && is.Items != nil {
		c.schema(was.Items, is.Items, path+"[]")
		c.elementDefaults(was.Items, is.Items, path+"[]")
	}
	switch a, b := was.AdditionalProperties, is.AdditionalProperties; {
	case a != nil && b != nil:
		c.schema(a, b, path+"{}")
		c.elementDefaults(a, b, path+"{}")
	case a != nil && !is.PreserveUnknownFields:
		c.breaks(path, "members of any name are no longer kept")
	case b != nil && was.PreserveUnknownFields:
		c.added(was, b, path+"{}")
	case b != nil:
		c.note(path, "members of any name are now kept")
	}
}
