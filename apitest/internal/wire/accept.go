package wire

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Clause is a clause of an Accept header: a media type with parameters.
type Clause struct {
	Type   string
	Params map[string]string // nil = invalid parameters
}

// Clauses returns the media types that r accepts, the best first: by q, then by
// specificity. Equal ones keep their order.
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

// AcceptsNothing reports whether r has no Accept header, so that any type is
// acceptable.
func AcceptsNothing(r *http.Request) bool {
	return strings.Join(r.Header.Values("Accept"), "") == ""
}

// QueryBool decodes a boolean as the server does: everything except 0 and false is
// true, also the empty value.
func QueryBool(q url.Values, name string) bool {
	if !q.Has(name) {
		return false
	}
	v := q.Get(name)
	return v != "0" && !strings.EqualFold(v, "false")
}
