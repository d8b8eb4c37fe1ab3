package columns

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

// Definition describes a column of a Table on the wire.
type Definition struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format"`
	Description string `json:"description"`
	Priority    int    `json:"priority"` // above 0: only shown by -o wide
}

// Row is a row of a Table; it is reused for the next one.
type Row struct {
	*object.Object
	Cells     []any  // string, int, int64, float64, bool or nil
	Completed string // the condition Completed of a pod: a member with its comma
	Now       time.Time
}

// Begin resets r for another object.
func (r *Row) Begin(o *object.Object) { r.Object, r.Cells, r.Completed = o, r.Cells[:0], "" }

// Add adds cells.
func (r *Row) Add(cells ...any) { r.Cells = append(r.Cells, cells...) }

// Read decodes a member of the object below the top, such as spec.
func (r *Row) Read(member string, into any) {
	if raw, ok := r.Field(member); ok {
		DecodeLenient(raw, into)
	}
}

// DecodeLenient decodes the fields that fit; values of another type stay zero, so that
// no stored object fails to print.
func DecodeLenient(raw []byte, into any) {
	_ = json.Unmarshal(raw, into) // it continues after a value of the wrong type
}

// AppendCell appends a cell as JSON.
func AppendCell(b []byte, cell any) []byte {
	switch c := cell.(type) {
	case string:
		return object.AppendString(b, c)
	case int:
		return strconv.AppendInt(b, int64(c), 10)
	case int64:
		return strconv.AppendInt(b, c, 10)
	}
	return append(b, object.Marshal(cell)...)
}

// Age returns the time since the creation, in readable form.
func (r *Row) Age() string { return r.Since(r.Meta.CreationTimestamp) }

// Since returns the time between then and r.Now, <unknown> if it is invalid.
func (r *Row) Since(timestamp string) string {
	t, err := time.Parse(time.RFC3339, timestamp)
	if err != nil || t.IsZero() {
		return "<unknown>"
	}
	return Human(r.Now.Sub(t))
}

// Human returns a duration in readable form: 45s, 3m20s, 5h, 12d. It has a smaller unit
// only where that matters.
func Human(d time.Duration) string {
	two := func(big time.Duration, b byte, small time.Duration, s byte) string {
		out := append(strconv.AppendInt(nil, int64(big), 10), b)
		if small != 0 {
			out = append(strconv.AppendInt(out, int64(small), 10), s)
		}
		return string(out)
	}
	s, m, h := d/time.Second, d/time.Minute, d/time.Hour
	switch {
	case s < -1:
		return "<invalid>"
	case s < 0:
		return "0s"
	case s < 120:
		return two(s, 's', 0, 0)
	case m < 10:
		return two(m, 'm', s%60, 's')
	case m < 180:
		return two(m, 'm', 0, 0)
	case h < 8:
		return two(h, 'h', m%60, 'm')
	case h < 48:
		return two(h, 'h', 0, 0)
	case h < 192:
		return two(h/24, 'd', h%24, 'h')
	case h < 24*365*2:
		return two(h/24, 'd', 0, 0)
	case h < 24*365*8:
		return two(h/24/365, 'y', h/24%365, 'd')
	}
	return two(h/24/365, 'y', 0, 0)
}

// Sorted returns s in order.
func Sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }
