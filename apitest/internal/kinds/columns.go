package kinds

import (
	"cmp"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

// Printer makes the Tables of one resource.
type Printer struct {
	Columns  []ColumnDefinition
	Cells    func(r *Row)                                  // adds a cell for each column
	Bare     bool                                          // no rows are null
	Standard func(objects []*object.Object) *object.Object // the one of a Table that is marked as the default; may be nil
}

// columns returns the column Name and those given.
func columns(own ...ColumnDefinition) []ColumnDefinition {
	name := column("Name", "name of the object, unique in its namespace")
	name.Format = "name"
	return append([]ColumnDefinition{name}, own...)
}

func column(name, description string) ColumnDefinition {
	return ColumnDefinition{Name: name, Type: "string", Description: description}
}

func integerColumn(name, description string) ColumnDefinition {
	return ColumnDefinition{Name: name, Type: "integer", Description: description}
}

// wideColumn is text for -o wide.
func wideColumn(name, description string) ColumnDefinition {
	return ColumnDefinition{Name: name, Type: "string", Description: description, Priority: 1}
}

func ageColumn() ColumnDefinition { return column("Age", "time since the object was created") }

// createdAtPrinter prints what has no columns of its own.
var createdAtPrinter = Printer{
	Bare:    true,
	Columns: columns(ColumnDefinition{Name: "Created At", Type: "date", Description: "when the object was created"}),
	Cells:   func(r *Row) { r.add(r.Meta.Name, cmp.Or(r.Meta.CreationTimestamp, "0001-01-01T00:00:00Z")) },
}

// agePrinter prints what has nothing else to tell.
var agePrinter = Printer{
	Columns: columns(ageColumn()),
	Cells:   func(r *Row) { r.add(r.Meta.Name, r.age()) },
}
