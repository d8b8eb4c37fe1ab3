package crd

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Fault is a member of a value that does not fit a schema.
type Fault struct {
	Path    string // such as "spec.ports[2].name"; empty for the whole value
	Message string // without the value, which may be secret
	Pruned  bool   // the schema does not have the member: the server would drop it
}

func (f Fault) String() string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}

// faults returns how a value in JSON does not fit s, with the defaults that a server sets in it.
// Rules in CEL are not evaluated.
func faults(s *Schema, b []byte) []Fault {
	v, err := decode(b)
	if err != nil {
		return []Fault{{Message: "it is not JSON"}}
	}
	if !s.fill(v) {
		return []Fault{{Message: fmt.Sprintf("a default makes more than %d values", maxFilled)}}
	}
	return s.faults(v)
}

// faults returns how a value does not fit s as it is.
func (s *Schema) faults(v any) []Fault {
	return validator{patterns: map[string]*regexp.Regexp{}, enums: map[*Schema][]any{}}.of(s, v)
}

func decode(b []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

type validator struct {
	faults   []Fault
	patterns map[string]*regexp.Regexp // those that were compiled; nil for one that is none
	enums    map[*Schema][]any         // the values that were decoded
}

// of returns the faults of another value, with what c knows of schemas.
func (c validator) of(s *Schema, v any) []Fault {
	c.faults = nil
	c.value(s, v, "")
	return c.faults
}

// enum reports whether v is one of the values of the enum of s, if it has one.
func (c *validator) enum(s *Schema, v any) bool {
	values, ok := c.enums[s]
	if !ok && len(s.Enum) > 0 {
		for _, e := range s.Enum {
			if want, err := decode(e); err == nil {
				values = append(values, want)
			}
		}
		c.enums[s] = values
	}
	return len(s.Enum) == 0 || slices.ContainsFunc(values, func(want any) bool { return equal(want, v) })
}

func (c *validator) add(path, format string, args ...any) {
	c.faults = append(c.faults, Fault{Path: path, Message: fmt.Sprintf(format, args...)})
}

func (c *validator) value(s *Schema, v any, path string) {
	if v == nil {
		if !s.Nullable && (s.Type != "" || s.IntOrString) {
			c.add(path, "null is not of the type %s", typeName(s))
		}
		if len(s.Enum) > 0 { // a server never finds null in it
			c.add(path, "not one of the values of the enum")
		}
		return
	}
	if !c.typed(s, v, path) {
		return
	}
	if !c.enum(s, v) {
		c.add(path, "not one of the values of the enum")
	}
	switch v := v.(type) {
	case string:
		c.text(s, v, path)
	case json.Number:
		c.number(s, v, path)
	case []any:
		c.list(s, v, path)
	case map[string]any:
		c.object(s, v, path)
	}
	c.combined(s, v, path)
}

func (c *validator) typed(s *Schema, v any, path string) bool {
	is := ""
	switch v := v.(type) {
	case string:
		is = "string"
	case bool:
		is = "boolean"
	case []any:
		is = "array"
	case map[string]any:
		is = "object"
	case json.Number:
		is = "number"
		if r, ok := rational(v); ok && r.IsInt() {
			is = "integer"
		}
	}
	switch {
	case s.IntOrString && is != "integer" && is != "string":
		c.add(path, "is of the type %s: want an integer or a string", is)
	case s.Type == "" && !s.IntOrString && slices.Contains(formats, s.Format) && is != "string" && is != "array":
		c.add(path, "is of the type %s: want the format %s", is, s.Format)
	case s.Type == "string" && slices.Contains(formats, s.Format) && is == "array": // which servers take
		return true
	case s.Type == "" || s.Type == is || s.Type == "number" && is == "integer":
		return true
	default:
		c.add(path, "is of the type %s: want %s", is, s.Type)
	}
	return false
}

func (c *validator) text(s *Schema, v, path string) {
	n := int64(utf8.RuneCountInString(v))
	c.size(n, s.MinLength, s.MaxLength, "characters", path)
	if s.Pattern != "" {
		re, ok := c.patterns[s.Pattern]
		if !ok {
			re, _ = regexp.Compile(s.Pattern) // Validate reports an error
			c.patterns[s.Pattern] = re
		}
		if re != nil && !re.MatchString(v) {
			c.add(path, "does not match the pattern %s", s.Pattern)
		}
	}
	if !formatted(s.Format, v) {
		c.add(path, "is not of the format %s", s.Format)
	}
}

// formats are those of strings that are known here.
var formats = []string{"byte", "cidr", "date", "date-time", "duration", "ipv4", "ipv6", "uuid"}

// formatted reports whether a server takes v for the format, some of which it reads generously;
// true for formats that are not known here.
func formatted(format, v string) bool {
	switch format {
	case "date-time":
		day, clock, _ := strings.Cut(strings.ToLower(v), "t")
		return formatted("date", day) && clockTime.MatchString(clock)
	case "date":
		_, err := time.Parse(time.DateOnly, v)
		return err == nil
	case "duration":
		_, err := time.ParseDuration(v)
		return err == nil || durations(v)
	case "byte":
		_, err := base64.StdEncoding.DecodeString(v)
		return err == nil && v != "" && !strings.ContainsAny(v, "\r\n") // no empty value, and one line
	case "ipv4":
		a, err := netip.ParseAddr(leadingZeros.ReplaceAllString(v, "$1"))
		return err == nil && a.Zone() == "" && strings.Contains(v, ".") // also within IPv6
	case "ipv6":
		a, err := netip.ParseAddr(v)
		return err == nil && a.Is6() && a.Zone() == ""
	case "cidr":
		_, err := netip.ParsePrefix(leadingZeros.ReplaceAllString(v, "$1"))
		return err == nil
	case "uuid":
		return uuid.MatchString(v)
	}
	return true
}

var (
	clockTime    = regexp.MustCompile(`^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?(z|[+-]\d\d:\d\d)$`)
	amount       = regexp.MustCompile(`(\d+)\s*([A-Za-zµ]+)`)
	timeUnit     = regexp.MustCompile(`^((ns|us|µs|ms|s|m|h|hr|d|w|wk)$|nano|micro|milli|sec|min|hour|day|week)`)
	leadingZeros = regexp.MustCompile(`\b0+(\d)`)
	uuid         = regexp.MustCompile(`(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$`)
)

// durations reports whether a text has an amount of time, and no number that is too large.
func durations(v string) (ok bool) {
	for _, m := range amount.FindAllStringSubmatch(v, -1) {
		if _, err := strconv.Atoi(m[1]); err != nil {
			return false
		}
		ok = ok || timeUnit.MatchString(strings.ToLower(m[2]))
	}
	return ok
}

// rational returns the exact value of a number, unless its exponent is absurd.
func rational(n json.Number) (*big.Rat, bool) {
	if f, err := n.Float64(); err != nil || len(n) > 400 || f == 0 && len(n) > 40 {
		return nil, false
	}
	return new(big.Rat).SetString(string(n))
}

func (c *validator) number(s *Schema, v json.Number, path string) {
	r, ok := rational(v)
	if !ok {
		c.add(path, "is not a number that can be compared")
		return
	}
	if s.Type == "integer" || s.IntOrString {
		if _, err := strconv.ParseInt(r.RatString(), 10, s.bits()); err != nil {
			c.add(path, "is not of the format int%d", s.bits())
		}
	}
	if low := s.applied(s.Minimum, r); low != nil && (r.Cmp(low) < 0 || s.ExclusiveMinimum && r.Cmp(low) == 0) {
		c.add(path, "is below the minimum of %s", s.Minimum)
	}
	if high := s.applied(s.Maximum, r); high != nil && (r.Cmp(high) > 0 || s.ExclusiveMaximum && r.Cmp(high) == 0) {
		c.add(path, "is above the maximum of %s", s.Maximum)
	}
	if of := s.applied(s.MultipleOf, r); of != nil && (of.Sign() <= 0 || !new(big.Rat).Quo(r, of).IsInt()) {
		c.add(path, "is not a multiple of %s", s.MultipleOf)
	}
}

// applied returns a limit as servers apply it to a value; nil if there is none. See fits.
func (s *Schema) applied(limit json.Number, value *big.Rat) *big.Rat {
	exact, ok := rational(limit)
	if !ok || s.Type == "integer" || !value.IsInt() || !value.Num().IsInt64() {
		return exact
	}
	f, _ := exact.Float64()
	if f = math.Trunc(f); f < -1<<63 || f >= 1<<63 {
		f = -1 << 63 // as on amd64
	}
	return new(big.Rat).SetFloat64(f)
}

func (c *validator) size(n int64, low, high *int64, what, path string) {
	if low != nil && n < *low {
		c.add(path, "has %d %s: want at least %d", n, what, *low)
	}
	if high != nil && n > *high {
		c.add(path, "has %d %s: want at most %d", n, what, *high)
	}
}

func (c *validator) list(s *Schema, list []any, path string) {
	c.size(int64(len(list)), s.MinItems, s.MaxItems, "elements", path)
	seen := map[string]bool{}
	for i, v := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if s.Items != nil {
			c.value(s.Items, v, at)
		}
		if s.ListType != "set" && s.ListType != "map" {
			continue
		}
		id := identity(s, v)
		if seen[id] {
			c.add(at, "is there twice in a list of the type %s", s.ListType)
		}
		seen[id] = true
	}
}

