package crd

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// storage finds the members that clients of a version lose because objects are stored in
// another version. Without a conversion webhook the server drops what its schema lacks.
func (c *comparison) storage(old, next *Definition) {
	after := next.stores()
	if after == nil || next.strategy() != "None" {
		return
	}
	for i := range old.Spec.Versions {
		was := &old.Spec.Versions[i]
		if is := next.version(was.Name); is == nil || is == after || !was.Served && !was.Storage {
			continue
		}
		var before []string
		if v := old.stores(); v != nil && old.strategy() == "None" {
			before = dropped(was.Schema.OpenAPIV3Schema, v.Schema.OpenAPIV3Schema, "")
		}
		c.version = was.Name
		for _, path := range dropped(was.Schema.OpenAPIV3Schema, after.Schema.OpenAPIV3Schema, "") {
			known := slices.ContainsFunc(c.changes, func(o Change) bool { return o.Breaking && o.Version == was.Name && o.Path == path })
			if !known && !slices.Contains(before, path) {
				c.breaks(path, "the version %s, which is stored, does not hold all its values, and no webhook converts: writes drop them", after.Name)
			}
		}
	}
}

// misread returns the versions that a webhook converted, and none does any more: those that
// objects are stored in, or clients use, and whose schema was not that of the stored version.
func misread(old *stored, next *Definition) (changes []Change) {
	after := next.stores()
	if after == nil || old.strategy() != "Webhook" || next.strategy() != "None" {
		return nil
	}
	before := cmp.Or(old.version(after.Name), after)
	for i := range next.Spec.Versions {
		v := &next.Spec.Versions[i]
		was := old.version(v.Name)
		used := was != nil && (was.Served || slices.Contains(old.Status.StoredVersions, v.Name))
		if !used || v == after || was.Schema.OpenAPIV3Schema == nil || before.Schema.OpenAPIV3Schema == nil {
			continue
		}
		var c comparison
		if c.schema(was.root(), before.root(), ""); len(c.changes) > 0 {
			changes = append(changes, Change{Version: v.Name, Path: "conversion", Breaking: true,
				Message: fmt.Sprintf("no webhook converts between it and %s, which is stored: values are misread or dropped", after.Name)})
		}
	}
	return changes
}

// unconverted reports whether d has no conversion, and no webhook for one.
func (d *Definition) unconverted() bool {
	return d.strategy() == "None" && (d.Spec.Conversion == nil || len(d.Spec.Conversion.Webhook) == 0)
}

// stores returns the version in which objects are stored; nil if it is missing.
func (d *Definition) stores() *Version {
	i := slices.IndexFunc(d.Spec.Versions, func(v Version) bool { return v.Storage })
	if i < 0 {
		return nil
	}
	return &d.Spec.Versions[i]
}

// dropped returns the paths of the members of s that the server drops by a schema, also where
// that has another type, and of those whose nulls it drops.
func dropped(s, by *Schema, path string) (paths []string) {
	if s == nil || by == nil {
		return nil
	}
	if path == "" || by.EmbeddedResource {
		by = by.whole()
	}
	if s.Nullable && !by.Nullable && path != "" && !strings.HasSuffix(path, "[]") { // nulls in lists stay
		paths = append(paths, path)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		at, p := join(path, name), by.Properties[name]
		switch {
		case p == nil && by.AdditionalProperties != nil:
			p = by.AdditionalProperties
		case p == nil && !by.PreserveUnknownFields:
			paths = append(paths, at)
		}
		paths = append(paths, dropped(s.Properties[name], p, at)...)
	}
	paths = append(paths, dropped(s.Items, by.element(), path+"[]")...)
	open := s.PreserveUnknownFields || s.AdditionalProperties != nil && by.AdditionalProperties == nil
	if open && !by.PreserveUnknownFields || s.EmbeddedResource && by.limitsMetadata() {
		paths = append(paths, orText(path, "(root)"))
	}
	return append(paths, dropped(s.AdditionalProperties, by.AdditionalProperties, path+"{}")...)
}

// element returns the schema by which the server drops members of the elements of a list; nil
// if it drops none. Where s expects no list, elements keep no members.
func (s *Schema) element() *Schema {
	if s.Items == nil && !s.PreserveUnknownFields {
		return &Schema{}
	}
	return s.Items
}

// lost returns the paths of the members of v that the server drops by s; nulls do not count.
func lost(s *Schema, v any, path string) (paths []string) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			if of := s.element(); of != nil {
				paths = append(paths, lost(of, e, fmt.Sprintf("%s[%d]", path, i))...)
			}
		}
	case map[string]any:
		if s.EmbeddedResource {
			s = s.whole()
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			p, at := cmp.Or(s.Properties[name], s.AdditionalProperties), join(path, name)
			switch {
			case p != nil:
				paths = append(paths, lost(p, v[name], at)...)
			case !s.PreserveUnknownFields:
				paths = append(paths, at)
			}
		}
	}
	return paths
}
