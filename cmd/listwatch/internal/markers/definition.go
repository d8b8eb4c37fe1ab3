package markers

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
)

// Read returns the definitions of the types below dir, ordered by their names. Types with
// an embedded TypeMeta and ObjectMeta are resources; those of the same kind in several
// packages are its versions.
func Read(dir string) ([]*crd.Definition, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	dirs, err := below(dir)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", dir, err)
	}
	r := &reader{
		source: &source{files: token.NewFileSet(), byDir: map[string]*folder{}, byPath: map[string]*folder{}, places: map[string]place{}},
		depth:  map[*crd.Schema]map[string]int{},
	}
	found := map[string]*crd.Definition{}
	for _, d := range dirs {
		f, err := r.load(d)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", d, err)
		}
		if f == nil {
			continue
		}
		for _, name := range f.order {
			if t := f.types[name]; isResource(t) && !t.comment.has("kubebuilder:skip", "kubebuilder:skipversion") && !f.markers.has("kubebuilder:skip") {
				r.resource(t, found)
			}
			if r.full {
				return nil, errors.Join(once(r.errs)...)
			}
		}
	}
	var defs []*crd.Definition
	for _, d := range found {
		versions := d.Spec.Versions
		// Without generics: the program would grow by 20 KB.
		sort.Slice(versions, func(i, j int) bool { return versions[i].Name < versions[j].Name })
		if len(versions) == 1 {
			versions[0].Storage = true
		}
		r.errs = append(r.errs, d.Validate())
		defs = append(defs, d)
	}
	slices.SortFunc(defs, func(a, b *crd.Definition) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) })
	if err := errors.Join(once(r.errs)...); err != nil {
		return nil, err
	}
	if len(defs) == 0 {
		return nil, fmt.Errorf("no type in %s embeds metav1.TypeMeta and metav1.ObjectMeta: name the folder of the API types", dir)
	}
	return defs, nil
}

// once returns each error once: a type is read for each field that has it.
func once(errs []error) []error {
	seen := map[string]bool{}
	return slices.DeleteFunc(errs, func(err error) bool {
		if err == nil || seen[err.Error()] {
			return true
		}
		seen[err.Error()] = true
		return false
	})
}

// isResource reports whether a struct embeds TypeMeta and ObjectMeta.
func isResource(t *typeDecl) bool {
	st, ok := t.spec.Type.(*ast.StructType)
	if !ok {
		return false
	}
	n := 0
	for _, f := range st.Fields.List {
		if sel, ok := f.Type.(*ast.SelectorExpr); ok && (len(f.Names) == 0 || sel.Sel.Name == "ObjectMeta") && (sel.Sel.Name == "TypeMeta" || sel.Sel.Name == "ObjectMeta") {
			n++
		}
	}
	return n == 2
}

func (f *folder) value(name, other string) string {
	for _, m := range f.markers.markers {
		if m.name == name {
			if text, err := m.string(); err == nil {
				return text
			}
			return m.text
		}
	}
	return other
}

// resource adds a version to the definition of its kind.
func (r *reader) resource(t *typeDecl, found map[string]*crd.Definition) {
	kind := t.spec.Name.Name
	res := kube.Resource{Group: t.in.value("groupName", ""), Version: t.in.value("versionName", t.in.name), Plural: plural(kind), Kind: kind, Namespaced: true}
	r.begin(kind)
	root := r.named(t)
	clear(r.depth)
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(root.Properties, name)
	}
	root.Required = slices.DeleteFunc(root.Required, func(name string) bool { return root.Properties[name] == nil })
	v := crd.NewVersion(res.Version, root, crd.VersionOptions{NoStatus: true})
	id := res.Group + "/" + res.Kind
	if found[id] == nil {
		found[id] = crd.New(res, crd.Options{})
	}
	d := found[id]
	for _, m := range t.comment.markers {
		if err := resourceMarker(m, d, &v); err != nil {
			r.fail(t.spec, err)
		}
	}
	d.Metadata.Name = d.Spec.Names.Plural + "." + d.Spec.Group
	d.Spec.Versions = append(d.Spec.Versions, v)
}

