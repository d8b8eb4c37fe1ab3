package markers

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"slices"

	"github.com/listwatch/listwatch/crd"
)

// reader makes schemas of types in source.
type reader struct {
	*source
	bounds
	open  []*typeDecl                    // that are being read
	depth map[*crd.Schema]map[string]int // of the members of structs, in embedded ones
}

// named returns the schema of a declared type, with the markers of the type.
func (r *reader) named(t *typeDecl) *crd.Schema {
	if slices.Contains(r.open, t) {
		r.fail(t.spec, fmt.Errorf("%s contains itself, which a structural schema cannot express", t.spec.Name.Name))
		return &crd.Schema{PreserveUnknownFields: true}
	}
	r.open = append(r.open, t)
	defer func() { r.open = r.open[:len(r.open)-1] }()
	s := r.declared(t)
	if t.comment.text != "" {
		s.Description = t.comment.text
	}
	r.apply(s, &t.comment, t.spec)
	return s
}

// declared returns the schema of a declared type without its markers: that of its source, unless
// methods make its JSON.
func (r *reader) declared(t *typeDecl) *crd.Schema {
	name := t.spec.Name.Name
	switch {
	case t.in.methods[name+".MarshalJSON"] && t.comment.has("kubebuilder:validation:Type", "kubebuilder:validation:XIntOrString", "kubebuilder:validation:XPreserveUnknownFields", "kubebuilder:pruning:PreserveUnknownFields"):
		return &crd.Schema{}
	case t.in.methods[name+".MarshalJSON"]:
		r.fail(t.spec, fmt.Errorf("%s has its own MarshalJSON: give it the marker +kubebuilder:validation:Type, and +kubebuilder:pruning:PreserveUnknownFields if it is an object, or each field of it these and +kubebuilder:validation:Schemaless", name))
		return &crd.Schema{PreserveUnknownFields: true}
	case t.in.methods[name+".MarshalText"]:
		return &crd.Schema{Type: "string"}
	}
	return r.expr(t, t.spec.Type)
}

// expr returns the schema of a type expression in the file of t.
func (r *reader) expr(t *typeDecl, e ast.Expr) *crd.Schema {
	r.levels++
	defer func() { r.levels-- }()
	if !r.room(e, amount{schemas: 1}) {
		return &crd.Schema{PreserveUnknownFields: true}
	}
	switch e := e.(type) {
	case *ast.StarExpr:
		return r.expr(t, e.X)
	case *ast.ParenExpr:
		return r.expr(t, e.X)
	case *ast.Ident:
		if d := t.in.types[e.Name]; d != nil {
			if s := known(t.in.path, e.Name); s != nil {
				return s
			}
			return r.named(d)
		}
		if s := basic(e.Name); s != nil {
			return s
		}
		r.fail(e, fmt.Errorf("the type %s is not declared in this package", e.Name))
	case *ast.SelectorExpr:
		return r.selected(t, e)
	case *ast.ArrayType:
		if e.Len == nil && r.isByte(t, e.Elt) {
			return &crd.Schema{Type: "string", Format: "byte"}
		}
		return &crd.Schema{Type: "array", Items: r.expr(t, e.Elt)}
	case *ast.MapType:
		return &crd.Schema{Type: "object", AdditionalProperties: r.expr(t, e.Value)}
	case *ast.StructType:
		s := &crd.Schema{Type: "object"}
		r.fields(t, e, s)
		return s
	case *ast.InterfaceType:
		return &crd.Schema{PreserveUnknownFields: true}
	default:
		r.fail(e, errors.New("this type has no JSON"))
	}
	return &crd.Schema{PreserveUnknownFields: true}
}

func (r *reader) selected(t *typeDecl, e *ast.SelectorExpr) *crd.Schema {
	d, s, err := r.resolve(t, e)
	switch {
	case err != nil:
		r.fail(e, err)
		return &crd.Schema{PreserveUnknownFields: true}
	case s != nil:
		return s
	}
	return r.named(d)
}

// resolve returns the declaration of a type of another package, or its known schema.
func (r *reader) resolve(t *typeDecl, e *ast.SelectorExpr) (*typeDecl, *crd.Schema, error) {
	id, ok := e.X.(*ast.Ident)
	if !ok {
		return nil, nil, errors.New("this type has no JSON")
	}
	path, err := r.imported(t.file, id.Name, t.in)
	if err != nil {
		return nil, nil, err
	}
	if s := known(path, e.Sel.Name); s != nil {
		return nil, s, nil
	}
	f, err := r.find(path, t.in)
	if err != nil {
		return nil, nil, err
	}
	d := f.types[e.Sel.Name]
	if d == nil {
		return nil, nil, fmt.Errorf("the package %s has no type %s", path, e.Sel.Name)
	}
	return d, nil, nil
}

// isByte reports whether encoding/json writes a slice of these elements as text in base64.
func (r *reader) isByte(t *typeDecl, e ast.Expr) bool {
	u, methods := r.underlying(t, e)
	id, ok := u.(*ast.Ident)
	return ok && !methods && (id.Name == "byte" || id.Name == "uint8")
}

// underlying returns the type that a type has in the end, and whether methods make its JSON.
func (r *reader) underlying(t *typeDecl, e ast.Expr) (u ast.Expr, methods bool) {
	same := true    // as the first: methods are not those of a type that is declared by it
	for range 100 { // at most: a type must not be declared by itself
		var d *typeDecl
		e = ast.Unparen(e)
		switch e := e.(type) {
		case *ast.Ident:
			d = t.in.types[e.Name]
		case *ast.SelectorExpr:
			d, _, _ = r.resolve(t, e) // the error is reported where its schema is made
		}
		if d == nil {
			break
		}
		name := d.spec.Name.Name
		methods = methods || same && (d.in.methods[name+".MarshalJSON"] || d.in.methods[name+".MarshalText"])
		same = same && d.spec.Assign.IsValid()
		t, e = d, d.spec.Type
	}
	return e, methods
}

// known returns the schema of a type whose source does not show its JSON.
func known(path, name string) *crd.Schema {
	switch {
	case name == "Condition": // its source has markers
		return nil
	case path == "k8s.io/api/core/v1" && name == "Protocol":
		return &crd.Schema{Type: "string", Default: json.RawMessage(`"TCP"`)}
	}
	s, _ := crd.Known(path, name)
	return s
}

func basic(name string) *crd.Schema {
	switch name {
	case "string":
		return &crd.Schema{Type: "string"}
	case "bool":
		return &crd.Schema{Type: "boolean"}
	case "int", "int8", "int16", "uint", "uint8", "uint16", "byte":
		return &crd.Schema{Type: "integer"}
	case "int32", "uint32", "rune":
		return &crd.Schema{Type: "integer", Format: "int32"}
	case "int64", "uint64":
		return &crd.Schema{Type: "integer", Format: "int64"}
	case "float32", "float64":
		return &crd.Schema{Type: "number"}
	case "any":
		return &crd.Schema{PreserveUnknownFields: true}
	}
	return nil
}
