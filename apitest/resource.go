package apitest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/apitest/schema"
	"github.com/listwatch/listwatch/kube"
)

// ResourceInfo is a resource that a server serves: what discovery, Table and
// field selectors say of it.
type ResourceInfo struct {
	kube.Resource
	Singular   string          // default: Kind in lower case
	ShortNames []string        // as kubectl takes them: "po"
	Categories []string        // such as "all"
	Status     bool            // has a status subresource: a plain update leaves status alone
	Fields     []string        // field selectors besides metadata.name and metadata.namespace
	Columns    []Column        // of a Table, between NAME and AGE
	Scale      *Scale          // has a scale subresource
	Schema     json.RawMessage // openAPIV3Schema of a custom resource; nil = anything goes

	builtIn bool // typed in the server: lists without kind and apiVersion in the items
	noCount bool // has a spec but no metadata.generation
	returns bool // DELETE answers with the object, not with a Status

	kept     *ResourceInfo // the version that is stored; nil where that is this one
	unserved bool          // it is only stored
	warning  string        // of a version that is deprecated

	core kube.Resource // whose table keeps the objects, in its own form; zero for all but events.k8s.io

	typ          func() *schema.Type
	listKindName string // default: Kind with "List"
}

// Column is a column of a Table. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#additional-printer-columns.
type Column struct {
	Name     string
	Type     string // default: "string"
	Path     string // dotted path of the value, such as "spec.replicas"
	Priority int    // above 0: only shown by -o wide

	Format      string // such as int64; default: none
	Description string // default: one that names the path

	cell func(o *object) any
}

// counts reports whether o carries metadata.generation.
func (r *ResourceInfo) counts(o *object) bool {
	if r.noCount || r.strategy().counts {
		return !r.noCount
	}
	_, ok := o.field("spec")
	return ok || !r.builtIn
}

func (r *ResourceInfo) listKind() string { return cmp.Or(r.listKindName, r.Kind+"List") }

// goPackage is what kube-apiserver's errors call the package of a type.
func (r *ResourceInfo) goPackage() string {
	first, _, _ := strings.Cut(r.Group, ".")
	return cmp.Or(first, "core")
}

// hasSub reports whether r has a subresource.
func (r *ResourceInfo) hasSub(name string) bool {
	switch name {
	case "status":
		return r.Status
	case "scale":
		return r.Scale != nil
	case "finalize":
		return r.Resource == kube.Namespaces
	}
	return r.partial(name)
}

// selectable reports whether a field selector may name path.
func (r *ResourceInfo) selectable(path string) bool {
	return path == "metadata.name" || path == "metadata.namespace" && (r.Namespaced || r.builtIn && len(r.Fields) == 0) || slices.Contains(r.Fields, path)
}

func (r ResourceInfo) withDefaults() ResourceInfo {
	list := builtIns()
	i := slices.IndexFunc(list, func(b ResourceInfo) bool { return b.Resource == r.Resource })
	if i >= 0 && r.Singular == "" && r.ShortNames == nil && r.Categories == nil && r.Fields == nil && r.Columns == nil {
		r = list[i]
	}
	r.Singular = cmp.Or(r.Singular, strings.ToLower(r.Kind))
	r.typ = sync.OnceValue(func() *schema.Type { return typeOf(&r) })
	return r
}