// resourceMarker applies a marker of a whole resource to its definition and one version.
func resourceMarker(m marker, d *crd.Definition, v *crd.Version) error {
	name, ok := strings.CutPrefix(m.name, "kubebuilder:")
	if !ok {
		return nil
	}
	var args arguments
	if argumentsOf[m.name] != "" {
		var err error
		if args, err = m.arguments(); err != nil {
			return err
		}
	}
	switch name {
	case "resource":
		names := &d.Spec.Names
		names.Plural, names.Singular = cmp.Or(args.get("path"), names.Plural), cmp.Or(args.get("singular"), names.Singular)
		names.ShortNames, names.Categories = args["shortName"], args["categories"]
		d.Spec.Scope = cmp.Or(args.get("scope"), "Namespaced")
		if d.Spec.Scope != "Namespaced" && d.Spec.Scope != "Cluster" {
			return fmt.Errorf("+%s: scope=%s: want Namespaced or Cluster", m.name, d.Spec.Scope)
		}
	case "metadata":
		return cmp.Or(pairs(m, args["labels"], &d.Metadata.Labels), pairs(m, args["annotations"], &d.Metadata.Annotations))
	case "subresource:status":
		v.Subresources.Status = new(struct{})
	case "subresource:scale":
		v.Subresources.Scale = &crd.Scale{SpecReplicas: args.get("specpath"), StatusReplicas: args.get("statuspath"), Selector: args.get("selectorpath")}
	case "storageversion":
		v.Storage = true
	case "unservedversion":
		v.Served = false
	case "deprecatedversion":
		v.Deprecated, v.DeprecationWarning = true, args.get("warning")
	case "selectablefield":
		v.SelectableFields = append(v.SelectableFields, crd.SelectableField{JSONPath: args.get("JSONPath")})
	case "printcolumn":
		c := crd.Column{Name: args.get("name"), Type: args.get("type"), JSONPath: args.get("JSONPath"), Description: args.get("description"), Format: args.get("format")}
		if p := args.get("priority"); p != "" {
			n, err := strconv.Atoi(p)
			if err != nil {
				return fmt.Errorf("+%s: priority=%s: want a number", m.name, p)
			}
			c.Priority = n
		}
		v.Columns = append(v.Columns, c)
	}
	return nil
}

// pairs adds labels or annotations, such as team=a.
func pairs(m marker, list []string, to *map[string]string) error {
	for _, pair := range list {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("+%s: %q is not NAME=VALUE", m.name, pair)
		}
		if *to == nil {
			*to = map[string]string{}
		}
		(*to)[name] = value
	}
	return nil
}

// plurals are ends of kinds and of their plurals, as controller-gen has them from flect; the first
// that fits counts. Those of whole words are without the first letter, which may be a capital.
const plurals = "ata/ata ia/ia ea/ea uota/uotas nformation/nformation erson/eople hild/hildren uman/umans Man/men man/men fish/fish Fish/fish heep/heep " +
	"ndex/ndices ertex/ertices ortex/ortices odex/odices trix/trices ppendix/ppendices elix/elices x/xes " +
	"ysis/yses hesis/heses gnosis/gnoses opsis/opses risis/rises xis/xes lias/liases us/uses ss/sses S/Ses s/s " +
	"ch/ches sh/shes ez/ezzes iz/izzes tz/tzes zz/zzes eaf/eaves oaf/oaves lf/lves rf/rves fe/ves " +
	"ay/ays ey/eys oy/oys uy/uys y/ies io/ios oo/oos lo/los to/tos ano/anos o/oes"

// plural returns the English plural of a kind in lower case.
func plural(kind string) string {
	for _, ends := range strings.Fields(plurals) {
		end, other, _ := strings.Cut(ends, "/")
		if stem, ok := strings.CutSuffix(kind, end); ok {
			return strings.ToLower(stem + other)
		}
	}
	return strings.ToLower(kind) + "s"
}
