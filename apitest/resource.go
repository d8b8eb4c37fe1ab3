package apitest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/schema"
	"github.com/listwatch/listwatch/kube"
)

// resourceInfo is a resource that a server serves: what discovery, Table and
// field selectors say of it.
type resourceInfo struct {
	kube.Resource
	Singular   string          // default: Kind in lower case
	ShortNames []string        // as kubectl takes them: "po"
	Categories []string        // such as "all"
	Status     bool            // has a status subresource: a plain update leaves status alone
	Fields     []string        // field selectors besides metadata.name and metadata.namespace
	Columns    []tableColumn   // of a Table, between NAME and AGE
	Scale      *scalePaths     // has a scale subresource
	Schema     json.RawMessage // openAPIV3Schema of a custom resource; nil = anything goes

	builtIn bool // typed in the server: lists without kind and apiVersion in the items
	noCount bool // has a spec but no metadata.generation
	returns bool // DELETE answers with the object, not with a Status

	kept     *resourceInfo // the version that is stored; nil where that is this one
	unserved bool          // it is only stored
	warning  string        // of a version that is deprecated

	core kube.Resource // whose table keeps the objects, in its own form; zero for all but events.k8s.io

	typ          func() *schema.Type
	listKindName string // default: Kind with "List"
}

// tableColumn is a column of a Table. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#additional-printer-columns.
type tableColumn struct {
	Name     string
	Type     string // default: "string"
	Path     string // dotted path of the value, such as "spec.replicas"
	Priority int    // above 0: only shown by -o wide

	Format      string // such as int64; default: none
	Description string // default: one that names the path

	cell func(o *object) any
}

func (r *resourceInfo) listKind() string { return cmp.Or(r.listKindName, r.Kind+"List") }

// goPackage is what kube-apiserver's errors call the package of a type.
func (r *resourceInfo) goPackage() string {
	first, _, _ := strings.Cut(r.Group, ".")
	return cmp.Or(first, "core")
}

// selectable reports whether a field selector may name path.
func (r *resourceInfo) selectable(path string) bool {
	return path == "metadata.name" || path == "metadata.namespace" && (r.Namespaced || r.builtIn && len(r.Fields) == 0) || slices.Contains(r.Fields, path)
}

// scalePaths says where a resource keeps what its scale subresource shows. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#scale-subresource.
type scalePaths struct {
	SpecReplicas   string // dotted path, such as "spec.replicas"
	StatusReplicas string
	Selector       string // path of a selector: a string, or an object with matchLabels
}

// goType is what kube-apiserver's errors call the type of a kind of r.
func (r *resourceInfo) goType(kind string) string {
	switch {
	case !r.builtIn:
		return "unstructured.UnstructuredList"
	}
	return r.goPackage() + "." + kind
}

// defined reports whether r is what a CustomResourceDefinition defines.
func (r *resourceInfo) defined() bool { return r.listKindName != "" }
