package markers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/crd"
)

// reader makes schemas of types in source.
type reader struct {
	*source
	open []*typeDecl // that are being read
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
		r.fail(t.spec, fmt.Errorf("%s has its own MarshalJSON: give it the marker +kubebuilder:validation:Type, or each field of it this one and +kubebuilder:validation:Schemaless", name))
		return &crd.Schema{PreserveUnknownFields: true}
	case t.in.methods[name+".MarshalText"]:
		return &crd.Schema{Type: "string"}
	}
	return r.expr(t, t.spec.Type)
}

// expr returns the schema of a type expression in the file of t.
func (r *reader) expr(t *typeDecl, e ast.Expr) *crd.Schema {
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
		if id, ok := e.Elt.(*ast.Ident); ok && e.Len == nil && (id.Name == "byte" || id.Name == "uint8") {
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
	nothing := &crd.Schema{PreserveUnknownFields: true}
	id, ok := e.X.(*ast.Ident)
	if !ok {
		r.fail(e, errors.New("this type has no JSON"))
		return nothing
	}
	path, err := r.imported(t.file, id.Name)
	if err != nil {
		r.fail(e, err)
		return nothing
	}
	if s := known(path, e.Sel.Name); s != nil {
		return s
	}
	f, err := r.find(path, t.in)
	if err != nil {
		r.fail(e, err)
		return nothing
	}
	d := f.types[e.Sel.Name]
	if d == nil {
		r.fail(e, fmt.Errorf("the package %s has no type %s", path, e.Sel.Name))
		return nothing
	}
	return r.named(d)
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

// fields adds the fields of a struct to s. As encoding/json has it, its own go before those that
// it embeds.
func (r *reader) fields(t *typeDecl, st *ast.StructType, s *crd.Schema) {
	last := st.Fields.Opening
	var embedded []*ast.Field
	for _, f := range st.Fields.List {
		after := last
		last = f.End()
		name, omits, inline, none := jsonTag(f)
		c := r.comments(t.file, f.Doc, after, f.Pos())
		switch {
		case none:
			continue
		case inline && len(r.open) == 1 && isSelector(f.Type, "TypeMeta"):
			continue // of the whole object
		case inline:
			embedded = append(embedded, f)
			continue
		case len(r.open) == 1 && name == "metadata":
			continue // of the whole object
		case len(f.Names) == 0:
			r.member(t, f, &c, s, name, omits)
		}
		for _, id := range f.Names {
			if id.IsExported() {
				r.member(t, f, &c, s, cmp.Or(name, id.Name), omits)
			}
		}
	}
	own := map[string]bool{}
	for n := range s.Properties {
		own[n] = true
	}
	for _, f := range embedded {
		known := len(r.errs)
		inner := r.expr(t, f.Type)
		if (inner.Type != "object" || inner.AdditionalProperties != nil) && len(r.errs) == known {
			r.fail(f, errors.New("only a struct without methods for JSON can be inline: give this field a name, also in its json tag"))
		}
		for n, p := range inner.Properties {
			if !own[n] {
				r.property(f, s, n, p)
			}
		}
		for _, n := range inner.Required {
			if !own[n] {
				s.Required = append(s.Required, n)
			}
		}
		s.Validations = append(s.Validations, inner.Validations...)
		if s.MapType == "" {
			s.MapType = inner.MapType
		}
	}
	slices.Sort(s.Required)
	s.Required = slices.Compact(s.Required)
}

// member adds a field with its markers to s.
func (r *reader) member(t *typeDecl, f *ast.Field, c *comments, s *crd.Schema, name string, omits bool) {
	var p *crd.Schema
	if c.has("kubebuilder:validation:Schemaless") {
		p = &crd.Schema{}
	} else {
		p = r.expr(t, f.Type)
	}
	if c.text != "" {
		p.Description = c.text
	}
	r.apply(p, c, f)
	if c.has("k8s:required") && p.Type == "string" && p.MinLength == nil {
		p.MinLength = new(int64) // it requires a value, and not only the member
		*p.MinLength = 1
	}
	r.property(f, s, name, p)
	required := !omits && !t.in.markers.has("kubebuilder:validation:Optional")
	switch {
	case c.has("kubebuilder:validation:Optional", "optional", "k8s:optional"):
		required = false
	case c.has("kubebuilder:validation:Required", "required", "k8s:required"):
		required = true
	case c.has("kubebuilder:default", "default"):
		required = false
	}
	if required {
		s.Required = append(s.Required, name)
	}
}

func isSelector(e ast.Expr, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == name
}

func (r *reader) property(f *ast.Field, s *crd.Schema, name string, p *crd.Schema) {
	if s.Properties[name] != nil {
		r.fail(f, fmt.Errorf("another field is called %s in JSON, and of two encoding/json writes none", name))
	}
	if s.Properties == nil {
		s.Properties = map[string]*crd.Schema{}
	}
	s.Properties[name] = p
}

func jsonTag(f *ast.Field) (name string, omits, inline, none bool) {
	var tag string
	if f.Tag != nil {
		if text, err := strconv.Unquote(f.Tag.Value); err == nil {
			tag = reflect.StructTag(text).Get("json")
		}
	}
	name, options, _ := strings.Cut(tag, ",")
	for option := range strings.SplitSeq(options, ",") {
		omits = omits || option == "omitempty" || option == "omitzero"
		inline = inline || option == "inline"
	}
	return name, omits, inline || len(f.Names) == 0 && name == "", tag == "-"
}
