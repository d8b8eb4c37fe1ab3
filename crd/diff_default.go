package crd

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/listwatch/listwatch/internal/clip"
)

// defaults compares the defaults of a member; was is nil for a new member.
func (c *comparison) defaults(was, is *Schema, path, name string) {
	had, has := was != nil && was.hasDefault(), is.hasDefault()
	if had && has {
		if b, err := decode(is.Default); err == nil && same(was.Default, b) {
			return
		}
	}
	message := ""
	switch {
	case !had && !has:
		return
	case was == nil:
		message = "added with a default"
	case has:
		message = "default is now " + clip.Text(string(is.Default), 80)
	default:
		message = "default " + clip.Text(string(was.Default), 80) + " removed"
	}
	at, parent := join(path, name), c.around[len(c.around)-1]
	switch {
	case !has && slices.Contains(parent.Required, name):
		c.breaks(at, "%s, and it is required", message)
	case has && !had && parent.MaxProperties != nil, had && !has && parent.MinProperties != nil, c.depends(name, had):
		c.breaks(at, "%s, and a rule or limit around it may depend on that", message)
	case was != nil:
		c.note(at, "%s", message)
	}
}

// depends reports whether rules, allOf, anyOf, oneOf or not of the schemas around a member name
// it. Rules that compare with the old object see a new default on both sides.
func (c *comparison) depends(name string, had bool) bool {
	other := func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	return slices.ContainsFunc(c.around, func(s *Schema) bool {
		return strings.Contains(combinations(s), strconv.Quote(name)) || slices.ContainsFunc(s.Validations, func(r Rule) bool {
			words := strings.FieldsFunc(r.Rule, other)
			return slices.Contains(words, name) && (had || !slices.Contains(words, "oldSelf"))
		})
	})
}
