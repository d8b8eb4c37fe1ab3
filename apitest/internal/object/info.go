package object

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// Info is a resource that a server serves, with its data for discovery, Tables and
// field selectors.
type Info struct {
	kube.Resource
	Singular   string            // default: Kind in lower case
	ShortNames []string          // as kubectl accepts them: "po"
	Categories []string          // such as "all"
	Status     bool              // it has a status subresource: a plain update does not change status
	Fields     []string          // field selectors besides metadata.name and metadata.namespace
	Absent     map[string]string // path: what field selectors see where an object has nothing; default ""
	Columns    []Column          // of a Table, between NAME and AGE
	Scale      *Scale            // it has a scale subresource
	Schema     json.RawMessage   // openAPIV3Schema of a custom resource; nil = no validation

	BuiltIn bool // typed in the server: lists without kind and apiVersion in the items
	NoCount bool // has a spec but no metadata.generation
	Returns bool // DELETE responds with the object, not with a Status

	Kept     *Info  // the stored version; nil if it is this one
	Unserved bool   // it is only stored, not served
	Warning  string // of a deprecated version

	Core kube.Resource // resource whose table stores the objects, in its own form; zero for all but events.k8s.io

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
}

// ListKind returns the kind of lists of r.
func (r *Info) ListKind() string { return cmp.Or(r.ListKindName, r.Kind+"List") }

// GoPackage returns the Go package of a type in kube-apiserver's errors.
func (r *Info) GoPackage() string {
	first, _, _ := strings.Cut(r.Group, ".")
	return cmp.Or(first, "core")
}

// Selectable reports whether a field selector may contain path.
func (r *Info) Selectable(path string) bool {
	return path == "metadata.name" || path == "metadata.namespace" && (r.Namespaced || r.BuiltIn && len(r.Fields) == 0) || slices.Contains(r.Fields, path)
}

// Scale has the paths of the fields that the scale subresource shows. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#scale-subresource.
type Scale struct {
	SpecReplicas   string // dotted path, such as "spec.replicas"
	StatusReplicas string
	Selector       string // path of a selector: a string, or an object with matchLabels
}

// GoType returns the Go type of a kind of r in kube-apiserver's errors.
func (r *Info) GoType(kind string) string {
	switch {
	case !r.BuiltIn:
		return "unstructured.UnstructuredList"
	}
	return r.GoPackage() + "." + kind
}

// SameObjects reports whether r and other are the same objects, in two versions or groups.
func (r *Info) SameObjects(other *Info) bool {
	stored := func(r *Info) kube.Resource {
		if r.Core.Plural != "" {
			return r.Core
		}
		return r.Resource
	}
	return stored(r).GroupResource() == stored(other).GroupResource()
}

// Defined reports whether a CustomResourceDefinition defines r.
func (r *Info) Defined() bool { return r.ListKindName != "" }

// Registry returns the path of r in etcd, for errors of kube-apiserver.
func (r *Info) Registry() string {
	switch {
	case r.Resource == kube.Services:
		return "services/specs"
	case r.Resource == kube.Endpoints:
		return "services/endpoints"
	case r.Resource == kube.Nodes:
		return "minions"
	case r.Resource == kube.Ingresses:
		return "ingress"
	case r.BuiltIn && r.Plural == "replicationcontrollers":
		return "controllers"
	case r.BuiltIn && r.Resource != kube.CustomResourceDefinitions:
		return r.Plural
	}
	return r.Group + "/" + r.Plural
}
