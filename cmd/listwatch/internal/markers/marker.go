package markers

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/codec"
)

// marker is a comment such as +kubebuilder:validation:Minimum=1.
type marker struct {
	name string // kubebuilder:validation:Minimum
	text string // what follows it: 1
}

// comments are the text and the markers before a declaration.
type comments struct {
	text    string
	markers []marker
}

// argumentsOf are the markers whose arguments have names, with these names. Those with ; are
// lists.
var argumentsOf = map[string]string{
	"kubebuilder:resource":                     "path singular scope shortName; categories;",
	"kubebuilder:metadata":                     "labels; annotations;",
	"kubebuilder:subresource:scale":            "specpath statuspath selectorpath",
	"kubebuilder:deprecatedversion":            "warning",
	"kubebuilder:selectablefield":              "JSONPath",
	"kubebuilder:printcolumn":                  "name type JSONPath description format priority",
	"kubebuilder:validation:XValidation":       rules,
	"kubebuilder:validation:items:XValidation": rules,
}

const rules = "rule message messageExpression reason fieldPath optionalOldSelf"

// effective are the names of the markers that change a definition.
var effective = regexp.MustCompile(`^(kubebuilder:|k8s:|(optional|required|nullable|default|list.+|mapType|structType)$)`)

// read adds a group of comments.
func (c *comments) read(g *ast.CommentGroup, onlyMarkers bool) {
	if g == nil {
		return
	}
	var lines []string
	for line := range strings.Lines(g.Text()) {
		line = strings.TrimRight(line, "\n")
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "+")
		if !ok {
			lines = append(lines, line)
			continue
		}
		m := marker{name: text}
		if name, value, ok := strings.Cut(text, "="); ok {
			m = marker{name, strings.TrimSpace(value)}
		}
		for name := range argumentsOf { // it ends before the first of them
			if rest, ok := strings.CutPrefix(text, name+":"); ok {
				m = marker{name, rest}
			}
		}
		m.name = strings.TrimSuffix(strings.TrimSpace(m.name), ":") // Minimum:=1 is Minimum=1
		c.markers = append(c.markers, m)
	}
	if !onlyMarkers {
		c.text = published(lines)
	}
}

// published returns the text of a comment for others: without what follows --- and lines that
// begin with TODO, but for those in blocks of code.
func published(lines []string) string {
	var text []string
	code := false
	for _, line := range lines {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			code = !code
		}
		if !code && strings.HasPrefix(trimmed, "---") {
			break
		}
		if code || !strings.HasPrefix(trimmed, "TODO") {
			text = append(text, line)
		}
	}
	return strings.TrimSpace(strings.Join(text, "\n"))
}

func (c *comments) has(names ...string) bool {
	for _, m := range c.markers {
		for _, name := range names {
			if m.name == name && m.text != "false" {
				return true
			}
		}
	}
	return false
}

// arguments are the values of a marker by their names.
type arguments map[string][]string

func (a arguments) get(name string) string { return strings.Join(a[name], "") }

// arguments returns the named arguments of a marker.
func (m marker) arguments() (arguments, error) {
	args, names := arguments{}, strings.Fields(argumentsOf[m.name])
	for v := (scanner{rest: m.text}); v.rest != ""; {
		name, value, ok := strings.Cut(v.rest, "=")
		name, v.rest = strings.TrimSpace(name), value
		var err error
		switch {
		case !ok:
			err = fmt.Errorf("%q has no value", name)
		case slices.Contains(names, name+";"):
			args[name], err = v.words()
		case slices.Contains(names, name):
			var text string
			text, err = v.word(",")
			args[name] = []string{text}
		default:
			err = fmt.Errorf("there is no argument %s", name)
		}
		if err == nil && !v.cut(",") {
			err = v.end()
		}
		if err != nil {
			return nil, fmt.Errorf("+%s: %w", m.name, err)
		}
	}
	return args, nil
}

// string returns the text of a marker, without quotes if it has any.
func (m marker) string() (string, error) {
	v := scanner{rest: m.text}
	s, err := v.word("")
	if err == nil {
		err = v.end()
	}
	if err != nil {
		return "", fmt.Errorf("+%s: %w", m.name, err)
	}
	return s, nil
}

// value returns the value of a marker as JSON.
func (m marker) value() (json.RawMessage, error) {
	v := scanner{rest: m.text}
	value, err := v.value(";")
	if err == nil && v.end() != nil && !strings.ContainsAny(m.text[:1], "{\"`'") {
		return json.Marshal(m.text) // a plain text
	}
	if err == nil {
		err = v.end()
	}
	if err != nil {
		return nil, fmt.Errorf("+%s: %w", m.name, err)
	}
	return json.Marshal(value)
}

