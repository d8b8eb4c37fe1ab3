package view

import (
	"time"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// table returns objects as a Table; the first one of v has the columns, later frames of
// a watch have null. Rows have the cells of all columns: the client omits those that it
// does not show.
func (v *View) table(objects []*object.Object, meta listMeta) ([]byte, *kube.Status) {
	p := scalePrinter
	if v.Info != &scaleInfo {
		p = kinds.PrinterOf(v.Info)
	}
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
		b = append(b, object.Marshal(p.Columns)...)
	}
	if len(objects) == 0 && p.Bare {
		return append(b, `,"rows":null}`...), nil
	}
	b = append(b, `,"rows":[`...)
	r := &columns.Row{Now: v.At}
	if r.Now.IsZero() {
		r.Now = time.Now()
	}
	for i, o := range objects {
		if i > 0 {
			b = append(b, ',')
		}
		r.Begin(printed(v.Info, o))
		p.Cells(r)
		if o == v.standard {
			r.Cells[0] = o.Meta.Name + " (default)"
		}
		if b = v.appendRow(b, r); len(b) > size+mostAdded {
			return nil, v.tooMuchAdded()
		}
	}
	return append(b, "]}"...), nil
}

// appendRow appends r as a row of a Table.
func (v *View) appendRow(b []byte, r *columns.Row) []byte {
	b = append(b, `{"cells":[`...)
	for i, c := range r.Cells {
		if i > 0 {
			b = append(b, ',')
		}
		b = columns.AppendCell(b, c)
	}
	b = append(b, ']')
	b = append(b, r.Completed...)
	switch v.include {
	case "Metadata":
		b = v.partial(append(b, `,"object":`...), r.Object)
	case "Object":
		b = append(append(b, `,"object":`...), Shown(v.Info, r.Object).Body...)
	default:
		b = append(b, `,"object":null`...)
	}
	return append(b, '}')
}

// Row returns o as a Table of one row with its object. Ages count to at.
func Row(info *object.Info, o *object.Object, at time.Time) []byte {
	own := *info
	own.Core = kube.Resource{} // o is in its own form, not in that in which it is kept
	v := &View{Info: &own, version: "v1", include: "Object", At: at}
	b, _ := v.table([]*object.Object{o}, listMeta{})
	return b
}
