package apitest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// A CustomResourceDefinition that is created is served from then on, as soon as
// its write has returned; see
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/.
// One version is served: the one it stores.

type crdSpec struct {
	Group string `json:"group"`
	Names struct {
		Plural     string   `json:"plural"`
		Singular   string   `json:"singular,omitempty"`
		ShortNames []string `json:"shortNames,omitempty"`
		Kind       string   `json:"kind"`
		ListKind   string   `json:"listKind,omitempty"`
		Categories []string `json:"categories,omitempty"`
	} `json:"names"`
	Scope    string       `json:"scope"`
	Versions []crdVersion `json:"versions"`
}

type crdVersion struct {
	Name    string `json:"name"`
	Served  bool   `json:"served"`
	Storage bool   `json:"storage"`
	Schema  struct {
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
	} `json:"additionalPrinterColumns"`
	Fields []struct {
		JSONPath string `json:"jsonPath"`
	} `json:"selectableFields"`
}

// stored returns the version that is stored.
func (s *crdSpec) stored() *crdVersion {
	for i := range s.Versions {
		if s.Versions[i].Storage {
			return &s.Versions[i]
		}
	}
	return nil
}

// prepareDefinition says what is wrong with a definition, and fills in what the
// server derives.
func prepareDefinition(o *object) *kube.Status {
	res := kube.CustomResourceDefinitions
	raw, _ := o.field("spec")
	var s crdSpec
	if err := json.Unmarshal(raw, &s); err != nil {
		return statusBadRequest("CustomResourceDefinition in version %q cannot be handled as a CustomResourceDefinition: %v", res.Version, err)
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
	if want := s.Names.Plural + "." + s.Group; o.meta.Name != want && s.Group != "" {
		causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Field: "metadata.name",
			Message: `Invalid value: "` + o.meta.Name + `": must be spec.names.plural+"."+spec.group`})
	}
	if s.stored() == nil {
		causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Field: "spec.versions",
			Message: "Invalid value: must have exactly one version marked as storage version"})
	}
	for _, v := range s.Versions {
		if len(v.Schema.OpenAPIV3Schema) == 0 {
			causes = append(causes, kube.StatusCause{Reason: "FieldValueRequired", Field: "spec.versions[0].schema.openAPIV3Schema", Message: "Required value: schemas are required"})
		}
	}
	if len(causes) > 0 {
		return statusInvalid(res.Group, res.Kind, o.meta.Name, causes...)
	}
	s.Names.Singular = cmp.Or(s.Names.Singular, strings.ToLower(s.Names.Kind))
	s.Names.ListKind = cmp.Or(s.Names.ListKind, s.Names.Kind+"List")
	raw = setAt(raw, "names", s.Names)
	if len(lookupJSON(raw, "conversion")) == 0 {
		raw = setAt(raw, "conversion", map[string]string{"strategy": "None"})
	}
	o.setField("spec", raw, true)
	now := timestamp()
	condition := func(typ, reason, message string) map[string]string {
		return map[string]string{"type": typ, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message}
	}
	if old, ok := o.field("status"); ok && bytes.Contains(old, []byte(`"Established"`)) {
		return nil
	}
	o.setField("status", marshal(map[string]any{
		"conditions": []any{
			condition("NamesAccepted", "NoConflicts", "no conflicts found"),
			condition("Established", "InitialNamesAccepted", "the initial names have been accepted")},
		"acceptedNames":  s.Names,
		"storedVersions": []string{s.stored().Name},
	}), true)
	return nil
}

// lookupJSON returns a member of a JSON object, nil where there is none.
func lookupJSON(raw json.RawMessage, name string) json.RawMessage {
	ms, err := members(raw)
	if err != nil {
		return nil
	}
	for _, m := range ms {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// resourceOf returns what a definition defines.
func resourceOf(o *object) (ResourceInfo, bool) {
	raw, _ := o.field("spec")
	var s crdSpec
	if json.Unmarshal(raw, &s) != nil || s.stored() == nil || !s.stored().Served {
		return ResourceInfo{}, false
	}
	v := s.stored()
	r := ResourceInfo{
		Resource: kube.Resource{Group: s.Group, Version: v.Name, Plural: s.Names.Plural, Kind: s.Names.Kind, Namespaced: s.Scope == "Namespaced"},
		Singular: s.Names.Singular, ShortNames: s.Names.ShortNames, Categories: s.Names.Categories,
		Status: v.Subresources.Status != nil, Schema: v.Schema.OpenAPIV3Schema, listKindName: s.Names.ListKind,
	}
	if c := v.Subresources.Scale; c != nil {
		r.Scale = &Scale{dotted(c.Spec), dotted(c.Status), dotted(c.Selector)}
	}
	for _, c := range v.Columns {
		r.Columns = append(r.Columns, Column{Name: c.Name, Type: c.Type, Path: dotted(c.JSONPath), Priority: c.Priority})
	}
	for _, f := range v.Fields {
		r.Fields = append(r.Fields, dotted(f.JSONPath))
	}
	return r.withDefaults(), true
}

// dotted turns the simple JSONPath of a definition into a dotted path.
func dotted(path string) string { return strings.TrimPrefix(path, ".") }

// define serves, changes or ends what a definition that was written defines. The
// caller holds mu.
func (st *store) define(prev, next *object) {
	if prev != nil {
		if r, ok := resourceOf(prev); ok && (next == nil || !sameResource(next, r)) {
			st.drop(r.Resource)
		}
	}
	if next == nil {
		return
	}
	r, ok := resourceOf(next)
	if !ok {
		return
	}
	if t := st.tables[r.GroupResource()]; t != nil {
		t.info = &r
		return
	}
	st.addLocked(r)
}

func sameResource(o *object, r ResourceInfo) bool {
	now, ok := resourceOf(o)
	return ok && now.Resource == r.Resource
}
