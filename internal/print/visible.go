package print

import (
	"slices"

	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/table"
)

// narrowColumns are those of --narrow, for every type.
var narrowColumns = table.Columns{{Name: "Name", Format: "name"}, {Name: "Status"}, {Name: "Age"}}

// statuses are the columns of a server that say how an object is, the best one first.
var statuses = []string{"Status", "Ready", "Phase", "Reason", "Type"}

// narrow returns the cells of a row for narrowColumns.
func narrow(cells []any, cols *table.Columns) []any {
	cell := func(match func(i int) bool) any {
		for i := range *cols {
			if i < len(cells) && match(i) {
				return cells[i]
			}
		}
		return ""
	}
	var status any = ""
	for _, name := range statuses {
		if status = cell(func(i int) bool { return (*cols)[i].Name == name }); status != "" {
			break
		}
	}
	return []any{cell(func(i int) bool { return (*cols)[i].Format == "name" }), status, cell(func(i int) bool { return aged((*cols)[i].Name) })}
}

// aged reports whether a column of this name changes with time alone.
func aged(name string) bool { return name == "Age" || name == "Last Seen" }

// Visible reports whether a column that is printed, ages aside, is another in r than in the
// state before; true where nobody knows that state.
func (o *Format) Visible(r *record.Record) (bool, error) {
	if r.Old.GetName() == "" {
		return true, nil
	}
	t := NewTable(o)
	before := *r
	before.Object = r.Old
	now, err := t.seen(r)
	if err != nil {
		return true, err
	}
	was, err := t.seen(&before)
	return !slices.Equal(now, was), err
}

// seen returns the cells of r that are printed, ages aside.
func (t *Table) seen(r *record.Record) ([]string, error) {
	cells, err := t.Cells(r)
	if err != nil {
		return nil, err
	}
	cols := r.Columns
	if cols == nil {
		cols = &table.NoColumns
	}
	if t.format.Extra.narrow {
		cells, cols = narrow(cells, cols), &narrowColumns
	}
	var texts []string
	for _, i := range t.Layout(cols, false).Shown {
		if i < len(cells) && !aged((*cols)[i].Name) {
			texts = append(texts, table.Text(cells[i]))
		}
	}
	labels, err := t.format.Extra.LabelCells(r)
	return append(texts, labels...), err
}
