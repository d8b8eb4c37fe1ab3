// Package row reads the rows of Tables: the cells, the object without its managed fields, and
// what the page keeps of these.
package row

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/table"
	"github.com/listwatch/listwatch/ui/internal/managed"
)

// Row is an object with its cells.
type Row struct {
	Object     codec.Raw // without managed fields
	Created    time.Time
	Deleting   bool   // somebody asked to delete it
	Generation int64  // grows with what is wanted of the object; 0 = it has none
	Labels     string // a=b,c=d
	Managed    []managed.Entry
	Cells      []string // as they are printed; nil = there are none
}

// MaxCells is how many cells of a row are kept.
const MaxCells = 200

// maxCell is how many bytes of a cell are kept.
const maxCell = 1 << 10

// Parse reads an object, or the Table of one row that it is in.
func Parse(raw codec.RawFull) (Row, error) {
	if raw.GetKind() != "Table" {
		var o object
		if err := o.UnmarshalJSON([]byte(raw.JSON())); err != nil {
			return Row{}, err
		}
		return o.row(), nil
	}
	var t struct {
		Rows []struct {
			Cells  []any  `json:"cells"`
			Object object `json:"object"`
		} `json:"rows"`
	}
	if err := raw.Decode(&t); err != nil {
		return Row{}, err
	}
	if len(t.Rows) != 1 {
		return Row{}, fmt.Errorf("a Table of %d rows, want 1", len(t.Rows))
	}
	r := t.Rows[0].Object.row()
	for _, c := range t.Rows[0].Cells[:min(len(t.Rows[0].Cells), MaxCells)] {
		r.Cells = append(r.Cells, Cell(table.Text(c)))
	}
	return r, nil
}

// Cell returns a text as a cell that can be printed.
func Cell(text string) string { return printable.Cut(printable.Cell(text), maxCell) }

// object is decoded twice, from the bytes that are there: as a whole, and for its head.
type object struct {
	raw  codec.Raw
	head head
}

type head struct {
	Metadata struct {
		Created    time.Time         `json:"creationTimestamp"`
		Deleted    *string           `json:"deletionTimestamp"`
		Generation int64             `json:"generation"`
		Labels     map[string]string `json:"labels"`
		Managed    []managed.Entry   `json:"managedFields"`
	} `json:"metadata"`
}

func (o *object) UnmarshalJSON(b []byte) (err error) {
	if o.raw, err = codec.ParseRaw(b); err == nil {
		o.head, err = codec.Decode[head](b)
	}
	return err
}

func (o *object) row() Row {
	m := o.head.Metadata
	return Row{Object: o.raw, Created: m.Created, Deleting: m.Deleted != nil, Generation: m.Generation, Labels: labelText(m.Labels), Managed: m.Managed}
}

func labelText(labels map[string]string) string {
	list := make([]string, 0, len(labels))
	for k, v := range labels {
		list = append(list, k+"="+v)
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}
