package crd

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tags are those of one field that a schema is made from.
type tags struct {
	words   []word // of crd
	each    []word // the same, for the elements of a list or the values of a map
	desc    string
	pattern string
	value_  *word // of the tag default; nil = there is none
	rules   []Rule
	columns []Column
}

type word struct{ key, value string }

// words are those of the tag crd, and whether they have a value.
var words = map[string]bool{
	"required": false, "optional": false, "immutable": false, "selectable": false, "nullable": false,
	"preserve": false, "embedded": false, "exclusiveMin": false, "exclusiveMax": false,
	"min": true, "max": true, "multipleOf": true, "enum": true, "default": true, "format": true,
	"listType": true, "listMapKey": true, "mapType": true,
}

// eachWords are those of them that an element may have.
var eachWords = []string{"nullable", "preserve", "embedded", "exclusiveMin", "exclusiveMax", "min", "max", "multipleOf", "enum", "format", "pattern"}

// has reports whether the tag crd has the word.
func (t *tags) has(key string) bool {
	return slices.ContainsFunc(t.words, func(w word) bool { return w.key == key })
}

func (t *tags) value(key string) string {
	for _, w := range t.words {
		if w.key == key {
			return w.value
		}
	}
	return ""
}

// parseTags reads the tags of a field, in their order: a message belongs to the rule
// before it. Of cel, message and column there may be several, with numbers after the key.
func parseTags(tag reflect.StructTag) (*tags, error) {
	t, seen := new(tags), map[string]bool{}
	for rest := strings.TrimSpace(string(tag)); rest != ""; rest = strings.TrimSpace(rest) {
		key, after, ok := strings.Cut(rest, ":")
		quoted, err := strconv.QuotedPrefix(after)
		if !ok || err != nil {
			return nil, fmt.Errorf("the tag is not a list of key:\"value\"")
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("the tag %s is not a Go string", key)
		}
		rest = after[len(quoted):]
		if seen[key] {
			return nil, fmt.Errorf("the tag %s is there twice: number them, as in cel:\"...\" cel2:\"...\"", key)
		}
		seen[key] = true
		if plain := strings.TrimRight(key, "0123456789"); plain == "cel" || plain == "message" || plain == "column" {
			key = plain
		}
		if err := t.add(key, value); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *tags) add(key, value string) (err error) {
	switch key {
	case "crd":
		t.words, err = parseWords(key, value)
	case "each":
		t.each, err = parseWords(key, value)
		for _, w := range t.each {
			if !slices.Contains(eachWords, w.key) {
				return fmt.Errorf("tag each: %s is not for elements", w.key)
			}
		}
	case "desc":
		t.desc = value
	case "pattern":
		t.pattern = value
	case "default":
		t.value_ = &word{"default", value}
	case "cel":
		t.rules = append(t.rules, Rule{Rule: value})
	case "message":
		if len(t.rules) == 0 {
			return fmt.Errorf("the tag message has no tag cel before it")
		}
		t.rules[len(t.rules)-1].Message = value
	case "column":
		c, err := parseColumn(value)
		if err != nil {
			return err
		}
		t.columns = append(t.columns, c)
	}
	return err
}

func parseWords(tag, text string) (list []word, err error) {
	for part := range strings.SplitSeq(text, ",") {
		key, value, valued := strings.Cut(strings.TrimSpace(part), "=")
		want, ok := words[key]
		switch {
		case key == "":
			continue
		case !ok:
			return nil, fmt.Errorf("tag %s: unknown word %q", tag, key)
		case want != valued:
			return nil, fmt.Errorf("tag %s: %s: want %s", tag, key, map[bool]string{true: key + "=value", false: "no value"}[want])
		}
		list = append(list, word{key, value})
	}
	return list, nil
}

// parseColumn reads NAME[,PATH][,priority=N][,type=T][,format=F]. The path may have
// commas.
func parseColumn(text string) (Column, error) {
	name, rest, _ := strings.Cut(text, ",")
	c := Column{Name: name}
	for rest != "" {
		i := strings.LastIndexByte(rest, ',')
		key, value, ok := strings.Cut(rest[i+1:], "=")
		switch {
		case ok && key == "priority":
			n, err := strconv.Atoi(value)
			if err != nil {
				return c, fmt.Errorf("column %q: priority is not a number", name)
			}
			c.Priority = n
		case ok && key == "type":
			c.Type = value
		case ok && key == "format":
			c.Format = value
		case strings.HasPrefix(rest, "."):
			c.JSONPath = rest
			i = -1
		default:
			return c, fmt.Errorf("column %q: %q is not priority=, type=, format= or a path with a leading dot", name, rest[i+1:])
		}
		rest = rest[:max(i, 0)]
	}
	if c.JSONPath != "" && c.Type == "" {
		c.Type = "string"
		if c.JSONPath == ".metadata.creationTimestamp" {
			c.Type = "date"
		}
	}
	return c, nil
}

// apply adds what the tags say to the schema of the field's type.
func (t *tags) apply(s *Schema) error {
	if t.pattern != "" {
		if s.Type != "string" {
			return fmt.Errorf("the tag pattern is for strings")
		}
		s.Pattern = t.pattern
	}
	for _, w := range t.words {
		if err := s.apply(w); err != nil {
			return err
		}
	}
	if t.value_ != nil {
		if err := s.apply(*t.value_); err != nil {
			return err
		}
	}
	if len(t.each) == 0 {
		return nil
	}
	of := s.Items
	if of == nil {
		of = s.AdditionalProperties
	}
	if of == nil {
		return fmt.Errorf("the tag each is for lists and maps")
	}
	for _, w := range t.each {
		if err := of.apply(w); err != nil {
			return err
		}
	}
	return nil
}

func (s *Schema) apply(w word) (err error) {
	switch w.key {
	case "nullable":
		s.Nullable = true
	case "preserve":
		s.PreserveUnknownFields = true
	case "embedded":
		s.EmbeddedResource = true
	case "exclusiveMin":
		s.ExclusiveMinimum = true
	case "exclusiveMax":
		s.ExclusiveMaximum = true
	case "multipleOf":
		if r, err := w.number(); err != nil {
			return err
		} else if r.Sign() <= 0 {
			return fmt.Errorf("%s=%s is not above 0", w.key, w.value)
		}
		s.MultipleOf = json.Number(w.value)
	case "min":
		err = s.limit(w, &s.Minimum, map[string]**int64{"string": &s.MinLength, "array": &s.MinItems, "object": &s.MinProperties})
	case "max":
		err = s.limit(w, &s.Maximum, map[string]**int64{"string": &s.MaxLength, "array": &s.MaxItems, "object": &s.MaxProperties})
	case "enum":
		for v := range strings.SplitSeq(w.value, "|") {
			s.Enum = append(s.Enum, s.literal(v))
		}
	case "default":
		s.Default = s.literal(w.value)
	case "format":
		s.Format = w.value
	case "listType":
		s.ListType = w.value
	case "listMapKey":
		s.ListMapKeys = append(s.ListMapKeys, w.value)
	case "mapType":
		s.MapType = w.value
	}
	return err
}

// limit sets a bound of a number, or of the length of anything else.
func (s *Schema) limit(w word, number *json.Number, lengths map[string]**int64) error {
	if s.Type == "integer" || s.Type == "number" {
		if _, err := w.number(); err != nil {
			return err
		}
		*number = json.Number(w.value)
		return nil
	}
	at, ok := lengths[s.Type]
	if !ok {
		return fmt.Errorf("%s is for numbers, strings, lists and maps", w.key)
	}
	n, err := strconv.ParseInt(w.value, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%s=%s is not a length", w.key, w.value)
	}
	*at = &n
	return nil
}

// number returns the value of a limit.
func (w word) number() (*big.Rat, error) {
	r, ok := rational(json.Number(w.value))
	if !ok || !json.Valid([]byte(w.value)) {
		return nil, fmt.Errorf("%s=%s is not a number", w.key, w.value)
	}
	return r, nil
}

// literal returns the JSON of a value in a tag: a string as it is, all others as JSON.
func (s *Schema) literal(v string) json.RawMessage {
	if s.Type == "string" || s.IntOrString && !json.Valid([]byte(v)) {
		b, _ := json.Marshal(v) // a string has JSON
		return b
	}
	return json.RawMessage(v) // which Validate checks
}

// transition matches rules that compare with the state before.
var transition = regexp.MustCompile(`\boldSelf\b`)

// immutableRule returns the rule of an object whose member name does not change. A rule
// on the member itself would not be evaluated when it is added or removed.
func immutableRule(name string, required bool) Rule {
	id := celName(name)
	rule := fmt.Sprintf("has(self.%[1]s) == has(oldSelf.%[1]s) && (!has(self.%[1]s) || self.%[1]s == oldSelf.%[1]s)", id)
	if required {
		rule = fmt.Sprintf("self.%[1]s == oldSelf.%[1]s", id)
	}
	r := Rule{Rule: rule, Message: name + " is immutable"}
	if id == name {
		r.FieldPath = "." + name
	}
	return r
}

// celReserved are the words that are no names in CEL; in and others are not even escaped.
var celReserved = []string{"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package", "namespace", "return"}

// celName returns how CEL names a member. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules.
func celName(name string) string {
	if slices.Contains(celReserved, name) {
		return "__" + name + "__"
	}
	return strings.NewReplacer("__", "__underscores__", ".", "__dot__", "-", "__dash__", "/", "__slash__").Replace(name)
}
