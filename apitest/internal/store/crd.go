package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// A CustomResourceDefinition whose names are free is served as soon as the write that
// creates it has returned; see
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/.
// Versions are converted without a webhook: see package view.

type crdSpec struct {
	Group      string       `json:"group"`
	Names      crdNames     `json:"names"`
	Scope      string       `json:"scope"`
	Versions   []crdVersion `json:"versions"`
	Conversion struct {
		Strategy string `json:"strategy"`
	} `json:"conversion"`
}

type crdNames struct {
	Plural     string   `json:"plural"`
	Singular   string   `json:"singular,omitempty"`
	ShortNames []string `json:"shortNames,omitempty"`
	Kind       string   `json:"kind"`
	ListKind   string   `json:"listKind,omitempty"`
	Categories []string `json:"categories,omitempty"`
}

type crdVersion struct {
	Name    string `json:"name"`
	Served  bool   `json:"served"`
	Storage bool   `json:"storage"`

	Deprecated bool    `json:"deprecated"`
	Warning    *string `json:"deprecationWarning"`

	Schema struct {
		OpenAPIV3Schema json.RawMessage `json:"openAPIV3Schema"`
	} `json:"schema"`
	Subresources struct {
		Status *struct{} `json:"status"`
		Scale  *struct {
			Spec     string `json:"specReplicasPath"`
			Status   string `json:"statusReplicasPath"`
			Selector string `json:"labelSelectorPath"`
		} `json:"scale"`
	} `json:"subresources"`
	Columns []struct {
		Name     string `json:"name"`
		Type     string `json:"type"`
		JSONPath string `json:"jsonPath"`
		Priority int    `json:"priority"`

		Format      string `json:"format"`
		Description string `json:"description"`
	} `json:"additionalPrinterColumns"`
	Fields []struct {
		JSONPath string `json:"jsonPath"`
	} `json:"selectableFields"`
}

// stored returns the stored version.
func (s *crdSpec) stored() *crdVersion {
	for i := range s.Versions {
		if s.Versions[i].Storage {
			return &s.Versions[i]
		}
	}
	return nil
}

// nameCauses returns the errors about the name of a new definition, about the kind of lists, and
// about the fields that old must keep: its name, and what the stored objects of a served one
// depend on.
func (s *crdSpec) nameCauses(old *object.Object, name string) (causes []kube.StatusCause) {
	if old == nil {
		if s.Group != "" && !strings.Contains(s.Group, ".") {
			causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Field: "spec.group",
				Message: fmt.Sprintf("Invalid value: %q: should be a domain with at least one dot", s.Group)})
		}
		if want := s.Names.Plural + "." + s.Group; name != want && s.Group != "" {
			causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Field: "metadata.name",
				Message: `Invalid value: "` + name + `": must be spec.names.plural+"."+spec.group`})
		}
	}
	if s.Names.Kind != "" && s.Names.Kind == s.Names.ListKind {
		causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Field: "spec.names.listKind",
			Message: fmt.Sprintf("Invalid value: %q: kind and listKind may not be the same", s.Names.ListKind)})
	}
	if old == nil {
		return causes
	}
	raw, _ := old.Field("spec")
	var was crdSpec
	if json.Unmarshal(raw, &was) != nil {
		return causes
	}
	_, served := heldNames(old)
	for _, f := range [...]struct {
		path, is, was string
		fixed         bool
	}{
		{"spec.scope", s.Scope, was.Scope, served},
		{"spec.names.kind", s.Names.Kind, was.Names.Kind, served},
		{"spec.group", s.Group, was.Group, true},
		{"spec.names.plural", s.Names.Plural, was.Names.Plural, true},
	} {
		if f.fixed && f.is != f.was {
			causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Field: f.path, Message: fmt.Sprintf("Invalid value: %q: field is immutable", f.is)})
		}
	}
	return causes
}

