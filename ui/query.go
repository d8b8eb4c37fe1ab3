package ui

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/natural"
	"github.com/listwatch/listwatch/ui/internal/refusal"
	"github.com/listwatch/listwatch/ui/internal/row"
)

// query says which objects of a type are wanted, and in which order.
type query struct {
	Type   string `json:"type"`
	NS     string `json:"ns"`
	Text   string `json:"text"`
	Labels string `json:"labels"`
	JQ     string `json:"jq"`
	Sort   string `json:"sort"`
	From   int    `json:"from"`
	Rows   int    `json:"rows"`
	At     int64  `json:"at"`
}

// maxRows is how many rows a window has, maxQuery the bytes of each text of a query, and
// maxWords how many words it has, or requirements: each is compared to each object.
const (
	maxRows  = 500
	maxQuery = 4 << 10
	maxWords = 32
)

// queryOf reads the parameters of a request.
func queryOf(v url.Values) (query, error) {
	q := query{Type: v.Get("type"), NS: v.Get("ns"), Text: v.Get("text"), Labels: v.Get("labels"), JQ: v.Get("jq"), Sort: v.Get("sort")}
	for name, p := range map[string]*int{"from": &q.From, "rows": &q.Rows} {
		if err := number(v, name, p); err != nil {
			return q, err
		}
	}
	return q, number(v, "at", &q.At)
}

func number[N int | int64](v url.Values, name string, into *N) error {
	s := v.Get(name)
	if s == "" {
		return nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || int64(N(n)) != n {
		return refusal.Invalid("%s must be a number from 0", name)
	}
	*into = N(n)
	return nil
}

// filter is a query that was read.
type filter struct {
	namespaces []string // sorted; empty = all
	words      []string
	without    []string
	labels     kube.Selector
	by         int // column, or one of the following
	reverse    bool
}

const (
	byName = -1 - iota
	byChanged
	byCreated
)

// read checks q, and sets its defaults.
func (q *query) read() (filter, error) {
	f := filter{by: byName}
	for _, s := range []string{q.Type, q.NS, q.Text, q.Labels, q.JQ, q.Sort} {
		if len(s) > maxQuery {
			return f, refusal.Invalid("a text of a query has more than %d bytes", maxQuery)
		}
	}
	if q.Rows == 0 {
		q.Rows = 50
	}
	if q.Rows > maxRows || q.Rows < 0 || q.From < 0 {
		return f, refusal.Invalid("a window has 1 to %d rows", maxRows)
	}
	f.namespaces = namespaces(q.NS)
	f.search(q.Text)
	var err error
	if f.labels, err = kube.ParseSelector(q.Labels); err != nil {
		return f, refusal.Invalid("labels: %v", err)
	}
	if len(f.words)+len(f.without) > maxWords || f.labels.Len() > maxWords {
		return f, refusal.Invalid("a query has at most %d words, and %[1]d requirements of labels", maxWords)
	}
	name, reverse := strings.CutPrefix(q.Sort, "-")
	f.reverse = reverse
	switch name {
	case "", "name":
	case "changed":
		f.by = byChanged
	case "created":
		f.by = byCreated
	default:
		if f.by, err = strconv.Atoi(name); err != nil || f.by < 0 || f.by >= row.MaxCells {
			return f, refusal.Invalid("sort is name, changed, created or the number of a column")
		}
	}
	return f, nil
}

// search sets the words of a text, and those after a hyphen, which must not occur.
func (f *filter) search(text string) {
	for _, w := range strings.Fields(strings.ToLower(text)) {
		if rest, ok := strings.CutPrefix(w, "-"); ok && rest != "" {
			f.without = append(f.without, rest)
		} else {
			f.words = append(f.words, w)
		}
	}
}

func namespaces(list string) []string {
	names := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(names)
	return names
}

// in reports whether a namespace is wanted.
func (f *filter) in(namespace string) bool {
	if len(f.namespaces) == 0 {
		return true
	}
	_, ok := slices.BinarySearch(f.namespaces, namespace)
	return ok
}

// matches reports whether i is wanted, as far as can be said without its JSON.
func (f *filter) matches(i *item) bool {
	if !f.in(i.key.Namespace) || !f.labels.Empty() && !f.labels.MatchesFunc(i.label) {
		return false
	}
	if len(f.words)+len(f.without) == 0 {
		return true
	}
	return holds(i.text(), f.words, f.without)
}

// holds reports whether a text has all words, and none of others as a whole word.
func holds(text string, words, without []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) &&
		!slices.ContainsFunc(without, func(w string) bool { return natural.Holds(text, w) })
}

// text has "namespace/name" and the cells in lower case. Between them is what no word
// has.
func (i *item) text() string {
	var b strings.Builder
	b.WriteString(i.key.String())
	for _, c := range i.cells.All() {
		b.WriteString(" " + c)
	}
	return strings.ToLower(b.String())
}

// order compares two items: those that are equal by what was asked for, by their name.
func (f *filter) order(a, b *item) int {
	c := 0
	switch {
	case f.by == byChanged:
		c = cmp.Compare(a.changed, b.changed)
	case f.by == byCreated:
		c = cmp.Compare(a.created, b.created)
	case f.by >= 0:
		c = natural.Compare(a.cells.Cell(f.by), b.cells.Cell(f.by))
	case f.reverse:
		return -byKey(a, b)
	}
	if f.reverse {
		c = -c
	}
	return cmp.Or(c, byKey(a, b))
}

func byKey(a, b *item) int { return cmp.Or(a.key.Compare(b.key), cmp.Compare(a.n, b.n)) }

func megabytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
