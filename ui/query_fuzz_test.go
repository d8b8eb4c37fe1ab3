package ui

import (
	"net/url"
	"slices"
	"testing"

	"github.com/listwatch/listwatch/ui/internal/row"
)

// FuzzQuery: a query that is accepted is within the limits, and asks for no empty word or
// namespace. It is accepted again as it was read.
func FuzzQuery(f *testing.F) {
	for _, text := range []string{"type=pods&ns=a,b&text=x+-y+-&labels=app%3Da&sort=-changed&from=7&rows=500&at=1", "rows=501", "from=-1", "at=9223372036854775808", "sort=3&labels=a+in+(b)", "sort=-", "ns=,+,", "text=-"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		q, err := queryOf(v)
		if err != nil {
			return
		}
		read, err := q.read()
		if err != nil {
			return
		}
		if q.Rows < 1 || q.Rows > maxRows || q.From < 0 || q.At < 0 || read.by < byCreated || read.by >= row.MaxCells {
			t.Fatalf("%+v, %+v", q, read)
		}
		if slices.Contains(read.namespaces, "") || slices.Contains(read.words, "") || slices.Contains(read.without, "") || !slices.IsSorted(read.namespaces) {
			t.Fatalf("%+v", read)
		}
		before := q
		if again, err := q.read(); err != nil || q != before || again.by != read.by || again.reverse != read.reverse || again.labels.String() != read.labels.String() {
			t.Fatalf("%+v is %+v, %v, then", read, again, err)
		}
	})
}
