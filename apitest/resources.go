package apitest

import (
	"encoding/json"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// ResourceInfo is a resource that a server serves, with its data for discovery, Tables
// and field selectors.
type ResourceInfo struct {
	kube.Resource
	Singular   string          // default: Kind in lower case
	ShortNames []string        // as kubectl accepts them: "po"
	Categories []string        // such as "all"
	Status     bool            // it has a status subresource: a plain update does not change status
	Fields     []string        // field selectors besides metadata.name and metadata.namespace
	Columns    []Column        // of a Table, between NAME and AGE
	Defined    bool            // as for a custom resource: after NAME a Table has only Columns, if there are any
	Scale      *Scale          // it has a scale subresource
	Schema     json.RawMessage // openAPIV3Schema of a custom resource; nil = no validation
}

// Column is a column of a Table. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#additional-printer-columns.
type Column struct {
	Name     string
	Type     string // default: "string"
	Path     string // dotted path of the value, such as "spec.replicas"
	Priority int    // above 0: shown only by -o wide

	Format      string // such as int64; default: none
	Description string // default: one with the path
}

// Scale has the paths of the fields that the scale subresource shows. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#scale-subresource.
type Scale struct {
	SpecReplicas   string // dotted path, such as "spec.replicas"
	StatusReplicas string
	Selector       string // path of a selector: a string, or an object with matchLabels
}

// info returns r in the form of the server.
func (r ResourceInfo) info() object.Info {
	info := object.Info{Resource: r.Resource, Singular: r.Singular, ShortNames: r.ShortNames, Categories: r.Categories,
		Status: r.Status, Fields: r.Fields, Scale: (*object.Scale)(r.Scale), Schema: r.Schema}
	if r.Defined {
		info.ListKindName = r.Kind + "List"
	}
	for _, c := range r.Columns {
		info.Columns = append(info.Columns, object.Column{Name: c.Name, Type: c.Type, Path: c.Path, Priority: c.Priority, Format: c.Format, Description: c.Description})
	}
	return info
}
