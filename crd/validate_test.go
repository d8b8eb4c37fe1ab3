package crd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestValidateIsTheServer: each was sent to kube-apiserver, in a dry run of Ensure.
func TestValidateIsTheServer(t *testing.T) {
	for schema, valid := range map[string]bool{
		`{"type":"array","items":{"type":"array","items":{"type":"string"}},"x-kubernetes-list-type":"set"}`:                                true,
		`{"type":"array","items":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},"x-kubernetes-list-type":"set"}`: false,
		`{"type":"array","items":{"x-kubernetes-preserve-unknown-fields":true},"x-kubernetes-list-type":"set"}`:                             true,
		`{"type":"array","items":{"x-kubernetes-preserve-unknown-fields":true,"nullable":true},"x-kubernetes-list-type":"set"}`:             false,
		`{"type":"string","enum":[1]}`:                                                                                                true,
		`{"type":"string","enum":[null]}`:                                                                                             true,
		`{"type":"object","x-kubernetes-validations":[{"rule":"true\n"}]}`:                                                            true,
		`{"type":"object","x-kubernetes-validations":[{"rule":"true &&\ntrue"}]}`:                                                     false,
		`{"type":"object","x-kubernetes-validations":[{"rule":"true","message":" "}]}`:                                                false,
		`{"type":"object","x-kubernetes-validations":[{"rule":"true","optionalOldSelf":true}]}`:                                       false,
		`{"type":"object","x-kubernetes-validations":[{"rule":"self == oldSelf","optionalOldSelf":true}]}`:                            true,
		`{"type":"object","x-kubernetes-validations":[{"rule":"true"},{"rule":"true"}]}`:                                              false,
		`{"x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-validations":[{"rule":"true"}]}`:                                  false,
		`{"type":"object","additionalProperties":{"type":"string"},"allOf":[{"properties":{"a":{"maxLength":3}}}]}`:                   true,
		`{"type":"object","properties":{"b":{"type":"string"}},"allOf":[{"properties":{"a":{"maxLength":3}}}]}`:                       true,
		`{"type":"object","not":{"properties":{"a":{"not":{"type":"string"}}}},"properties":{"a":{"type":"string"}}}`:                 false,
		`{"type":"array","items":{"type":"string"},"allOf":[{"items":{"type":"string"}}]}`:                                            false,
		`{"type":"array","items":{"type":"string"},"allOf":[{"items":{"maxLength":3}}]}`:                                              true,
		`{"type":"string","title":"a","example":1,"allOf":[{"maxLength":3}]}`:                                                         true,
		`{"type":"string","allOf":[{"title":"a"}]}`:                                                                                   false,
		`{"x-kubernetes-int-or-string":true,"allOf":[{"anyOf":[{"type":"integer"},{"type":"string"}]},{"pattern":"a"}]}`:              true,
		`{"type":"object","allOf":[{"x-kubernetes-validations":[{"rule":"true"}]}]}`:                                                  false,
		`{"type":"object","x-kubernetes-validations":[{"rule":"true","messageExpression":" "}]}`:                                      false,
		`{"type":"object","default":{"a":null},"properties":{"a":{"type":"string"}}}`:                                                 false,
		`{"type":"object","default":{"a":null},"properties":{"a":{"type":"string","nullable":true}}}`:                                 true,
		`{"type":"object","default":{"a":null},"additionalProperties":{"type":"string"}}`:                                             false,
		`{"type":"object","default":{},"required":["a"],"properties":{"a":{"type":"string","default":"x"}}}`:                          false,
		`{"type":"array","items":{"type":"object","default":{},"required":["a"],"properties":{"a":{"type":"string","default":"x"}}}}`: false,
		`{"type":"array","items":{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}},"default":[{"a":"x"}]}`:      true,
		`{"type":"array","default":["1","1"],"items":{"type":"string"},"x-kubernetes-list-type":"set"}`:                               false, // taken, but then no object without it
		`{"x-kubernetes-int-or-string":true,"default":1.5}`:                                                                           false, // taken, but then no object without it
	} {
		var s Schema
		if err := json.Unmarshal([]byte(schema), &s); err != nil {
			t.Fatal(err)
		}
		root := &Schema{Type: "object", Properties: map[string]*Schema{"spec": &s}}
		v := NewVersion("v1", root, VersionOptions{})
		v.Storage = true
		if err := New(widgets, Options{}, v).Validate(); (err == nil) != valid {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

func TestValidateOfTheWholeDefinition(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Definition)
		want   []string
	}{
		"names that the server makes": {func(d *Definition) { d.Spec.Names.Singular, d.Spec.Names.ListKind = "", "" }, nil},
		"a long name": {func(d *Definition) {
			d.Spec.Group = strings.Repeat("a.", 123) + "aaa"
			d.Metadata.Name = "widgets." + d.Spec.Group
		}, []string{"metadata.name: it has 257 characters: want at most 253"}},
		"a nullable root": {func(d *Definition) { d.Spec.Versions[0].Schema.OpenAPIV3Schema.Nullable = true },
			[]string{"versions[v1]: the whole object is nullable or has a default"}},
		"a root with a default": {func(d *Definition) {
			d.Spec.Versions[0].Schema.OpenAPIV3Schema.Default = json.RawMessage(`{"spec":{}}`)
		},
			[]string{"versions[v1]: the whole object is nullable or has a default"}},
		"an example": {func(d *Definition) {
			d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Example = json.RawMessage("x")
		},
			[]string{"spec: the example is not JSON"}},
		"a restriction of a member that is not there": {func(d *Definition) {
			d.Spec.Versions[0].Schema.OpenAPIV3Schema.AllOf = []*Schema{{Not: &Schema{Properties: map[string]*Schema{"spec": {Properties: map[string]*Schema{"x": {}}}}}}}
		}, []string{"spec.x: it is within anyOf, oneOf, allOf or not of the whole object, and not in its schema"}},
		"a restriction of the items of an object": {func(d *Definition) {
			d.Spec.Versions[0].Schema.OpenAPIV3Schema.AllOf = []*Schema{{Properties: map[string]*Schema{"spec": {Items: &Schema{}}}}}
		}, []string{"spec[]: it is within anyOf, oneOf, allOf or not of the whole object, and not in its schema"}},
		"a restriction of a whole object with a status": {func(d *Definition) {
			d.Spec.Versions[0].Subresources.Status = new(struct{})
			d.Spec.Versions[0].Schema.OpenAPIV3Schema.Not = &Schema{Required: []string{"x"}}
		}, []string{"versions[v1]: the whole object has allOf, anyOf, oneOf, not, an enum or a number of members, and a status subresource"}},
		"a warning": {func(d *Definition) { d.Spec.Versions[0].DeprecationWarning = "x" },
			[]string{"versions[v1]: a warning is that of a deprecated version, and has one line of at most 256 bytes"}},
		"a warning of two lines": {func(d *Definition) {
			d.Spec.Versions[0].Deprecated, d.Spec.Versions[0].DeprecationWarning = true, "x\ny"
		},
			[]string{"versions[v1]: a warning is that of a deprecated version, and has one line of at most 256 bytes"}},
		"selectable twice": {func(d *Definition) { d.Spec.Versions[0].SelectableFields = []SelectableField{{".spec.a"}, {".spec.a"}} },
			[]string{`versions[v1].selectableFields: ".spec.a": want a path with a leading dot, once`}},
	} {
		v := NewVersion("v1", &Schema{Type: "object", Properties: map[string]*Schema{"spec": {Type: "object", Properties: map[string]*Schema{"a": {Type: "string"}}}}}, VersionOptions{})
		v.Storage = true
		d := New(widgets, Options{}, v)
		tt.change(d)
		if diff := cmp.Diff(tt.want, flat(d.Validate())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
