package markers

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/crd"
)

type embeddedField struct {
	*ast.Field
	comments comments
	schema   *crd.Schema
}

// fields adds the fields of a struct to s. As encoding/json has it, its own go before those that
// it embeds, and of these the less deep ones before others.
func (r *reader) fields(t *typeDecl, st *ast.StructType, s *crd.Schema) {
	last := st.Fields.Opening
	var embedded []embeddedField
	for _, f := range st.Fields.List {
		after := last
		last = f.End()
		name, omits, none := jsonTag(f)
		c := r.comments(t.file, f.Doc, after, f.Pos())
		inline := len(f.Names) == 0 && name == ""
		switch {
		case none, r.ignored(t, f):
			continue
		case inline && len(r.open) == 1 && isSelector(f.Type, "TypeMeta"):
			continue // of the whole object
		case inline:
			embedded = append(embedded, embeddedField{Field: f, comments: c})
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
	depth := map[string]int{} // of each member; 0 = own
	r.depth[s] = depth
	for n := range s.Properties {
		depth[n] = 0
	}
	for i, f := range embedded {
		known := len(r.errs)
		inner := r.expr(t, f.Type)
		r.apply(inner, &f.comments, f)
		if !r.room(f, inlined(inner)) {
			return
		}
		if (inner.Type != "object" || inner.AdditionalProperties != nil) && len(r.errs) == known {
			r.fail(f, errors.New("only a struct without methods for JSON can be inline: give this field a name, also in its json tag"))
		}
		for n := range inner.Properties {
			if other, ok := depth[n]; !ok || r.depth[inner][n]+1 < other {
				depth[n] = r.depth[inner][n] + 1
			}
		}
		embedded[i].schema = inner
	}
	for _, f := range embedded {
		inner := f.schema
		for n, p := range inner.Properties {
			if r.depth[inner][n]+1 != depth[n] {
				continue
			}
			r.property(f.Field, s, n, p)
			if slices.Contains(inner.Required, n) {
				s.Required = append(s.Required, n)
			}
		}
		if err := inherit(s, inner); err != nil {
			r.fail(f, err)
		}
	}
	slices.Sort(s.Required)
	s.Required = slices.Compact(s.Required)
}

// ignored reports whether encoding/json ignores an embedded field: it is no struct, and its type is
// not exported.
func (r *reader) ignored(t *typeDecl, f *ast.Field) bool {
	e := f.Type
	if p, ok := e.(*ast.StarExpr); ok {
		e = p.X
	}
	id, ok := e.(*ast.Ident)
	if !ok || len(f.Names) > 0 || id.IsExported() {
		return false
	}
	u, _ := r.underlying(t, id)
	_, ok = u.(*ast.StructType)
	return !ok
}

// inherit adds what markers of an embedded struct say of the object to the schema around it.
func inherit(s, inner *crd.Schema) error {
	tighten(s, inner)
	s.AllOf = append(s.AllOf, inner.AllOf...)
	s.Validations = append(s.Validations, inner.Validations...)
	s.Nullable = s.Nullable || inner.Nullable
	s.IntOrString = s.IntOrString || inner.IntOrString
	s.EmbeddedResource = s.EmbeddedResource || inner.EmbeddedResource
	s.PreserveUnknownFields = s.PreserveUnknownFields || inner.PreserveUnknownFields
	s.Format = cmp.Or(inner.Format, s.Format)
	if s.MapType != "" && inner.MapType != "" && s.MapType != inner.MapType || s.Default != nil && inner.Default != nil && string(s.Default) != string(inner.Default) {
		return errors.New("the embedded structs have different default values or map types")
	}
	s.MapType = cmp.Or(s.MapType, inner.MapType)
	if s.Default == nil {
		s.Default = inner.Default
	}
	return nil
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
	if !r.room(f, amount{text: len(name)}) {
		return
	}
	if c.has("k8s:required") {
		notEmpty(p)
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
	} else if c.has("k8s:immutable") { // no rule of a member is checked where it is missing
		s.Validations = append(s.Validations, crd.Rule{
			Rule: fmt.Sprintf("!has(oldSelf.%[1]s) || has(self.%[1]s)", name), Message: fmt.Sprintf("field %s is immutable once set", name),
		})
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

// jsonTag reads the tag of a field. encoding/json does not know the option inline.
func jsonTag(f *ast.Field) (name string, omits, none bool) {
	var tag string
	if f.Tag != nil {
		if text, err := strconv.Unquote(f.Tag.Value); err == nil {
			tag = reflect.StructTag(text).Get("json")
		}
	}
	name, options, _ := strings.Cut(tag, ",")
	for option := range strings.SplitSeq(options, ",") {
		omits = omits || option == "omitempty" || option == "omitzero"
	}
	return name, omits, tag == "-"
}

// notEmpty sets the limit of a member that +k8s:required requires, and with it a value.
func notEmpty(p *crd.Schema) {
	limit := map[string]**int64{"string": &p.MinLength, "array": &p.MinItems, "object": &p.MinProperties}[p.Type]
	if limit != nil && *limit == nil {
		*limit = new(int64)
		**limit = 1
	}
}
