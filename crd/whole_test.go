package crd

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Other generators write apiVersion, kind and metadata into schemas. A server has and keeps them
// anyway; only limits of the name count.
func TestWholeObjectsHaveTheirMetadata(t *testing.T) {
	parse := func(text string) *Schema {
		var s Schema
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		return &s
	}
	def := func(root *Schema) *Definition {
		v := NewVersion("v1", root, VersionOptions{})
		v.Storage = true
		return New(widgets, Options{}, v)
	}
	const (
		plain     = `{"type":"object","properties":{"spec":{"type":"string"}}}`
		generated = `{"type":"object","required":["metadata"],"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},"metadata":{"type":"object"},"spec":{"type":"string"}}}`
		limited   = `{"type":"object","properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","maxLength":9}}},"spec":{"type":"string"}}}`
		open      = `{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"spec":{"type":"string"}}}`
		openToo   = `{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"metadata":{"type":"object"},"kind":{"type":"string"},"spec":{"type":"string"}}}`
		inner     = `{"type":"object","properties":{"e":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"kind":{"type":"string"},"metadata":{"type":"object"},"x":{"type":"string"}}}}}`
		innerToo  = `{"type":"object","properties":{"e":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"x":{"type":"string"}}}}}`
	)
	for _, tt := range []struct {
		name, was, is string
		want          []string
	}{
		{"no longer in the schema", generated, plain, nil},
		{"now in the schema", plain, generated, nil},
		{"now in an open schema", open, openToo, nil},
		{"no longer in an embedded object", inner, innerToo, nil},
		{"now in an embedded object", innerToo, inner, nil},
		{"the name is limited", generated, limited, []string{"v1: metadata.name: maxLength 9 was added (breaking)"}},
		{"the name is limited at once", plain, limited, []string{"v1: metadata.name: maxLength 9 was added (breaking)"}},
		{"the name is no longer limited", limited, plain, []string{"v1: metadata.name: maxLength 9 removed"}},
	} {
		var got []string
		for _, c := range compare(def(parse(tt.was)), def(parse(tt.is))) {
			got = append(got, c.String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	const object = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a-longer-name","uid":"u","labels":{"a":"b"}},"spec":"s"}`
	for _, tt := range []struct {
		schema string
		want   []Fault
	}{
		{plain, nil}, {generated, nil}, {openToo, nil},
		{limited, []Fault{{Path: "metadata.name", Message: "has 13 characters: want at most 9"}}},
	} {
		d := def(parse(tt.schema))
		v := NewVersion("v0", parse(plain), VersionOptions{})
		d.Spec.Versions = append(d.Spec.Versions, v)
		if diff := cmp.Diff(tt.want, d.faults(d.version("v1"), []byte(object))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.schema, diff)
		}
		if got := d.faults(d.version("v0"), []byte(object)); got != nil {
			t.Errorf("%s, stored: %v", tt.schema, got)
		}
	}
	if got := dropped(parse(limited), parse(generated), ""); got != nil {
		t.Errorf("dropped: %v", got)
	}
}

// TestDiffOfEmbeddedObjectsThatAreOnesNoLonger: the server drops what a schema of the metadata
// lacks, once the object around it is an object like others.
func TestDiffOfEmbeddedObjectsThatAreOnesNoLonger(t *testing.T) {
	const (
		embedded = `{"type":"object","x-kubernetes-embedded-resource":true,`
		plain    = `{"type":"object",`
		message  = "no longer an embedded object: apiVersion, kind and metadata are members like others"
	)
	for _, tt := range []struct {
		name, rest string
		want       Change
	}{
		{"closed", `"properties":{"a":{"type":"string"}}`, Change{Path: "spec", Message: message, Breaking: true}},
		{"open", `"x-kubernetes-preserve-unknown-fields":true`, Change{Path: "spec", Message: "no longer an embedded object"}},
		{"open, with metadata", `"x-kubernetes-preserve-unknown-fields":true,"properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","maxLength":63}}}}`,
			Change{Path: "spec", Message: message, Breaking: true}},
	} {
		got, _ := breaking(t, embedded+tt.rest+`}`, plain+tt.rest+`}`)
		if diff := cmp.Diff([]Change{tt.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if paths := dropped(parsed(t, embedded+tt.rest+`}`), parsed(t, plain+tt.rest+`}`), "spec"); (paths != nil) != tt.want.Breaking {
			t.Errorf("%s, stored: %q", tt.name, paths)
		}
	}
}
