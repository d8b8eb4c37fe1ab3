package crd

import (
	"maps"
	"slices"
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
				c.breaks(path, "the version %s, which is stored, does not have it, and no webhook converts: writes drop it", after.Name)
			}
		}
	}
}

// stores returns the version in which objects are stored; nil if it is missing.
func (d *Definition) stores() *Version {
	i := slices.IndexFunc(d.Spec.Versions, func(v Version) bool { return v.Storage })
	if i < 0 {
		return nil
	}
	return &d.Spec.Versions[i]
}

// dropped returns the paths of the members of s that the server drops by a schema.
func dropped(s, by *Schema, path string) (paths []string) {
	if s == nil || by == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		at, p := join(path, name), by.Properties[name]
		whole := path == "" || by.EmbeddedResource
		switch {
		case p == nil && by.AdditionalProperties != nil:
			p = by.AdditionalProperties
		case p == nil && !by.PreserveUnknownFields && !(whole && (name == "apiVersion" || name == "kind" || name == "metadata")):
			paths = append(paths, at)
		}
		paths = append(paths, dropped(s.Properties[name], p, at)...)
	}
	paths = append(paths, dropped(s.Items, by.Items, path+"[]")...)
	switch {
	case by.PreserveUnknownFields || by.Type != "object":
	case s.PreserveUnknownFields || s.AdditionalProperties != nil && by.AdditionalProperties == nil:
		paths = append(paths, orText(path, "(root)"))
	}
	return append(paths, dropped(s.AdditionalProperties, by.AdditionalProperties, path+"{}")...)
}
