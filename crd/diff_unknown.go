package crd

import "slices"

// added compares members that were unknown so far: objects may have them if they were kept.
func (c *comparison) added(around, is *Schema, path string) {
	switch {
	case around.AdditionalProperties != nil:
		c.note(path, "added, which was an unknown member")
		c.schema(around.AdditionalProperties, is, path)
	case around.PreserveUnknownFields && restricts(is):
		c.breaks(path, "added: objects may have it as an unknown member with a value that does not fit")
	default:
		c.note(path, "added")
	}
}

// restricts reports whether a server refuses any value by s.
func restricts(s *Schema) bool {
	var c comparison
	c.schema(&Schema{PreserveUnknownFields: true}, s, "")
	return slices.ContainsFunc(c.changes, func(o Change) bool { return o.Breaking })
}
