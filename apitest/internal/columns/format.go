package columns

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

const (
	None    = "<none>"
	Unset   = "<unset>"
	Unknown = "<unknown>"
)

// Or returns what p points to, or other.
func Or[T any](p *T, other T) T {
	if p == nil {
		return other
	}
	return *p
}

// Fraction returns part of whole: 1/2.
func Fraction(part, whole int) string { return strconv.Itoa(part) + "/" + strconv.Itoa(whole) }

// SomeOf returns limit of the words, separated, and the number of the others.
func SomeOf(limit int, words []string, separator string) string {
	if len(words) <= limit {
		return strings.Join(words, separator)
	}
	return strings.Join(words[:limit], separator) + " + " + strconv.Itoa(len(words)-limit) + " more..."
}

// LabelList returns labels in their order, in the form of a selector.
func LabelList(labels map[string]string) string {
	var words []string
	for _, k := range object.SortedKeys(labels) {
		words = append(words, k+"="+labels[k])
	}
	if len(words) == 0 {
		return None
	}
	return strings.Join(words, ",")
}

// LabelSelector is the selector of most objects.
type LabelSelector struct {
	MatchLabels      map[string]string
	MatchExpressions []struct {
		Key, Operator string
		Values        []string
	}
}

// Text returns s in readable form.
func (s *LabelSelector) Text() string {
	t, ok := s.Format()
	switch {
	case !ok:
		return "<error>"
	case t == "":
		return None
	}
	return t
}

// Format returns s in the form of a query, empty if it selects all or is nil. ok = its
// operators are valid.
func (s *LabelSelector) Format() (t string, ok bool) {
	if s == nil {
		return "", true
	}
	type term struct{ key, text string }
	var terms []term
	for k, v := range s.MatchLabels {
		terms = append(terms, term{k, k + "=" + v})
	}
	for _, e := range s.MatchExpressions {
		values := "(" + strings.Join(Sorted(e.Values), ",") + ")"
		switch e.Operator {
		case "In":
			terms = append(terms, term{e.Key, e.Key + " in " + values})
		case "NotIn":
			terms = append(terms, term{e.Key, e.Key + " notin " + values})
		case "Exists":
			terms = append(terms, term{e.Key, e.Key})
		case "DoesNotExist":
			terms = append(terms, term{e.Key, "!" + e.Key})
		default:
			return "", false
		}
	}
	slices.SortStableFunc(terms, func(a, b term) int { return strings.Compare(a.key, b.key) })
	var words []string
	for _, t := range terms {
		words = append(words, t.text)
	}
	return strings.Join(words, ","), true
}

// GoSyntax returns s as Go's types of Kubernetes print it.
func (s *LabelSelector) GoSyntax() string {
	var b strings.Builder
	b.WriteString("&LabelSelector{MatchLabels:map[string]string{")
	for _, k := range object.SortedKeys(s.MatchLabels) {
		b.WriteString(k + ": " + s.MatchLabels[k] + ",")
	}
	b.WriteString("},MatchExpressions:[]LabelSelectorRequirement{")
	for _, e := range s.MatchExpressions {
		b.WriteString("LabelSelectorRequirement{Key:" + e.Key + ",Operator:" + e.Operator + ",Values:[" + strings.Join(e.Values, " ") + "],},")
	}
	return b.String() + "},}"
}

// Loose is text that may also be a number, such as a port or a number of pods.
type Loose string

// UnmarshalJSON implements json.Unmarshaler.
func (l *Loose) UnmarshalJSON(b []byte) error {
	switch {
	case string(b) == "null": // leaves it empty
	case b[0] == '"':
		return json.Unmarshal(b, (*string)(l))
	default:
		*l = Loose(b)
	}
	return nil
}

// Quantity is an amount in the server's form; empty is 0.
type Quantity struct{ Loose }

// String returns q, 0 if it is empty.
func (q Quantity) String() string { return cmp.Or(string(q.Loose), "0") }

// Conditions are the conditions of any object.
type Conditions []struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Reason string `json:"reason"`
}

// Holds reports whether the first condition of a type is true.
func (cs Conditions) Holds(typ string) bool {
	for _, c := range cs {
		if c.Type == typ {
			return c.Status == "True"
		}
	}
	return false
}

// Has reports whether there is a condition of a type, true or false.
func (list Conditions) Has(typ string) bool {
	for _, c := range list {
		if c.Type == typ {
			return true
		}
	}
	return false
}