// identity is what must be unique among the elements of a list.
func identity(s *Schema, v any) string {
	if m, ok := v.(map[string]any); ok && s.ListType == "map" {
		keys := make([]any, len(s.ListMapKeys))
		for i, k := range s.ListMapKeys {
			keys[i] = m[k]
		}
		v = keys
	}
	b, _ := json.Marshal(v) // it came from JSON
	return string(b)
}

func (c *validator) object(s *Schema, m map[string]any, path string) {
	if s.EmbeddedResource {
		s = s.whole()
	}
	c.size(int64(len(m)), s.MinProperties, s.MaxProperties, "members", path)
	for _, name := range s.Required {
		if _, ok := m[name]; !ok {
			c.add(join(path, name), "is required")
		}
	}
	if s.EmbeddedResource {
		for _, name := range []string{"apiVersion", "kind"} {
			if text, ok := m[name].(string); !ok || text == "" {
				c.add(join(path, name), "is required in an embedded object")
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		at := join(path, name)
		switch p := s.Properties[name]; {
		case p != nil:
			c.value(p, m[name], at)
		case s.AdditionalProperties != nil:
			c.value(s.AdditionalProperties, m[name], at)
		case s.PreserveUnknownFields:
		case s.Type == "object":
			c.faults = append(c.faults, Fault{Path: at, Message: "is not in the schema", Pruned: true})
		}
	}
}

// combined checks anyOf, oneOf, allOf and not, whose schemas have no type of their own.
func (c *validator) combined(s *Schema, v any, path string) {
	fits := func(sub *Schema) bool {
		return !slices.ContainsFunc(c.of(sub, v), func(f Fault) bool { return !f.Pruned })
	}
	if len(s.AnyOf) > 0 && !slices.ContainsFunc(s.AnyOf, fits) {
		c.add(path, "fits none of anyOf")
	}
	if len(s.OneOf) > 0 {
		n := 0
		for _, sub := range s.OneOf {
			if fits(sub) {
				n++
			}
		}
		if n != 1 {
			c.add(path, "fits %d of oneOf: want one", n)
		}
	}
	for _, sub := range s.AllOf {
		if !fits(sub) {
			c.add(path, "does not fit all of allOf")
			break
		}
	}
	if s.Not != nil && fits(s.Not) {
		c.add(path, "fits not")
	}
}

// same reports whether a value in JSON is v.
func same(b []byte, v any) bool {
	want, err := decode(b)
	return err == nil && equal(want, v)
}

// equal reports whether two decoded values are the same, and their numbers by value.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		p, known := rational(a)
		q, also := rational(b)
		return ok && (a == b || known && also && p.Cmp(q) == 0)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	default:
		return a == b
	}
}
