package columns

import (
	"cmp"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

// Printer prints the Tables of one resource.
type Printer struct {
	Columns  []Definition
	Cells    func(r *Row)                                  // adds a cell for each column
	Bare     bool                                          // no rows are null
	Standard func(objects []*object.Object) *object.Object // the default object of a Table, which is marked; may be nil
}

// List returns the column Name and the given ones.
func List(own ...Definition) []Definition {
	name := Text("Name", "name of the object, unique in its namespace")
	name.Format = "name"
	return append([]Definition{name}, own...)
}

// Text returns a column of text.
func Text(name, description string) Definition {
	return Definition{Name: name, Type: "string", Description: description}
}

// Integer returns a column of numbers.
func Integer(name, description string) Definition {
	return Definition{Name: name, Type: "integer", Description: description}
}

// Wide is text for -o wide.
func Wide(name, description string) Definition {
	return Definition{Name: name, Type: "string", Description: description, Priority: 1}
}

// AgeColumn returns the column Age.
func AgeColumn() Definition { return Text("Age", "time since the object was created") }

// CreatedAt prints objects without columns of their own.
var CreatedAt = Printer{
	Bare:    true,
	Columns: List(Definition{Name: "Created At", Type: "date", Description: "when the object was created"}),
	Cells:   func(r *Row) { r.Add(r.Meta.Name, cmp.Or(r.Meta.CreationTimestamp, "0001-01-01T00:00:00Z")) },
}

// OnlyAge prints objects of which only the age is shown.
var OnlyAge = Printer{
	Columns: List(AgeColumn()),
	Cells:   func(r *Row) { r.Add(r.Meta.Name, r.Age()) },
}
