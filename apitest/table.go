package apitest

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

// columnDefinition describes a column of a Table on the wire.
type columnDefinition struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format"`
	Description string `json:"description"`
	Priority    int    `json:"priority"` // above 0: only shown by -o wide
}

// table returns objects as a Table; the first that v makes has the columns, the
// later frames of a watch have null. Rows have the cells of all columns: a
// client leaves out those that it does not show.
func (v *view) table(objects []*object.Object, meta listMeta) []byte {
	p := printerOf(v.info)
	size := 4 << 10
	for _, o := range objects {
		size += 512
		switch v.include {
		case "Metadata":
			size += len(o.RawMeta)
		case "Object":
			size += len(o.Body)
		}
	}
	b := append(make([]byte, 0, size), `{"kind":"Table","apiVersion":"meta.k8s.io/`...)
	b = append(b, v.version...)
	b = append(b, `","metadata":`...)
	b = append(b, object.Marshal(meta)...)
	b = append(b, `,"columnDefinitions":`...)
	if v.columns {
		b = append(b, "null"...)
	} else {
		v.columns = true
		b = append(b, object.Marshal(p.columns)...)
	}
	if len(objects) == 0 && p.bare {
		return append(b, `,"rows":null}`...)
	}
	b = append(b, `,"rows":[`...)
	r := &row{}
	for i, o := range objects {
		if i > 0 {
			b = append(b, ',')
		}
		r.begin(printed(v.info, o))
		p.cells(r)
		if o == v.standard {
			r.cells[0] = o.Meta.Name + " (default)"
		}
		b = r.append(b, v)
	}
	return append(b, "]}"...)
}

// row is a row of a Table in the making; it is used again for the next.
type row struct {
	*object.Object
	cells     []any  // string, int, int64, float64, bool or nil
	completed string // the condition Completed of a pod: a member with its comma
}

func (r *row) begin(o *object.Object) { r.Object, r.cells, r.completed = o, r.cells[:0], "" }

func (r *row) add(cells ...any) { r.cells = append(r.cells, cells...) }

// read decodes a member of the object below the top, such as spec.
func (r *row) read(member string, into any) {
	if raw, ok := r.Field(member); ok {
		lenient(raw, into)
	}
}

// lenient decodes what fits; what is of another type than into has it stays
// zero. So no object that the server stores fails to print.
func lenient(raw []byte, into any) {
	_ = json.Unmarshal(raw, into) // it goes on after a value of the wrong type
}

func (r *row) append(b []byte, v *view) []byte {
	b = append(b, `{"cells":[`...)
	for i, c := range r.cells {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendCell(b, c)
	}
	b = append(b, ']')
	b = append(b, r.completed...)
	switch v.include {
	case "Metadata":
		b = v.partial(append(b, `,"object":`...), r.Object)
	case "Object":
		b = append(append(b, `,"object":`...), shown(v.info, r.Object).Body...)
	default:
		b = append(b, `,"object":null`...)
	}
	return append(b, '}')
}

func appendCell(b []byte, cell any) []byte {
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

// age returns the time since the creation, as people read it.
func (r *row) age() string { return since(r.Meta.CreationTimestamp) }

// since returns how long ago a time was, <unknown> for what is none.
func since(timestamp string) string {
	t, err := time.Parse(time.RFC3339, timestamp)
	if err != nil || t.IsZero() {
		return "<unknown>"
	}
	return human(time.Since(t))
}

// human returns a duration as people read it: 45s, 3m20s, 5h, 12d. A smaller
// unit stands there only where it matters.
func human(d time.Duration) string {
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

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }
