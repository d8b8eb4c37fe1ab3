package crd

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/yamltext"
	"github.com/listwatch/listwatch/kube"
)

// Options are the parts of a definition that do not come from the type. The zero value is a
// definition with one version.
type Options struct {
	Singular   string   // default: the kind in lower case
	ShortNames []string // such as "po" for pods
	Categories []string // such as "all"

	VersionOptions           // of the version that is stored; only [Of] reads them
	Also           []Version // further versions, from [VersionOf] or [NewVersion]
}

// VersionOptions are the parts of a version that do not come from its type. The zero value
// is a version that is served.
type VersionOptions struct {
	// Scale is where the scale subresource reads and writes; nil = there is none.
	Scale *Scale

	// NoStatus is for a type with a member status that is not a subresource. By
	// default a member status is one: only requests to it change it.
	NoStatus bool

	Unserved   bool   // only read from storage
	Deprecated string // the warning for requests of this version; empty = not deprecated
}

// Scale names the members that a HorizontalPodAutoscaler and kubectl scale use.
type Scale struct {
	SpecReplicas   string `json:"specReplicasPath"`            // such as ".spec.replicas"
	StatusReplicas string `json:"statusReplicasPath"`          // such as ".status.replicas"
	Selector       string `json:"labelSelectorPath,omitempty"` // a string with a selector, such as ".status.selector"
}

// Definition is a CustomResourceDefinition in apiextensions.k8s.io/v1. It may be changed
// before it is printed or applied; [Definition.Validate] checks the result.
type Definition struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Metadata is the part of the metadata that a definition sets.
type Metadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Spec is the spec of a definition.
type Spec struct {
	Group      string      `json:"group"`
	Names      Names       `json:"names"`
	Scope      string      `json:"scope"` // Namespaced or Cluster
	Versions   []Version   `json:"versions"`
	Conversion *Conversion `json:"conversion,omitempty"` // nil = None
}

// Names are the names of a resource.
type Names struct {
	Plural     string   `json:"plural"`
	Singular   string   `json:"singular,omitempty"`
	Kind       string   `json:"kind"`
	ListKind   string   `json:"listKind,omitempty"`
	ShortNames []string `json:"shortNames,omitempty"`
	Categories []string `json:"categories,omitempty"`
}

func (n Names) equal(o Names) bool {
	return n.Plural == o.Plural && n.Singular == o.Singular && n.Kind == o.Kind && n.ListKind == o.ListKind &&
		slices.Equal(n.ShortNames, o.ShortNames) && slices.Equal(n.Categories, o.Categories)
}

// Conversion is how objects are converted between versions: with the strategy None only
// apiVersion changes, with Webhook a webhook converts them. This package does not read
// the configuration of the webhook.
type Conversion struct {
	Strategy string         `json:"strategy"`
	Webhook  map[string]any `json:"webhook,omitempty"`
}

// Version is one version of a definition.
type Version struct {
	Name               string            `json:"name"`
	Served             bool              `json:"served"`
	Storage            bool              `json:"storage"`
	Deprecated         bool              `json:"deprecated,omitempty"`
	DeprecationWarning string            `json:"deprecationWarning,omitempty"`
	Columns            []Column          `json:"additionalPrinterColumns,omitempty"`
	SelectableFields   []SelectableField `json:"selectableFields,omitempty"`
	Subresources       Subresources      `json:"subresources,omitzero"`
	Schema             VersionSchema     `json:"schema"`

	err error // of VersionOf, reported by Of
}

// VersionSchema is the schema of a version.
type VersionSchema struct {
	OpenAPIV3Schema *Schema `json:"openAPIV3Schema"`
}

// Subresources are those of a version.
type Subresources struct {
	Status *struct{} `json:"status,omitempty"`
	Scale  *Scale    `json:"scale,omitempty"`
}

// Column is a column that kubectl get shows.
type Column struct {
	Name        string `json:"name"`
	Type        string `json:"type"` // string, integer, number, boolean or date
	Format      string `json:"format,omitempty"`
	Description string `json:"description,omitempty"`
	Priority    int    `json:"priority,omitempty"` // above 0: only with -o wide
	JSONPath    string `json:"jsonPath"`
}

