package crd

import (
	"maps"
	"slices"
)

// root returns the schema of a whole object, which always has its metadata.
func (v *Version) root() *Schema {
	root := *v.Schema.OpenAPIV3Schema
	root.EmbeddedResource = true
	root.Required = slices.DeleteFunc(slices.Clone(root.Required), func(name string) bool { return name == "metadata" })
	return &root
}

// whole returns the schema of a whole object, embedded or not, as a server reads it: with
// apiVersion, kind and metadata, which it keeps with all members.
func (s *Schema) whole() *Schema {
	w, meta := *s, Schema{Type: "object"}
	if m := s.Properties["metadata"]; m != nil {
		meta = *m
	}
	meta.PreserveUnknownFields = true
	meta.Properties = withTexts(meta.Properties, "name", "generateName") // others a schema cannot limit
	w.Properties = withTexts(s.Properties, "apiVersion", "kind")
	w.Properties["metadata"] = &meta
	w.Required = slices.DeleteFunc(slices.Clone(s.Required), func(name string) bool { return name == "apiVersion" || name == "kind" })
	return &w
}

// limitsMetadata reports whether an object that was an embedded one may lose apiVersion, kind or
// members of its metadata by s.
func (s *Schema) limitsMetadata() bool {
	return !s.EmbeddedResource && (!s.PreserveUnknownFields || s.Properties["metadata"] != nil)
}

// withTexts returns properties and those that are missing, as strings.
func withTexts(properties map[string]*Schema, names ...string) map[string]*Schema {
	all := map[string]*Schema{}
	for _, name := range names {
		all[name] = &Schema{Type: "string"}
	}
	maps.Copy(all, properties)
	return all
}
