package print

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/table"
	"github.com/listwatch/listwatch/kube"
)

// rowOf returns a record as the server's Table makes it.
func rowOf(t *testing.T, event, json string, cols *table.Columns) *record.Record {
	t.Helper()
	o, err := codec.ParseRaw([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return &record.Record{Type: event, Resource: kube.Pods, ID: o.Identity(), Object: o, Columns: cols}
}

func tableRow(name, cells string) string {
	return `{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":null,"rows":[{"cells":[` + cells +
		`],"object":{"metadata":{"name":"` + name + `","namespace":"d"}}}]}`
}

func TestTableColumnsGrowAndCountWhatIsSeen(t *testing.T) {
	cols := &table.Columns{{Name: "Name", Format: "name"}, {Name: "Text"}, {Name: "N"}, {Name: "Wide", Priority: 1}}
	rows := NewTable(&Format{Events: true, Headers: true, Namespaces: true, Color: true})
	var got []byte
	for _, batch := range [][]*record.Record{
		{rowOf(t, "ADDED", tableRow("a", `"a","世界",1,"w"`), cols), rowOf(t, "ADDED", tableRow("b", `"b","é\u0301",12345678,null`), cols)},
		{rowOf(t, "DELETED", tableRow("c", `"c","a longer text\nof two lines",null,"w"`), cols)},
		{rowOf(t, "MODIFIED", tableRow("d", `"d","\u001b[31m",{"x":[true]}`), cols)},
		// Other columns have another header.
		{rowOf(t, "MODIFIED", tableRow("d", `"d",1.5`), &table.Columns{{Name: "Name", Format: "name"}, {Name: "F"}})},
	} {
		for _, r := range batch {
			var err error
			if got, err = rows.Encode(got, r); err != nil {
				t.Fatal(err)
			}
		}
		got = rows.Flush(got)
	}
	want := strings.TrimPrefix(`
EVENT      NAMESPACE   NAME   TEXT   N
{32}ADDED{0}      d           a      世界   1
{32}ADDED{0}      d           b      `+"e\u0301"+`      12345678
{31}DELETED{0}    d           c      a longer text...   
{33}MODIFIED{0}   d           d      ^[[31m             {"x":[true]}
EVENT      NAMESPACE   NAME   F
{33}MODIFIED{0}   d           d      1.5
`, "\n")
	want = strings.NewReplacer("{0}", "\x1b[0m", "{31}", "\x1b[31m", "{32}", "\x1b[32m", "{33}", "\x1b[33m", "e\u0301", "é\u0301").Replace(want)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestTableOfPlainObjects(t *testing.T) {
	r := rowOf(t, "ADDED", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"d","creationTimestamp":"2026-01-02T03:04:05Z"}}`, nil)
	r.Time = time.Date(2026, 1, 2, 5, 4, 6, 0, time.UTC)
	rows := NewTable(&Format{Headers: true})
	b, err := rows.Encode(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("NAME   AGE\na      120m\n", string(rows.Flush(b))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestAge(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 119 * time.Second: "119s", 2 * time.Minute: "2m", 9*time.Minute + 59*time.Second: "9m59s",
		10*time.Minute + time.Second: "10m", 179 * time.Minute: "179m", 3*time.Hour + time.Minute: "3h1m", 8*time.Hour + time.Minute: "8h",
		47 * time.Hour: "47h", 2*day + time.Hour: "2d1h", 8*day + time.Hour: "8d", 729 * day: "729d", 731 * day: "2y1d", 8*365*day + day: "8y",
	} {
		if got := Age(d); got != want {
			t.Errorf("age(%v) = %s, want %s", d, got, want)
		}
	}
}

// FuzzPrintable: whatever a server sends as a cell, it is one line that a
// terminal does not obey.
func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"", "a\nb", "\x1b[31m", "\u009b31m", "\xff", "世界"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := printable.Cell(s)
		for _, r := range p {
			if r < ' ' || r >= 0x7f && r < 0xa0 {
				t.Errorf("printable.Cell(%q) = %q", s, p)
			}
		}
		if n := DisplayWidth(p); n < 0 || n > 2*len(p) {
			t.Errorf("displayWidth(%q) = %d", p, n)
		}
	})
}
