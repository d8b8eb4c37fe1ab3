package markers

import (
	"fmt"
	"go/ast"

	"github.com/listwatch/listwatch/crd"
)

// Limits of what is made of types: a chain of types with two fields of the next one doubles it each
// time. No server is known to take as much: etcd has a limit of 1.5 MiB for a definition.
const (
	maxSchemas    = 100_000 // of a version, with the values of enums
	maxText       = 4 << 20 // of a version: comments, markers and names, in bytes
	maxAllSchemas = 200_000 // of all versions
	maxAllText    = 32 << 20
	maxLevels     = 1000
)

// amount is how much was made.
type amount struct{ schemas, text int }

func (a *amount) add(b amount) {
	a.schemas += b.schemas
	a.text += b.text
}

// bounds are what was made of the version that is being read, and of all.
type bounds struct {
	kind         string
	version, all amount
	levels       int
	full         bool // a limit was passed: no schema is made any more
}

// begin counts another version.
func (b *bounds) begin(kind string) { b.kind, b.version = kind, amount{} }

// room counts what a node adds, and reports whether all of it is within the limits.
func (r *reader) room(n ast.Node, a amount) bool {
	if r.full {
		return false
	}
	r.version.add(a)
	r.all.add(a)
	const smaller = "use fewer types in it, or +kubebuilder:validation:Schemaless and +kubebuilder:pruning:PreserveUnknownFields for a part"
	r.full = true
	switch {
	case r.levels > maxLevels:
		r.fail(n, fmt.Errorf("%s is nested more than %d levels deep here: %s", r.kind, maxLevels, smaller))
	case r.version.schemas > maxSchemas:
		r.fail(n, fmt.Errorf("%s has more than %d schemas and values up to here, which no server takes: %s", r.kind, maxSchemas, smaller))
	case r.version.text > maxText:
		r.fail(n, fmt.Errorf("%s has more than %d bytes of comments, markers and names up to here, which no server takes: %s", r.kind, maxText, smaller))
	case r.all.schemas > maxAllSchemas, r.all.text > maxAllText:
		r.fail(n, fmt.Errorf("the types up to %s are more than are read at once: name folders with fewer of them", r.kind))
	default:
		r.full = false
	}
	return !r.full
}

// sizeOf returns the amount of comments.
func sizeOf(c *comments) amount {
	a := amount{text: len(c.text)}
	for _, m := range c.markers {
		a.text += len(m.name) + len(m.text)
	}
	return a
}

// inlined returns the amount of what a struct takes from one that it embeds.
func inlined(s *crd.Schema) amount {
	return amount{schemas: len(s.Properties) + len(s.Validations) + len(s.AllOf)}
}
