package crd

import "slices"

// rules compares rules, of which each is known by its text.
func (c *comparison) rules(was, is []Rule, path string) {
	find := func(rules []Rule, rule string) *Rule {
		if i := slices.IndexFunc(rules, func(r Rule) bool { return r.Rule == rule }); i >= 0 {
			return &rules[i]
		}
		return nil
	}
	for _, r := range is {
		switch old := find(was, r.Rule); {
		case old == nil:
			c.breaks(path, "new rule %q", r.Rule)
		case slices.Contains(was, r):
		case r.OptionalOldSelf && !old.OptionalOldSelf:
			c.breaks(path, "rule %q holds for new values too", r.Rule)
		case !r.OptionalOldSelf && old.OptionalOldSelf:
			c.note(path, "rule %q holds for new values no longer", r.Rule)
		default:
			c.note(path, "rule %q has another message, reason or path", r.Rule)
		}
	}
	for _, r := range was {
		if find(is, r.Rule) == nil {
			c.note(path, "rule %q removed", r.Rule)
		}
	}
}

// wider reports whether a server takes all values of one type for another type too.
func wider(was, is *Schema) bool {
	switch {
	case is.IntOrString:
		return was.Type == "integer" || was.Type == "string"
	case is.Type == "number":
		return was.Type == "integer"
	default:
		return is.Type == "" && is.PreserveUnknownFields
	}
}

// celFormats are those by which a string has another type in CEL.
var celFormats = []string{"byte", "date", "date-time", "duration"}

// ruled reports whether rules may read a value, which depend on its type.
func (c *comparison) ruled(s *Schema) bool {
	return len(s.Validations) > 0 || slices.ContainsFunc(c.around, func(a *Schema) bool { return len(a.Validations) > 0 })
}

// multiples compares multipleOf.
func (c *comparison) multiples(was, is *Schema, path string) {
	a, had := rational(was.MultipleOf)
	b, has := rational(is.MultipleOf)
	switch {
	case is.MultipleOf == was.MultipleOf || had && has && a.Cmp(b) == 0:
	case !is.fits("multipleOf", is.MultipleOf):
		c.breaks(path, "multipleOf is now %s, which %s", is.MultipleOf, is.misfit())
	case is.MultipleOf == "":
		c.note(path, "want no longer multiples of %s", was.MultipleOf)
	case had && has && b.Sign() > 0 && a.Quo(a, b).IsInt():
		c.note(path, "want multiples of %s, which is wider", is.MultipleOf)
	default:
		c.breaks(path, "want multiples of %s", is.MultipleOf)
	}
}
