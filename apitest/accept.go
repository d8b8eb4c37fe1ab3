package apitest

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// clause is what an Accept header names: a media type with parameters.
type clause struct {
	typ    string
	params map[string]string // nil where the clause cannot be read, but for its type
}

// clauses returns what r accepts, the best first: by its q, and then what is said
// more exactly. Others stay in the order in which they came.
func clauses(r *http.Request) []clause {
	var list []clause
	weighed := false
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		typ, params, err := mime.ParseMediaType(part)
		if err != nil {
			typ, _, _ = strings.Cut(strings.TrimSpace(part), ";")
		}
		list = append(list, clause{typ, params})
		weighed = weighed || params["q"] != "" || strings.HasSuffix(typ, "*")
	}
	if weighed {
		slices.SortStableFunc(list, compareClauses)
	}
	return list
}

func compareClauses(a, b clause) int {
	weight := func(c clause) float64 {
		if q, err := strconv.ParseFloat(c.params["q"], 64); err == nil {
			return q
		}
		return 1
	}
	vague := func(c clause) int { return strings.Count(c.typ, "*") }
	switch x, y := weight(a), weight(b); {
	case x > y:
		return -1
	case x < y:
		return 1
	}
	return vague(a) - vague(b)
}

// acceptsNothing reports whether r has no Accept header, so that everything will do.
func acceptsNothing(r *http.Request) bool {
	return strings.Join(r.Header.Values("Accept"), "") == ""
}
