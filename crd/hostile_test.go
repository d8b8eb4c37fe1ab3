package crd

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

// rated has a schema of its own, and the JSON of its fields.
type rated struct {
	Low int `json:"low"`
}

func (rated) Schema() Schema { return Schema{Type: "object", Description: "rated"} }

// lending has the method Schema of the struct that it embeds, and members of its own.
type lending struct {
	rated
	Name string `json:"name"`
}

type lendingPointer struct {
	*rated `json:"rated"`
	Name   string `json:"name"`
}

// ruledWidget has a schema of its own, and lentWidget has that of a part.
type ruledWidget struct {
	kube.Meta `json:"metadata"`
}

func (ruledWidget) Schema() Schema {
	return Schema{Type: "object", Properties: map[string]*Schema{"any": {PreserveUnknownFields: true}}}
}

type lentWidget struct {
	kube.Meta `json:"metadata"`
	rated
}

type marshaledWidget struct {
	kube.Meta `json:"metadata"`
}

func (marshaledWidget) MarshalJSON() ([]byte, error) { return []byte(`{"a":1}`), nil }

func TestSchemaMethodOfAnEmbeddedStructIsNotThatOfTheOuter(t *testing.T) {
	const want = "crd.rated, which is embedded, lends its method Schema(): embed no type with a schema of its own, and make it a named field"
	for name, tt := range map[string]struct{ got, want []string }{
		"by value":   {wrongOf[lending](t), []string{"spec: " + want}},
		"by pointer": {wrongOf[lendingPointer](t), []string{"spec: " + want}},
		"named":      {wrongOf[struct{ R rated }](t), nil},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	_, err := Of[lentWidget](widgets, Options{})
	if diff := cmp.Diff([]string{"(root): " + want}, flat(err)); diff != "" {
		t.Errorf("the whole object (-want +got):\n%s", diff)
	}
}

type (
	tree    map[string]tree
	matrix  []matrix
	pointer *pointer
)

func TestTypesWithoutAStructThatContainThemselves(t *testing.T) {
	const want = ` contains itself, which a structural schema cannot express: use json.RawMessage with the tag crd:"preserve"`
	for name, tt := range map[string]struct{ got, want []string }{
		"map":     {wrongOf[struct{ T tree }](t), []string{"spec.T{}: crd.tree" + want}},
		"list":    {wrongOf[struct{ T *matrix }](t), []string{"spec.T[]: crd.matrix" + want}},
		"pointer": {wrongOf[struct{ T pointer }](t), []string{"spec.T: crd.pointer has no JSON"}},
		"twice, not within itself": {wrongOf[struct {
			A, B map[string]level
			C    map[string]map[string]level
		}](t), nil},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

type (
	left  struct{ X int }
	right struct{ X string }
)

func TestOuterFieldHidesTwoOfOneName(t *testing.T) {
	for name, tt := range map[string]struct{ got, want []string }{
		"before them": {wrongOf[struct {
			X bool
			left
			right
		}](t), nil},
		"after them": {wrongOf[struct {
			left
			right
			X bool
		}](t), nil},
		"without it": {wrongOf[struct {
			left
			right
		}](t), []string{"spec.X: two fields of crd.right have this name"}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWholeObjectWithItsOwnJSON(t *testing.T) {
	d, err := Of[ruledWidget](widgets, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Schema{Type: "object", Properties: map[string]*Schema{"any": {PreserveUnknownFields: true}}}, d.Spec.Versions[0].Schema.OpenAPIV3Schema); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = Of[marshaledWidget](widgets, Options{})
	if diff := cmp.Diff([]string{"(root): crd.marshaledWidget has its own MarshalJSON: give it a method Schema() crd.Schema"}, flat(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStringOptionIsForScalars: encoding/json ignores ",string" for all other types.
func TestStringOptionIsForScalars(t *testing.T) {
	got := specOf[struct {
		//lint:ignore SA5008 the option has no effect, which is tested
		L []int `json:"l,string"`
		//lint:ignore SA5008 the option has no effect, which is tested
		M map[string]int `json:"m,string"`
		//lint:ignore SA5008 the option has no effect, which is tested
		S base `json:"s,string"`
		P *int `json:"p,string"`
		B bool `json:"b,string"`
	}](t)
	const want = `{"type":"object","required":["b","l","m","p","s"],"properties":{"b":{"type":"string"},"l":{"type":"array","items":{"type":"integer"}},"m":{"type":"object","additionalProperties":{"type":"integer"}},"p":{"type":"string"},"s":{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"b":{"type":"string"}}}}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLimitsOfIntegersAreIntegers: the server accepts others, and then no object. It reads limits
// as float64, and refuses that of the largest int64, too.
func TestLimitsOfIntegersAreIntegers(t *testing.T) {
	for _, tt := range []struct {
		got  []string
		want string
	}{
		{wrongOf[struct {
			A int `json:"a" crd:"min=1.5"`
		}](t), "spec.a: the limit 1.5 is not a value of the type integer with 64 bits: servers refuse every value"},
		{wrongOf[struct {
			A int32 `json:"a" crd:"multipleOf=0.5"`
		}](t), "spec.a: the limit 0.5 is not a value of the type integer with 32 bits: servers refuse every value"},
		{wrongOf[struct {
			A int32 `json:"a" crd:"max=3000000000"`
			B int32 `json:"b" crd:"max=3000000000,format=int64"`
		}](t), "spec.a: the limit 3000000000 is not a value of the type integer with 32 bits: servers refuse every value"},
		{wrongOf[struct {
			A int64 `json:"a" crd:"max=9223372036854774784"`
			B int64 `json:"b" crd:"max=9223372036854775807"`
		}](t), "spec.b: the limit 9223372036854775807 is not a value of the type integer with 64 bits: servers refuse every value"},
		{wrongOf[struct {
			A float64 `json:"a" crd:"multipleOf=0"`
		}](t), "spec.a: multipleOf=0 is not above 0"},
		{wrongOf[struct {
			A float64 `json:"a" crd:"max=Inf"`
		}](t), "spec.a: max=Inf is not a number"},
	} {
		if diff := cmp.Diff([]string{tt.want}, tt.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestFaultsAreThoseOfTheServer: each was seen on kube-apiserver.
func TestFaultsAreThoseOfTheServer(t *testing.T) {
	text := &Schema{Type: "string"}
	for name, tt := range map[string]struct {
		schema Schema
		value  string
		want   []Fault
	}{
		"null is no value of a required member": {Schema{Type: "object", Required: []string{"a"}, Properties: map[string]*Schema{"a": text}}, `{"a":null}`, []Fault{{Path: "a", Message: "is required"}}},
		"null where it is a value":              {Schema{Type: "object", Required: []string{"a"}, Properties: map[string]*Schema{"a": {Type: "string", Nullable: true}}}, `{"a":null}`, nil},
		"null in an enum":                       {Schema{Type: "string", Nullable: true, Enum: []json.RawMessage{[]byte(`"a"`), []byte("null")}}, "null", []Fault{{Message: "not one of the values of the enum"}}},
		"null is no int or string":              {Schema{IntOrString: true}, "null", []Fault{{Message: "null is not of the type int-or-string"}}},
		"null is no default":                    {Schema{Type: "object", Required: []string{"a"}, Properties: map[string]*Schema{"a": {Type: "string", Default: []byte("null")}}}, `{}`, []Fault{{Path: "a", Message: "is required"}}},
		"an integer of 64 bits":                 {Schema{Type: "integer"}, "9223372036854775807", nil},
		"an integer of more":                    {Schema{Type: "integer"}, "1e300", []Fault{{Message: "is not of the format int64"}}},
		"an int or string":                      {Schema{IntOrString: true}, "1e300", []Fault{{Message: "is not of the format int64"}}},
		"null in a map":                         {Schema{Type: "object", MaxProperties: new(int64), AdditionalProperties: text}, `{"a":null}`, nil},
		"null beside not":                       {Schema{Type: "object", Properties: map[string]*Schema{"a": text}, Not: &Schema{Required: []string{"a"}}}, `{"a":null}`, nil},
		"no bytes":                              {Schema{Type: "string", Format: "byte"}, `""`, []Fault{{Message: "is not of the format byte"}}},
		"an embedded object without a type": {Schema{Type: "object", EmbeddedResource: true, PreserveUnknownFields: true}, `{"kind":""}`,
			[]Fault{{Path: "apiVersion", Message: "is required in an embedded object"}, {Path: "kind", Message: "is required in an embedded object"}}},
		"an embedded object": {Schema{Type: "object", EmbeddedResource: true, PreserveUnknownFields: true}, `{"apiVersion":"v1","kind":"Pod"}`, nil},
	} {
		if diff := cmp.Diff(tt.want, faults(&tt.schema, []byte(tt.value))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDiffComparesMembersThatMove(t *testing.T) {
	type mapped struct {
		M struct {
			A int `json:"a,omitempty"`
		} `json:"m,omitzero"`
	}
	type open struct {
		O json.RawMessage `json:"o,omitempty" crd:"preserve"`
	}
	for name, tt := range map[string]struct{ got, want []string }{
		"a struct becomes a map of another type": {changesOf[mapped, struct {
			M map[string]string `json:"m,omitempty"`
		}](t), []string{"v1: spec.m.a: removed, and kept as an unknown member", "v1: spec.m.a: the type changed from integer to string (breaking)", "v1: spec.m: members of any name are now kept"}},
		"a struct becomes a map of its type": {changesOf[mapped, struct {
			M map[string]int `json:"m,omitempty"`
		}](t), []string{"v1: spec.m.a: removed, and kept as an unknown member", "v1: spec.m: members of any name are now kept"}},
		"the default of a required member goes": {changesOf[struct {
			A string `json:"a" crd:"required,default=x"`
		}, struct {
			A string `json:"a"`
		}](t), []string{`v1: spec.a: default "x" removed, and it is required (breaking)`}},
		"an object becomes an embedded one": {changesOf[struct {
			A base `json:"a" crd:"preserve"`
		}, struct {
			A base `json:"a" crd:"preserve,embedded"`
		}](t), []string{"v1: spec.a: is now an embedded object, which needs apiVersion and kind (breaking)"}},
		"null is no default": {changesOf[open, struct {
			O json.RawMessage `json:"o,omitempty" crd:"preserve,default=null"`
		}](t), nil},
		"numbers are compared by value": {changesOf[struct {
			A int `json:"a" crd:"default=1"`
		}, struct {
			A int `json:"a" crd:"default=1.0"`
		}](t), nil},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
