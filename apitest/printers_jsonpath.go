package apitest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// jsonPath is a path as the printer columns of a definition have it: the part
// of kubectl's JSONPath that leads to one value. It has members (.name,
// ['name'], both with \. for a dot in a name), elements ([0], [-1], [*]) and filters
// ([?(@.type=="Ready")], with == != < <= > >= or none of them for what is
// there). It has no unions, no slices, no recursion; see
// https://kubernetes.io/docs/reference/kubectl/jsonpath/.
type jsonPath []pathStep

// pathStep is exactly one of its fields.
type pathStep struct {
	name   *string
	index  *int
	all    bool
	filter *pathFilter
}

type pathFilter struct {
	left, right pathOperand
	operator    string // empty: left must be there
}

// pathOperand is a path below the element, or a literal.
type pathOperand struct {
	path    jsonPath
	literal any // string, int64, float64 or bool
}

// A path longer than this, or with filters within more filters, is refused.
const (
	maxPath      = 1 << 10
	maxPathDepth = 4
)

var (
	errPath   = errors.New("not a path that is understood")
	errNoPath = errors.New("the path does not fit the object")
)

// parsePath reads a path. The first dot may be missing.
func parsePath(s string) (jsonPath, error) {
	if len(s) > maxPath {
		return nil, fmt.Errorf("%w: %d bytes", errPath, len(s))
	}
	s = strings.TrimPrefix(s, "$")
	if s != "" && s[0] != '.' && s[0] != '[' {
		s = "." + s
	}
	return parseSteps(s, maxPathDepth)
}

func parseSteps(s string, depth int) (jsonPath, error) {
	var p jsonPath
	for s != "" && s != "." {
		var steps jsonPath
		var err error
		switch {
		case strings.HasPrefix(s, ".["):
			s = s[1:]
			continue
		case s[0] == '.':
			steps, s, err = parseMember(s[1:])
		case s[0] == '[':
			steps, s, err = parseBracket(s[1:], depth)
		default:
			err = errPath
		}
		if err != nil {
			return nil, err
		}
		p = append(p, steps...)
	}
	return p, nil
}

func parseMember(s string) (jsonPath, string, error) {
	var name strings.Builder
	i := 0
	for ; i < len(s) && s[i] != '.' && s[i] != '['; i++ {
		if strings.IndexByte(",]$@{}()'\" ", s[i]) >= 0 {
			return nil, "", errPath
		}
		if s[i] == '\\' {
			if i++; i == len(s) {
				return nil, "", errPath
			}
		}
		name.WriteByte(s[i])
	}
	switch n := name.String(); n {
	case "":
		return nil, "", errPath
	case "*":
		return jsonPath{{all: true}}, s[i:], nil
	default:
		return jsonPath{{name: &n}}, s[i:], nil
	}
}

// parseBracket reads what follows a bracket.
func parseBracket(s string, depth int) (jsonPath, string, error) {
	inside, rest, ok := cutOutside(s, "]")
	if !ok {
		return nil, "", errPath
	}
	inside = strings.TrimSpace(inside)
	if f, ok := strings.CutPrefix(inside, "?("); ok && strings.HasSuffix(f, ")") && depth > 0 {
		filter, err := parseFilter(f[:len(f)-1], depth-1)
		return jsonPath{{filter: filter}}, rest, err
	}
	if inside == "*" {
		return jsonPath{{all: true}}, rest, nil
	}
	if name, ok := strings.CutPrefix(inside, "'"); ok && depth > 0 {
		name, ok = strings.CutSuffix(name, "'")
		p, err := parseSteps("."+name, 0)
		if !ok || err != nil {
			return nil, "", errPath
		}
		return p, rest, nil // a dot in quotes is still a dot
	}
	n, err := strconv.Atoi(inside)
	if err != nil {
		return nil, "", errPath
	}
	return jsonPath{{index: &n}}, rest, nil
}

// cutOutside cuts s around the first sep that stands in no quotes and in no
// brackets.
func cutOutside(s, sep string) (before, after string, ok bool) {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case depth == 0 && strings.HasPrefix(s[i:], sep):
			return s[:i], s[i+len(sep):], true
		case c == '\'' || c == '"':
			quote = c
		case c == '[' || c == '(':
			depth++
		case c == ']' || c == ')':
			depth--
		}
	}
	return s, "", false
}

func quoted(s string) (string, bool) {
	if len(s) < 2 || s[0] != '\'' && s[0] != '"' || s[len(s)-1] != s[0] {
		return "", false
	}
	if inside := s[1 : len(s)-1]; !strings.ContainsAny(inside, `'"\`) {
		return inside, true
	}
	return "", false
}

func parseFilter(s string, depth int) (*pathFilter, error) {
	f := &pathFilter{}
	left, right := s, ""
	for _, op := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if before, after, ok := cutOutside(s, op); ok {
			left, right, f.operator = before, after, op
			break
		}
	}
	var err error
	if f.left, err = parseOperand(left, depth); err == nil && f.operator != "" {
		f.right, err = parseOperand(right, depth)
	}
	return f, err
}

func parseOperand(s string, depth int) (o pathOperand, err error) {
	s = strings.TrimSpace(s)
	if path, ok := strings.CutPrefix(s, "@"); ok {
		o.path, err = parseSteps(path, depth)
		return o, err
	}
	if text, ok := quoted(s); ok {
		o.literal = text
	} else if s == "true" || s == "false" {
		o.literal = s == "true"
	} else if o.literal, ok = pathNumber(s); !ok {
		return o, errPath
	}
	return o, nil
}

// pathNumber returns an int64 or a float64.
func pathNumber(s string) (any, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}
