package object

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// Info is a resource that a server serves: what discovery, Table and
// field selectors say of it.
type Info struct {
	kube.Resource
	Singular   string          // default: Kind in lower case
	ShortNames []string        // as kubectl takes them: "po"
	Categories []string        // such as "all"
	Status     bool            // has a status subresource: a plain update leaves status alone
	Fields     []string        // field selectors besides metadata.name and metadata.namespace
	Columns    []Column        // of a Table, between NAME and AGE
	Scale      *Scale          // has a scale subresource
	Schema     json.RawMessage // openAPIV3Schema of a custom resource; nil = anything goes

	BuiltIn bool // typed in the server: lists without kind and apiVersion in the items
	NoCount bool // has a spec but no metadata.generation
	Returns bool // DELETE answers with the object, not with a Status

	Kept     *Info  // the version that is stored; nil where that is this one
	Unserved bool   // it is only stored
	Warning  string // of a version that is deprecated

	Core kube.Resource // whose table keeps the objects, in its own form; zero for all but events.k8s.io

	Type         func() *schema.Type
	ListKindName string // default: Kind with "List"
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

	Cell func(o *Object) any
}

// ListKind returns the kind of lists of r.
func (r *Info) ListKind() string { return cmp.Or(r.ListKindName, r.Kind+"List") }

// GoPackage is what kube-apiserver's errors call the package of a type.
func (r *Info) GoPackage() string {
	first, _, _ := strings.Cut(r.Group, ".")
	return cmp.Or(first, "core")
}

// Selectable reports whether a field selector may name path.
func (r *Info) Selectable(path string) bool {
	return path == "metadata.name" || path == "metadata.namespace" && (r.Namespaced || r.BuiltIn && len(r.Fields) == 0) || slices.Contains(r.Fields, path)
}

// Scale says where a resource keeps what its scale subresource shows. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#scale-subresource.
type Scale struct {
	SpecReplicas   string // dotted path, such as "spec.replicas"
	StatusReplicas string
	Selector       string // path of a selector: a string, or an object with matchLabels
}

// GoType is what kube-apiserver's errors call the type of a kind of r.
func (r *Info) GoType(kind string) string {
	switch {
	case !r.BuiltIn:
		return "unstructured.UnstructuredList"
	}
	return r.GoPackage() + "." + kind
}

// Defined reports whether r is what a CustomResourceDefinition defines.
func (r *Info) Defined() bool { return r.ListKindName != "" }
