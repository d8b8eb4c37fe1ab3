package wire

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Clause is what an Accept header names: a media type with parameters.
type Clause struct {
	Type   string
	Params map[string]string // nil where the clause cannot be read, but for its type
}

// Clauses returns what r accepts, the best first: by its q, and then what is said
// more exactly. Others stay in the order in which they came.
func Clauses(r *http.Request) []Clause {
	var list []Clause
	weighed := false
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		typ, params, err := mime.ParseMediaType(part)
		if err != nil {
			typ, _, _ = strings.Cut(strings.TrimSpace(part), ";")
		}
		list = append(list, Clause{typ, params})
		weighed = weighed || params["q"] != "" || strings.HasSuffix(typ, "*")
	}
	if weighed {
		slices.SortStableFunc(list, compareClauses)
	}
	return list
}

func compareClauses(a, b Clause) int {
	weight := func(c Clause) float64 {
		if q, err := strconv.ParseFloat(c.Params["q"], 64); err == nil {
			return q
		}
		return 1
	}
	vague := func(c Clause) int { return strings.Count(c.Type, "*") }
	switch x, y := weight(a), weight(b); {
	case x > y:
		return -1
	case x < y:
		return 1
	}
	return vague(a) - vague(b)
}

// AcceptsNothing reports whether r has no Accept header, so that everything will do.
func AcceptsNothing(r *http.Request) bool {
	return strings.Join(r.Header.Values("Accept"), "") == ""
}

// QueryBool reads a boolean as the server does: anything but 0 and false, the
// empty value included, is true.
func QueryBool(q url.Values, name string) bool {
	if !q.Has(name) {
		return false
	}
	v := q.Get(name)
	return v != "0" && !strings.EqualFold(v, "false")
}
