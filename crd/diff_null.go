package crd

import (
	"slices"
	"strings"
)

// nulls compares whether null is a value of a member. Where it is none, the server drops it or
// sets the default; in a list it refuses it.
func (c *comparison) nulls(was, is *Schema, path string) {
	switch {
	case was.Nullable || !is.Nullable || len(c.around) == 0 || strings.HasSuffix(path, "[]"):
		c.flag(was.Nullable, is.Nullable, path, "now nullable", "no longer nullable")
	case len(is.Enum) > 0:
		c.breaks(path, "now nullable, but null is in no enum: it was dropped, and is refused")
	case c.judgesNull(was, path):
		c.breaks(path, "now nullable: null was dropped or replaced by the default, and a rule or limit around it may depend on that")
	default:
		c.note(path, "now nullable")
	}
}

// judgesNull reports whether the schemas around a member may refuse a null that was dropped or
// replaced so far. For CEL a member that is null is missing, unless it is one of a map.
func (c *comparison) judgesNull(was *Schema, path string) bool {
	name, had := path[strings.LastIndexByte(path, '.')+1:], was.hasDefault()
	switch {
	case !had && c.around[len(c.around)-1].MaxProperties != nil:
		return true
	case strings.HasSuffix(path, "{}"):
		return c.ruled(was) || slices.ContainsFunc(c.around, func(s *Schema) bool { return combinations(s) != "null" })
	case had:
		return c.depends(path, name, had)
	default:
		return c.combines(name)
	}
}
