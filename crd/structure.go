package crd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/internal/clip"
)

// Validate returns what kube-apiserver would refuse in the structure of the definition,
// as a *[FieldError] for each member. It does not check CEL rules, which only a server
// can: see [Ensure].
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
	}
	for _, name := range append([]string{n.Plural, n.Singular}, slices.Concat(n.ShortNames, n.Categories)...) {
		if !label.MatchString(name) {
			c.fail("names", "%q is not a DNS label", name)
		}
	}
	for _, kind := range []string{n.Kind, n.ListKind} {
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
	c.schema(root, "")
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
		if col.Name == "" || !strings.HasPrefix(col.JSONPath, ".") {
			c.fail(at+".columns["+col.Name+"]", "it needs a name, and a path with a leading dot")
		}
	}
	if len(v.SelectableFields) > 8 {
		c.fail(at+".selectableFields", "%d fields: want at most 8", len(v.SelectableFields))
	}
	for _, f := range v.SelectableFields {
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
	for _, r := range s.Validations {
		if strings.TrimSpace(r.Rule) == "" || strings.ContainsAny(r.Message, "\r\n") || strings.ContainsAny(r.Rule, "\n") && r.Message == "" {
			fail("a rule needs an expression, and a message of one line if the expression has several")
		}
	}
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
		atomic := s.Items.scalar() || s.Items.Type == "object" && s.Items.MapType == "atomic" || s.Items.Type == "array" && s.Items.ListType == "atomic"
		if !atomic || s.Items.Nullable {
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
		case p.Default == nil && !slices.Contains(s.Items.Required, key):
			fail("the listMapKey %q is neither required nor has a default", key)
		case slices.Contains(s.ListMapKeys[:i], key):
			fail("the listMapKey %q stands twice", key)
		}
	}
}

// combined checks schemas within anyOf, oneOf, allOf and not: they only restrict values.
func (c *structure) combined(s *Schema, fail func(string, ...any)) {
	for _, sub := range slices.Concat(s.AnyOf, s.OneOf, s.AllOf, []*Schema{s.Not}) {
		if sub == nil {
			continue
		}
		if sub.Type != "" && !s.IntOrString || sub.Default != nil || sub.Description != "" || sub.Nullable || sub.AdditionalProperties != nil || sub.PreserveUnknownFields || sub.EmbeddedResource || sub.ListType != "" || sub.MapType != "" {
			fail("within anyOf, oneOf, allOf and not only restrictions of values may stand: no type, default, description or nullable")
		}
		for name := range sub.Properties {
			if s.Properties[name] == nil {
				fail("%q is within anyOf, oneOf, allOf or not, and not in properties", name)
			}
		}
	}
}

// values checks that default and enum are values of the schema.
func (c *structure) values(s *Schema, fail func(string, ...any)) {
	for _, e := range s.Enum {
		plain := Schema{Type: s.Type, IntOrString: s.IntOrString, Nullable: s.Nullable, PreserveUnknownFields: true}
		if len(faults(&plain, e)) > 0 {
			fail("%s in enum is not a value of the type %s", clip.Text(string(e), 80), s.Type)
		}
	}
	for _, num := range []json.Number{s.Minimum, s.Maximum, s.MultipleOf} {
		if _, err := num.Float64(); num != "" && err != nil {
			fail("%q is not a number", clip.Text(string(num), 80))
		} else if !s.fits(num) {
			fail("the limit %s is not a value of the type integer with %d bits", clip.Text(string(num), 80), s.bits())
		}
	}
	if s.hasDefault() {
		for _, f := range faults(s, s.Default) {
			at := ""
			if f.Path != "" {
				at = " at " + f.Path
			}
			fail("the default is not a value of the schema%s: %s", at, f.Message)
		}
	}
}