// PrepareDefinition validates a definition, and sets the fields that the server
// derives. old is the definition that it replaces, nil for a new one.
func PrepareDefinition(old, o *object.Object) *kube.Status {
	res := kube.CustomResourceDefinitions
	raw, _ := o.Field("spec")
	var s crdSpec
	if err := json.Unmarshal(raw, &s); err != nil {
		return wire.BadRequest("CustomResourceDefinition in version %q cannot be handled as a CustomResourceDefinition: %v", res.Version, err)
	}
	var causes []kube.StatusCause
	required := func(path, v string) {
		if v == "" {
			causes = append(causes, kube.StatusCause{Reason: "FieldValueRequired", Message: "Required value", Field: path})
		}
	}
	required("spec.group", s.Group)
	required("spec.names.plural", s.Names.Plural)
	required("spec.names.kind", s.Names.Kind)
	required("spec.scope", s.Scope)
	causes = append(causes, s.nameCauses(old, o.Meta.Name)...)
	stored, names := 0, map[string]bool{}
	for i, v := range s.Versions {
		if v.Storage {
			stored++
		}
		if names[v.Name] {
			causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Field: fmt.Sprintf("spec.versions[%d].name", i), Message: "Invalid value: must contain unique version names"})
		}
		names[v.Name] = true
	}
	switch s.Conversion.Strategy {
	case "", "None":
	case "Webhook":
		causes = append(causes, kube.StatusCause{Reason: "FieldValueNotSupported", Field: "spec.conversion.strategy",
			Message: `Unsupported value: "Webhook": this server is a fake and calls no conversion webhooks: use "None"`})
	default:
		causes = append(causes, kube.StatusCause{Reason: "FieldValueNotSupported", Field: "spec.conversion.strategy",
			Message: fmt.Sprintf(`Unsupported value: %q: supported values: "None", "Webhook"`, s.Conversion.Strategy)})
	}
	before := storedVersions(old)
	for i, name := range before {
		if !names[name] {
			causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Field: fmt.Sprintf("status.storedVersions[%d]", i),
				Message: fmt.Sprintf("Invalid value: %q: missing from spec.versions; %s was previously a storage version, and must remain in spec.versions "+
					"until a storage migration ensures no data remains persisted in %s and removes %s from status.storedVersions", name, name, name, name)})
		}
	}
	if stored != 1 {
		causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Field: "spec.versions", Message: "Invalid value: must have exactly one version marked as storage version"})
	}
	for i, v := range s.Versions {
		path := fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", i)
		if len(v.Schema.OpenAPIV3Schema) == 0 {
			causes = append(causes, kube.StatusCause{Reason: "FieldValueRequired", Field: path, Message: "Required value: schemas are required"})
		}
		if len(s.Versions) == 1 { // kube-apiserver moves the only schema there
			path = "spec.validation.openAPIV3Schema"
		}
		causes = append(causes, schemaCauses(v.Schema.OpenAPIV3Schema, path, "at the root")...)
	}
	if len(causes) > 0 {
		return wire.Invalid(res.Group, res.Kind, o.Meta.Name, causes...)
	}
	s.Names.Singular = cmp.Or(s.Names.Singular, strings.ToLower(s.Names.Kind))
	s.Names.ListKind = cmp.Or(s.Names.ListKind, s.Names.Kind+"List")
	raw = object.SetAt(raw, "names", s.Names)
	if len(object.LookupJSON(raw, "conversion")) == 0 {
		raw = object.SetAt(raw, "conversion", map[string]string{"strategy": "None"})
	}
	o.SetField("spec", raw, true)
	if name := s.stored().Name; !slices.Contains(before, name) {
		before = append(before, name)
	}
	status, ok := o.Field("status") // that of old, if there is one
	if !ok {
		status = json.RawMessage(`{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":` + string(object.Marshal(before)) + `}`)
	} else if !slices.Equal(before, storedVersions(o)) {
		status = object.SetAt(status, "storedVersions", before)
	}
	o.SetField("status", status, true)
	return nil
}

// storedVersions returns the versions in which objects may be stored.
func storedVersions(o *object.Object) (list []string) {
	if o == nil {
		return nil
	}
	status, _ := o.Field("status")
	columns.DecodeLenient(object.LookupJSON(status, "storedVersions"), &list)
	return list
}