// list returns the values of a marker such as Enum=a;b;c or Enum={a,b,c}.
func (m marker) list() (list []json.RawMessage, err error) {
	v := scanner{rest: m.text}
	for {
		value, err := v.value(";")
		if err != nil {
			return nil, fmt.Errorf("+%s: %w", m.name, err)
		}
		all, ok := value.([]any)
		if !ok {
			all = []any{value}
		}
		for _, e := range all {
			b, err := json.Marshal(e)
			if err != nil {
				return nil, err
			}
			list = append(list, b)
		}
		if v.cut(";") && strings.TrimSpace(v.rest) != "" { // not the end, as in a;b;
			continue
		}
		if err = v.end(); err != nil {
			return nil, fmt.Errorf("+%s: %w", m.name, err)
		}
		return list, nil
	}
}

// scanner reads the values of a marker.
type scanner struct {
	rest string
	open int // braces around it
}

// cut reads a character, if it follows.
func (s *scanner) cut(char string) (ok bool) {
	s.rest, ok = strings.CutPrefix(strings.TrimLeft(s.rest, " "), char)
	return ok
}

// end reports what follows a value.
func (s *scanner) end() error {
	if rest := strings.TrimSpace(s.rest); rest != "" {
		return fmt.Errorf("%q follows a value", rest)
	}
	return nil
}

// words reads a list of texts, such as a;b or {a,b}.
func (s *scanner) words() (list []string, err error) {
	between, braces := ";", s.cut("{")
	if braces {
		between = ","
	}
	for {
		text, err := s.word(",;}")
		if err != nil {
			return nil, err
		}
		if text != "" {
			list = append(list, text)
		}
		if s.cut(between) {
			continue
		}
		if braces && !s.cut("}") {
			return nil, fmt.Errorf("a brace is not closed")
		}
		return list, nil
	}
}

// word reads a text: in quotes, or up to one of the characters of stop.
func (s *scanner) word(stop string) (string, error) {
	s.rest = strings.TrimLeft(s.rest, " ")
	if strings.HasPrefix(s.rest, `"`) || strings.HasPrefix(s.rest, "`") || strings.HasPrefix(s.rest, "'") {
		if s.rest[0] == '\'' {
			text, rest, ok := strings.Cut(s.rest[1:], "'")
			if !ok {
				return "", fmt.Errorf("a quote is not closed")
			}
			s.rest = rest
			return text, nil
		}
		quoted, err := strconv.QuotedPrefix(s.rest)
		if err != nil {
			return "", fmt.Errorf("a quote is not closed")
		}
		s.rest = s.rest[len(quoted):]
		return strconv.Unquote(quoted)
	}
	end := len(s.rest)
	if i := strings.IndexAny(s.rest, stop); i >= 0 {
		end = i
	}
	text := strings.TrimSpace(s.rest[:end])
	s.rest = s.rest[end:]
	return text, nil
}

// value reads a text, number, boolean, list or map in the syntax of markers.
func (s *scanner) value(stop string) (any, error) {
	s.rest = strings.TrimLeft(s.rest, " ")
	if strings.HasPrefix(s.rest, "{") {
		if s.open++; s.open > codec.MaxDepth { // as JSON
			return nil, fmt.Errorf("nested more than %d levels deep", codec.MaxDepth)
		}
		s.rest = s.rest[1:]
		group, err := s.group()
		s.open--
		return group, err
	}
	quoted := s.rest != "" && strings.ContainsRune("\"`'", rune(s.rest[0]))
	text, err := s.word(stop + ",}")
	if err != nil || quoted {
		return text, err
	}
	if text == "true" || text == "false" {
		return text == "true", nil
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	return text, nil
}

// group reads what follows a brace.
func (s *scanner) group() (any, error) {
	list, object := []any{}, map[string]any{}
	for {
		s.rest = strings.TrimLeft(s.rest, " ,")
		if rest, ok := strings.CutPrefix(s.rest, "}"); ok {
			s.rest = rest
			if len(list) > 0 {
				return list, nil
			}
			return object, nil
		}
		if s.rest == "" {
			return nil, fmt.Errorf("a brace is not closed")
		}
		if strings.HasPrefix(s.rest, "{") {
			e, err := s.value("")
			if err != nil {
				return nil, err
			}
			list = append(list, e)
			continue
		}
		before := s.rest
		key, err := s.word(":,}")
		if err != nil {
			return nil, err
		}
		if rest, ok := strings.CutPrefix(strings.TrimLeft(s.rest, " "), ":"); ok {
			s.rest = rest
			if object[key], err = s.value(""); err != nil {
				return nil, err
			}
			continue
		}
		s.rest = before
		e, err := s.value("")
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
}
