package crd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/listwatch/listwatch/internal/clip"
)

// Validate returns what kube-apiserver would refuse in the structure of the definition, and limits
// and defaults with which it would refuse objects, as far as this package knows them: a
// *[FieldError] for each member. The server has the last word, and alone reads CEL: [Ensure] with
// DryRun asks it.
func (d *Definition) Validate() error {
	var c structure
	c.names(d)
	stored, seen := 0, map[string]bool{}
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		at := fmt.Sprintf("versions[%s]", v.Name)
		if seen[v.Name] || !label.MatchString(v.Name) {
			c.fail(at, "the name of a version is a DNS label, and unique")
		}
		seen[v.Name] = true
		if v.Storage {
			stored++
		}
		c.version(v, at)
	}
	if stored != 1 {
		c.fail("versions", "%d versions are stored: want one", stored)
	}
	if of := d.Spec.Conversion; !d.unconverted() && (of.Strategy != "Webhook" || len(of.Webhook) == 0) {
		c.fail("conversion", "want the strategy None, or Webhook with a webhook")
	}
	return errors.Join(c.errs...)
}

type structure struct{ errs []error }

func (c *structure) fail(path, format string, args ...any) {
	c.errs = append(c.errs, &FieldError{Path: path, Message: fmt.Sprintf(format, args...)})
}

