package crd

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/listwatch/listwatch/internal/clip"
)

// defaults compares the defaults of a member; was is nil for a new member.
func (c *comparison) defaults(was, is *Schema, path, name string) {
	message, had, has := defaulted(was, is)
	if message == "" {
		return
	}
	at, parent := join(path, name), c.around[len(c.around)-1]
	switch {
	case !has && slices.Contains(parent.Required, name):
		c.breaks(at, "%s, and it is required", message)
	case had && c.keys(name):
		c.breaks(at, "%s, and it is a key of the list", message)
	case has && !had && parent.MaxProperties != nil, had && !has && parent.MinProperties != nil, c.depends(at, name, had):
		c.breaks(at, "%s, and a rule or limit around it may depend on that", message)
	case has && is.overfilled():
		c.breaks(at, "%s, and with the defaults of its members a rule or limit of its own may refuse it", message)
	case was != nil:
		c.note(at, "%s", message)
	}
}

// elementDefaults compares the defaults of the elements of a list or the values of a map, which
// servers set for nulls. Without one they drop null from a map, and refuse it in a list.
func (c *comparison) elementDefaults(was, is *Schema, path string) {
	parent := c.around[len(c.around)-1]
	switch message, had, has := defaulted(was, is); {
	case message == "":
	case !has && parent.Items != nil && !is.Nullable:
		c.breaks(path, "%s, and null is refused", message)
	case has && !had && parent.MaxProperties != nil, had && !has && parent.MinProperties != nil, c.judged(is):
		c.breaks(path, "%s, and a rule or limit around it may depend on that", message)
	case has && is.overfilled():
		c.breaks(path, "%s, and with the defaults of its members a rule or limit of its own may refuse it", message)
	default:
		c.note(path, "%s", message)
	}
}

// judged reports whether rules may read an element, or restrictions or a set around it judge it.
func (c *comparison) judged(s *Schema) bool {
	return c.ruled(s) || slices.ContainsFunc(c.around, func(a *Schema) bool {
		return a.ListType == "set" || len(a.Enum) > 0 || combinations(a) != "null"
	})
}

// defaulted returns how a default changed, which of the schemas have one, and nothing if they have
// the same; was is nil for a new member.
func defaulted(was, is *Schema) (message string, had, has bool) {
	had, has = was != nil && was.hasDefault(), is.hasDefault()
	if had && has {
		if b, err := decode(is.Default); err == nil && same(was.Default, b) {
			return "", had, has
		}
	}
	switch {
	case !had && !has:
	case was == nil:
		message = "added with a default"
	case has:
		message = "default is now " + clip.Text(string(is.Default), 80)
	default:
		message = "default " + clip.Text(string(was.Default), 80) + " removed"
	}
	return message, had, has
}

// overfilled reports whether the defaults of its members may make the default of s no value of s. A
// server checks it without them.
func (s *Schema) overfilled() bool {
	v, err := decode(s.Default)
	if err != nil {
		return false
	}
	if !s.fill(v) {
		return true
	}
	text, _ := json.Marshal(s)
	return !same(s.Default, v) && (len(s.faults(v)) > 0 || strings.Contains(string(text), "x-kubernetes-validations"))
}

// keys reports whether a member of the innermost schema is a key of the list around it.
func (c *comparison) keys(name string) bool {
	n := len(c.around)
	return n > 1 && c.around[n-2].Items != nil && slices.Contains(c.around[n-2].ListMapKeys, name)
}

// depends reports whether rules or restrictions of the schemas around a member judge it, or rules
// compare a value around it with the old one. Rules that compare with the old object see a new
// default on both sides. Elements of a set may become the same.
func (c *comparison) depends(path, name string, had bool) bool {
	return c.combines(name) || slices.ContainsFunc(c.around, func(s *Schema) bool {
		return s.ListType == "set" || slices.ContainsFunc(s.Validations, func(r Rule) bool {
			names := wordsOf(r.Rule)
			return slices.Contains(names, name) && (had || !slices.Contains(names, "oldSelf")) || had && comparesOld(r.Rule, wordsOf(path))
		})
	})
}

// combines reports whether allOf, anyOf, oneOf or not of the schemas around a member name it or
// judge whole objects, or an enum does.
func (c *comparison) combines(name string) bool {
	return slices.ContainsFunc(c.around, func(s *Schema) bool {
		text := combinations(s)
		return len(s.Enum) > 0 || strings.Contains(text, strconv.Quote(name)) || ofWholes.MatchString(text)
	})
}

// ofWholes matches restrictions of whole objects: a number of members, or an enum with an object or
// a list.
var ofWholes = regexp.MustCompile(`"(min|max)Properties":|"enum":\[[^]]*[[{]`)

func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

var (
	oldPart = regexp.MustCompile(`\boldSelf\b((?:\.\w+\b)*)(\(?)`)
	oldHas  = regexp.MustCompile(`\bhas\(oldSelf[.\w]*\)`)
)

// comparesOld reports whether a rule reads the old self, or a part of it whose name is in around.
// Whether the part exists, and its size, do not count.
func comparesOld(rule string, around []string) bool {
	for _, m := range oldPart.FindAllStringSubmatch(oldHas.ReplaceAllString(rule, ""), -1) {
		parts := wordsOf(m[1])
		if m[2] != "" && len(parts) > 0 { // a method
			if parts[len(parts)-1] == "size" {
				continue
			}
			parts = parts[:len(parts)-1]
		}
		if len(parts) == 0 || slices.Contains(around, parts[len(parts)-1]) {
			return true
		}
	}
	return false
}
