package schema

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

func (v *validator) text(path string, n *node, text string) {
	if r := n.rules; r != nil {
		size := int64(utf8.RuneCountInString(text))
		switch {
		case r.maxLength != nil && size > *r.maxLength:
			unit := "bytes"
			if *r.maxLength == 1 {
				unit = "byte"
			}
			v.add(path, "TooLong", "Too long: may not be more than %d %s", *r.maxLength, unit)
		case r.minLength != nil && size < *r.minLength:
			v.invalid(path, text, "should be at least %d chars long", *r.minLength)
		case r.pattern != nil && !r.pattern.regexp.MatchString(text):
			v.invalid(path, text, "should match '%s'", r.pattern.text)
		default:
			v.matches++
		}
	}
	if format := n.knownFormat(); format != "" && !n.is("integer") && !n.is("number") && !validFormat(format, text) {
		v.add(path, "TypeInvalid", "Invalid value: %s: %s in body must be of type %s: %q", show(text), path, n.format, text)
	}
}

func (v *validator) number(path string, n *node, value any) {
	format := n.knownFormat()
	f, isFloat := value.(float64)
	i, _ := value.(int64)
	if !isFloat {
		f = float64(i)
	}
	if len(n.types) == 1 && n.is("integer") {
		switch fits := !isFloat || f == math.Trunc(f) && math.Abs(f) < 1<<63; {
		case format == "" && !fits:
			v.general("Checked value must be of type integer (default format) in %s", path)
		case !fits, format == "int32" && (f < math.MinInt32 || f > math.MaxInt32):
			v.general("Checked value must be of type integer with format %s in %s", format, path)
		}
	} else if format == "float" && math.Abs(f) > math.MaxFloat32 {
		v.general("Checked value must be of type number with format %s in %s", format, path)
	}
	r := n.rules
	if r == nil {
		return
	}
	// A limit of an integer is one, too.
	limit := func(l float64) float64 {
		if isFloat {
			return l
		}
		return math.Trunc(l)
	}
	if r.multipleOf != nil {
		if m := limit(*r.multipleOf); m > 0 && f/m != math.Trunc(f/m) {
			v.invalid(path, value, "should be a multiple of %v", m)
		}
	}
	if r.maximum != nil {
		switch m := limit(*r.maximum); {
		case r.exclusiveMax && f >= m:
			v.invalid(path, value, "should be less than %v", m)
		case f > m:
			v.invalid(path, value, "should be less than or equal to %v", m)
		}
	}
	if r.minimum != nil {
		switch m := limit(*r.minimum); {
		case r.exclusiveMin && f <= m:
			v.invalid(path, value, "should be greater than %v", m)
		case f < m:
			v.invalid(path, value, "should be greater than or equal to %v", m)
		}
	}
}

func (v *validator) list(path string, n *node, list []any, old previous) {
	if n.items != nil {
		was := old.elements(n)
		for i, e := range list {
			v.value(fmt.Sprintf("%s[%d]", path, i), n.items, e, was(e))
		}
	}
	r, size := n.rules, int64(len(list))
	if r == nil {
		return
	}
	if r.minItems != nil && size < *r.minItems {
		v.invalid(path, size, "should have at least %d items", *r.minItems)
	}
	if r.maxItems != nil && size > *r.maxItems {
		v.tooMany(path, size, *r.maxItems)
	}
	if r.unique && len(repeated(list)) > 0 {
		v.add(path, "Invalid", `Invalid value: "": %s in body shouldn't contain duplicates`, path)
	}
}

func (v *validator) tooMany(path string, size, limit int64) {
	items := "items"
	if limit == 1 {
		items = "item"
	}
	v.add(path, "TooMany", "Too many: %d: must have at most %d %s", size, limit, items)
}

func (v *validator) enum(path string, enum []any, value any) {
	var values []string
	for _, e := range enum {
		if value != nil && same(e, value) { // null is in no enum
			v.matches++
			return
		}
		text, ok := e.(string)
		if !ok {
			text = show(e)
		}
		values = append(values, fmt.Sprintf("%q", text))
	}
	v.add(path, "NotSupported", "Unsupported value: %s: supported values: %s", show(value), strings.Join(values, ", "))
}

// combined checks anyOf, oneOf, allOf and not.
func (v *validator) combined(path string, r *rules, value any) {
	try := func(n *node) *validator {
		var sub validator
		sub.value(path, n, value, previous{})
		return &sub
	}
	// choose returns how many of list are right, and the best of the others.
	choose := func(list []*node) (valid int, best *validator) {
		for _, n := range list {
			sub := try(n)
			if len(sub.Causes) == 0 {
				valid++
			} else if best == nil || sub.matches > best.matches {
				best = sub
			}
		}
		return valid, best
	}
	if len(r.anyOf) > 0 {
		if valid, best := choose(r.anyOf); valid == 0 {
			v.general("%q must validate at least one schema (anyOf)", path)
			v.merge(best)
		}
	}
	if len(r.oneOf) > 0 {
		switch valid, best := choose(r.oneOf); valid {
		case 1:
		case 0:
			v.general("%q must validate one and only one schema (oneOf). Found none valid", path)
			v.merge(best)
		default:
			v.general("%q must validate one and only one schema (oneOf). Found %d valid alternatives", path, valid)
		}
	}
	valid := 0
	for _, n := range r.allOf {
		sub := try(n)
		if len(sub.Causes) == 0 {
			valid++
		}
		v.merge(sub)
	}
	if valid != len(r.allOf) {
		none := ""
		if valid == 0 {
			none = ". None validated"
		}
		v.general("%q must validate all the schemas (allOf)%s", path, none)
	}
	if r.not != nil && len(try(r.not).Causes) == 0 {
		v.general("%q must not validate the schema (not)", path)
	}
}