var (
	label     = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$`)
	kindName  = regexp.MustCompile(`^[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$`)
)

func (c *structure) names(d *Definition) {
	n := d.Spec.Names
	if !subdomain.MatchString(d.Spec.Group) {
		c.fail("group", "%q is not a domain with a dot, such as example.com", d.Spec.Group)
	}
	if want := n.Plural + "." + d.Spec.Group; d.Metadata.Name != want {
		c.fail("metadata.name", "%q is not %q", d.Metadata.Name, want)
	} else if len(want) > 253 {
		c.fail("metadata.name", "it has %d characters: want at most 253", len(want))
	}
	for _, name := range slices.Concat([]string{n.Plural, orText(n.Singular, strings.ToLower(n.Kind))}, n.ShortNames, n.Categories) {
		if !label.MatchString(name) {
			c.fail("names", "%q is not a DNS label", name)
		}
	}
	for _, kind := range []string{n.Kind, orText(n.ListKind, n.Kind+"List")} {
		if !kindName.MatchString(kind) {
			c.fail("names", "%q is not a kind", kind)
		}
	}
	if n.Kind == n.ListKind {
		c.fail("names", "kind and listKind are the same")
	}
	if d.Spec.Scope != "Namespaced" && d.Spec.Scope != "Cluster" {
		c.fail("scope", "%q: want Namespaced or Cluster", d.Spec.Scope)
	}
}

func (c *structure) version(v *Version, at string) {
	root := v.Schema.OpenAPIV3Schema
	if root == nil {
		c.fail(at, "it has no schema")
		return
	}
	if root.Type != "object" {
		c.fail(at, "the type of the whole object is %q: want object", root.Type)
	}
	if root.AdditionalProperties != nil {
		c.fail(at, "the whole object has additionalProperties: want properties")
	}
	if root.Nullable || root.hasDefault() {
		c.fail(at, "the whole object is nullable or has a default")
	}
	if v.Subresources.Status != nil && (len(root.restrictions()) > 0 || len(root.Enum) > 0 || root.MinProperties != nil || root.MaxProperties != nil) {
		c.fail(at, "the whole object has allOf, anyOf, oneOf, not, an enum or a number of members, and a status subresource")
	}
	c.schema(root, "")
	c.complete(root, root.restrictions(), "")
	if text := v.DeprecationWarning; text != "" && !v.Deprecated || len(text) > 256 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		c.fail(at, "a warning is that of a deprecated version, and has one line of at most 256 bytes")
	}
	if s := v.Subresources.Scale; s != nil {
		for path, part := range map[string]string{s.SpecReplicas: ".spec.", s.StatusReplicas: ".status."} {
			if !strings.HasPrefix(path, part) || strings.Contains(path, "[") {
				c.fail(at+".scale", "%q: want a path such as %sreplicas", path, part)
			}
		}
		if p := s.Selector; p != "" && !strings.HasPrefix(p, ".spec.") && !strings.HasPrefix(p, ".status.") {
			c.fail(at+".scale", "%q: want a path below .spec or .status", p)
		}
	}
	for _, col := range v.Columns {
		if !slices.Contains([]string{"string", "integer", "number", "boolean", "date"}, col.Type) {
			c.fail(at+".columns["+col.Name+"]", "%q: want the type string, integer, number, boolean or date", col.Type)
		}
		if !slices.Contains([]string{"", "byte", "date", "date-time", "double", "float", "int32", "int64", "password"}, col.Format) {
			c.fail(at+".columns["+col.Name+"]", "%q is not a format of columns", col.Format)
		}
		if col.Name == "" || !strings.HasPrefix(col.JSONPath, ".") {
			c.fail(at+".columns["+col.Name+"]", "it needs a name, and a path with a leading dot")
		}
	}
	if len(v.SelectableFields) > 8 {
		c.fail(at+".selectableFields", "%d fields: want at most 8", len(v.SelectableFields))
	}
	for i, f := range v.SelectableFields {
		if !strings.HasPrefix(f.JSONPath, ".") || slices.Contains(v.SelectableFields[:i], f) {
			c.fail(at+".selectableFields", "%q: want a path with a leading dot, once", f.JSONPath)
		}
		s := root.at(strings.TrimPrefix(f.JSONPath, "."))
		if s == nil || s.Type != "string" && s.Type != "integer" && s.Type != "boolean" {
			c.fail(strings.TrimPrefix(f.JSONPath, "."), "a selectable field is a string, an integer or a boolean")
		}
	}
}

// at returns the schema of a member; nil if there is none.
func (s *Schema) at(path string) *Schema {
	for name := range strings.SplitSeq(path, ".") {
		if s = s.Properties[name]; s == nil {
			return nil
		}
	}
	return s
}

var types = []string{"object", "array", "string", "integer", "number", "boolean"}

// schema checks s and what is in it.
func (c *structure) schema(s *Schema, path string) {
	shown := path
	if shown == "" {
		shown = "(root)"
	}
	fail := func(format string, args ...any) { c.fail(shown, format, args...) }
	switch {
	case s.Type == "" && !s.IntOrString && !s.PreserveUnknownFields:
		fail("it has no type")
	case s.Type != "" && !slices.Contains(types, s.Type):
		fail("%q is not a type of JSON", s.Type)
	case s.IntOrString && (s.PreserveUnknownFields || s.EmbeddedResource):
		fail("an int or string has no members")
	}
	if (s.Items != nil) != (s.Type == "array") {
		fail("items and the type array need each other")
	}
	if len(s.Properties) > 0 && s.AdditionalProperties != nil {
		fail("it has properties and additionalProperties")
	}
	if (len(s.Properties) > 0 || s.AdditionalProperties != nil) && s.Type != "object" {
		fail("it has members, and is not of the type object")
	}
	if s.EmbeddedResource && (s.Type != "object" || len(s.Properties) == 0 && !s.PreserveUnknownFields) {
		fail("an embedded object is of the type object, and has properties or preserves unknown ones")
	}
	if s.MapType != "" && (s.Type != "object" || s.MapType != "granular" && s.MapType != "atomic") {
		fail("mapType %q: want granular or atomic, of an object", s.MapType)
	}
	if _, err := regexp.Compile(s.Pattern); err != nil {
		fail("the pattern is not a regular expression of Go")
	}
	c.rules(s, fail)
	c.list(s, fail)
	c.combined(s, fail)
	c.values(s, fail)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		c.schema(s.Properties[name], join(path, name))
	}
	if s.Items != nil {
		c.schema(s.Items, path+"[]")
	}
	if s.AdditionalProperties != nil {
		c.schema(s.AdditionalProperties, path+"{}")
	}
}

// rules checks what can be said of rules without CEL.
func (c *structure) rules(s *Schema, fail func(string, ...any)) {
	if len(s.Validations) > 0 && s.Type == "" && !s.IntOrString {
		fail("it has rules and no type")
	}
	for i, r := range s.Validations {
		rule, message := strings.TrimSpace(r.Rule), strings.TrimSpace(r.Message)
		const lines = "\r\n"
		switch {
		case rule == "", r.MessageExpression != "" && strings.TrimSpace(r.MessageExpression) == "":
			fail("a rule, and its messageExpression, need an expression")
		case strings.ContainsAny(message, lines), message == "" && (r.Message != "" || strings.ContainsAny(rule, lines)):
			fail("a message has one line, and a rule with several lines needs one")
		case r.OptionalOldSelf && !transition.MatchString(rule):
			fail("the rule %q has optionalOldSelf, and does not read oldSelf", r.Rule)
		case slices.ContainsFunc(s.Validations[:i], func(o Rule) bool { return o.Rule == r.Rule }):
			fail("the rule %q stands twice", r.Rule)
		}
	}
}

// list checks the type of a list.
func (c *structure) list(s *Schema, fail func(string, ...any)) {
	if s.ListType == "" && len(s.ListMapKeys) == 0 {
		return
	}
	if s.Type != "array" || s.Items == nil {
		fail("listType is for lists")
		return
	}
	switch s.ListType {
	case "atomic":
	case "set":
		parts := s.Items.Type == "object" && s.Items.MapType != "atomic" || s.Items.Type == "array" && orText(s.Items.ListType, "atomic") != "atomic"
		if parts || s.Items.Nullable {
			fail("the elements of a set are scalar or atomic, and not nullable")
		}
	case "map":
		if s.Items.Type != "object" || len(s.ListMapKeys) == 0 || s.Items.Nullable {
			fail("the elements of a list that is a map are objects, not nullable, with a listMapKey")
			return
		}
	default:
		fail("listType %q: want atomic, set or map", s.ListType)
	}
	if len(s.ListMapKeys) > 0 && s.ListType != "map" {
		fail("listMapKey is for listType=map")
		return
	}
	for i, key := range s.ListMapKeys {
		p := s.Items.Properties[key]
		switch {
		case p == nil || !p.scalar():
			fail("the listMapKey %q is not a scalar member of the elements", key)
		case p.Nullable:
			fail("the listMapKey %q is nullable", key)
		case p.Default == nil && !slices.Contains(s.Items.Required, key):
			fail("the listMapKey %q is neither required nor has a default", key)
		case slices.Contains(s.ListMapKeys[:i], key):
			fail("the listMapKey %q stands twice", key)
		}
	}
}

// combined checks schemas within anyOf, oneOf, allOf and not: they only restrict values.
func (c *structure) combined(s *Schema, fail func(string, ...any)) {
	for _, sub := range s.restrictions() {
		if !sub.onlyRestricts(s.IntOrString) {
			fail("within anyOf, oneOf, allOf and not only restrictions of values may stand: no type, default, description or nullable")
		}
	}
}

// complete checks that s has the members of restrictions. A server asks that only of those of the
// whole object.
func (c *structure) complete(s *Schema, restrictions []*Schema, path string) {
	has := func(sub, of *Schema, at string) {
		if of == nil {
			c.fail(at, "it is within anyOf, oneOf, allOf or not of the whole object, and not in its schema")
			return
		}
		c.complete(of, []*Schema{sub}, at)
	}
	for _, sub := range restrictions {
		for _, name := range slices.Sorted(maps.Keys(sub.Properties)) {
			has(sub.Properties[name], s.Properties[name], join(path, name))
		}
		if sub.Items != nil {
			has(sub.Items, s.Items, path+"[]")
		}
		c.complete(s, sub.restrictions(), path)
	}
}

// restrictions returns the schemas within anyOf, oneOf, allOf and not.
func (s *Schema) restrictions() []*Schema {
	all := slices.Concat(s.AnyOf, s.OneOf, s.AllOf)
	if s.Not != nil {
		all = append(all, s.Not)
	}
	return all
}

// onlyRestricts reports whether s, with what is in it, only restricts values. That of an int or
// string may have a type.
func (s *Schema) onlyRestricts(typed bool) bool {
	if s.Type != "" && !typed || s.Default != nil || s.Description != "" || s.Title != "" || s.Nullable || s.AdditionalProperties != nil || len(s.Validations) > 0 ||
		s.PreserveUnknownFields || s.EmbeddedResource || s.IntOrString || s.ListType != "" || s.MapType != "" {
		return false
	}
	within := slices.AppendSeq(s.restrictions(), maps.Values(s.Properties))
	if s.Items != nil {
		within = append(within, s.Items)
	}
	return !slices.ContainsFunc(within, func(sub *Schema) bool { return !sub.onlyRestricts(typed) })
}

// values checks enum, example, limits and default. A server takes a default with which it
// refuses objects.
func (c *structure) values(s *Schema, fail func(string, ...any)) {
	for _, e := range s.Enum {
		if !json.Valid(e) {
			fail("%s in enum is not JSON", clip.Text(string(e), 80))
		}
	}
	if len(s.Example) > 0 && !json.Valid(s.Example) {
		fail("the example is not JSON")
	}
	for _, limit := range []struct {
		name  string
		value json.Number
	}{{"minimum", s.Minimum}, {"maximum", s.Maximum}, {"multipleOf", s.MultipleOf}} {
		if _, err := limit.value.Float64(); limit.value != "" && err != nil {
			fail("%q is not a number", clip.Text(string(limit.value), 80))
		} else if !s.fits(limit.name, limit.value) {
			fail("the limit %s %s", clip.Text(string(limit.value), 80), s.misfit())
		}
	}
	if !s.hasDefault() {
		return
	}
	v, err := decode(s.Default)
	if err != nil {
		fail("the default is not JSON")
		return
	}
	what, wrong := "the default", s.faults(v)
	if len(wrong) == 0 { // a server checks only that
		if !s.fill(v) {
			fail("the default, with those of its members, makes more than %d values", maxFilled)
			return
		}
		what, wrong = "the default, with those of its members,", s.faults(v)
	}
	for _, f := range wrong {
		at := ""
		if f.Path != "" {
			at = " at " + f.Path
		}
		fail("%s is not a value of the schema%s: %s", what, at, f.Message)
	}
}