// SelectableField is a member that a field selector can name.
type SelectableField struct {
	JSONPath string `json:"jsonPath"`
}

// Of returns the definition of the resource r, whose objects are T. The package
// documentation has the rules and the tags. The version of r is the one that is stored.
// The error joins a *[FieldError] for each member that kube-apiserver would refuse.
func Of[T kube.Object](r kube.Resource, o Options) (*Definition, error) {
	v := VersionOf[T](r.Version, o.VersionOptions)
	v.Storage = true
	d := New(r, o, v)
	var errs []error
	for i := range d.Spec.Versions {
		errs = append(errs, d.Spec.Versions[i].err)
	}
	err := errors.Join(errs...)
	if err == nil {
		err = d.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("definition of %s: %w", r, err)
	}
	return d, nil
}

// VersionOf returns a version for [Options], whose objects are T. Of reports what is
// wrong with T.
func VersionOf[T kube.Object](name string, o VersionOptions) Version {
	b := builder{version: name}
	root := b.root(typeOf[T]())
	v := NewVersion(name, root, o)
	v.Columns, v.SelectableFields = b.columns, b.selectable
	v.err = errors.Join(b.errs...)
	return v
}

// NewVersion returns a version with a schema that was not made from a Go type.
func NewVersion(name string, root *Schema, o VersionOptions) Version {
	v := Version{
		Name: name, Served: !o.Unserved, Deprecated: o.Deprecated != "", DeprecationWarning: o.Deprecated,
		Schema: VersionSchema{OpenAPIV3Schema: root},
	}
	if root.Properties["status"] != nil && !o.NoStatus {
		v.Subresources.Status = new(struct{})
	}
	v.Subresources.Scale = o.Scale
	return v
}

// New returns the definition of the resource r with complete versions, and those of o.Also. One of
// them has Storage set. New does not read the VersionOptions of o: [NewVersion] takes those of a
// version. It checks nothing: see [Definition.Validate].
func New(r kube.Resource, o Options, versions ...Version) *Definition {
	singular := o.Singular
	if singular == "" {
		singular = strings.ToLower(r.Kind)
	}
	scope := "Cluster"
	if r.Namespaced {
		scope = "Namespaced"
	}
	return &Definition{
		APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition",
		Metadata: Metadata{Name: r.Plural + "." + r.Group},
		Spec: Spec{
			Group: r.Group, Scope: scope, Versions: slices.Concat(versions, o.Also),
			Names: Names{Plural: r.Plural, Singular: singular, Kind: r.Kind, ListKind: r.Kind + "List", ShortNames: o.ShortNames, Categories: o.Categories},
		},
	}
}

// JSON returns the definition in one line. The same definition gives the same bytes.
func (d *Definition) JSON() ([]byte, error) {
	b, err := codec.Encode(d)
	if err != nil {
		return nil, fmt.Errorf("encode the definition %s: %w", d.Metadata.Name, err)
	}
	return b, nil
}

// YAML returns the definition as a YAML document, for kubectl apply -f. The same
// definition gives the same bytes.
func (d *Definition) YAML() ([]byte, error) {
	b, err := d.JSON()
	if err != nil {
		return nil, err
	}
	text, _, err := yamltext.Of(b, math.MaxInt)
	return []byte(text), err
}

// resource returns the resource of a version.
func (d *Definition) resource(version string) kube.Resource {
	return kube.Resource{Group: d.Spec.Group, Version: version, Plural: d.Spec.Names.Plural, Kind: d.Spec.Names.Kind, Namespaced: d.Spec.Scope == "Namespaced"}
}

// version returns a version, nil if there is none of that name.
func (d *Definition) version(name string) *Version {
	for i := range d.Spec.Versions {
		if d.Spec.Versions[i].Name == name {
			return &d.Spec.Versions[i]
		}
	}
	return nil
}
