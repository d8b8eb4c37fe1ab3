package crd

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

var widgets = kube.Resource{Group: "example.com", Version: "v1", Plural: "widgets", Kind: "Widget", Namespaced: true}

// widget is an object with a spec S.
type widget[S any] struct {
	kube.Meta `json:"metadata"`
	Spec      S `json:"spec"`
}

// specOf returns the JSON of the schema of S.
func specOf[S any](t *testing.T) string {
	t.Helper()
	d, err := Of[widget[S]](widgets, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"])
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

type base struct {
	A string `json:"a"`
	B string `json:"b,omitempty"`
}

type level string

func (level) Schema() Schema { return Schema{Type: "string", Description: "own"} }

type element struct {
	Name string `json:"name"`
	Size int    `json:"size" crd:"immutable"`
}

func TestSchemaOfATypeIsThatOfItsJSON(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"numbers", specOf[struct {
			A int8    `json:"a"`
			B uint32  `json:"b"`
			C float64 `json:"c"`
			D bool    `json:"d,omitempty"`
			E int64   `json:"e,string"`
		}](t), `{"type":"object","required":["a","b","c","e"],"properties":{"a":{"type":"integer","minimum":-128,"maximum":127},"b":{"type":"integer","format":"int64","minimum":0,"maximum":4294967295},"c":{"type":"number"},"d":{"type":"boolean"},"e":{"type":"string"}}}`},
		{"embedded structs are inlined, and the outer field hides the inner", specOf[struct {
			base
			B int `json:"b"`
		}](t), `{"type":"object","required":["a","b"],"properties":{"a":{"type":"string"},"b":{"type":"integer"}}}`},
		{"members of an embedded pointer may be missing, as it may be nil", specOf[struct {
			*base
			C int `json:"c"`
			D int `json:"d" crd:"required"`
		}](t), `{"type":"object","required":["c","d"],"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"integer"},"d":{"type":"integer"}}}`},
		{"known types", specOf[struct {
			T time.Time       `json:"t,omitzero"`
			R json.RawMessage `json:"r,omitempty"`
			B []byte          `json:"b,omitempty"`
			L level           `json:"l,omitempty"`
			M map[string]int  `json:"m,omitempty"`
			P *base           `json:"p,omitempty"`
		}](t), `{"type":"object","properties":{"b":{"type":"string","format":"byte"},"l":{"description":"own","type":"string"},"m":{"type":"object","additionalProperties":{"type":"integer"}},"p":{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"b":{"type":"string"}}},"r":{"x-kubernetes-preserve-unknown-fields":true},"t":{"type":"string","format":"date-time"}}}`},
		{"limits by the type", specOf[struct {
			N int            `json:"n" crd:"min=1,max=10,default=3"`
			S string         `json:"s" crd:"min=1,max=10,default=x" pattern:"^a,b{1,2}|x$"`
			L []string       `json:"l" crd:"max=3,listType=set" each:"min=2,enum=aa|bb"`
			M map[string]int `json:"m" crd:"optional,max=3" default:"{\"a\":1,\"b\":2}"`
		}](t), `{"type":"object","required":["l"],"properties":{"l":{"type":"array","maxItems":3,"items":{"type":"string","enum":["aa","bb"],"minLength":2},"x-kubernetes-list-type":"set"},"m":{"type":"object","default":{"a":1,"b":2},"maxProperties":3,"additionalProperties":{"type":"integer"}},"n":{"type":"integer","default":3,"minimum":1,"maximum":10},"s":{"type":"string","default":"x","minLength":1,"maxLength":10,"pattern":"^a,b{1,2}|x$"}}}`},
		{"an empty default", specOf[struct {
			A string `json:"a" default:""`
		}](t), `{"type":"object","properties":{"a":{"type":"string","default":""}}}`},
		{"immutable members and rules", specOf[struct {
			A string   `json:"a" crd:"immutable"`
			N string   `json:"n-s,omitempty" crd:"immutable" cel:"self != 'x'" message:"not x" cel2:"self != 'y'"`
			_ struct{} `cel:"self.a != 'b'" desc:"All of it."`
		}](t), `{"description":"All of it.","type":"object","required":["a"],"properties":{"a":{"type":"string"},"n-s":{"type":"string","x-kubernetes-validations":[{"rule":"self != 'x'","message":"not x"},{"rule":"self != 'y'"}]}},"x-kubernetes-validations":[{"rule":"self.a != 'b'"},{"rule":"self.a == oldSelf.a","message":"a is immutable","fieldPath":".a"},{"rule":"has(self.n__dash__s) == has(oldSelf.n__dash__s) \u0026\u0026 (!has(self.n__dash__s) || self.n__dash__s == oldSelf.n__dash__s)","message":"n-s is immutable"}]}`},
		{"immutable in a list whose elements have keys", specOf[struct {
			L []element `json:"l" crd:"listType=map,listMapKey=name"`
		}](t), `{"type":"object","required":["l"],"properties":{"l":{"type":"array","items":{"type":"object","required":["name","size"],"properties":{"name":{"type":"string"},"size":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"self.size == oldSelf.size","message":"size is immutable","fieldPath":".size"}]},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"]}}}`},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

type ring struct {
	Next *ring `json:"next,omitempty"`
}

type marshals struct{}

func (marshals) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

// wrongOf returns the errors of the definition of S, by path.
func wrongOf[S any](t *testing.T) []string {
	t.Helper()
	_, err := Of[widget[S]](widgets, Options{})
	return flat(err)
}

func flat(err error) (list []string) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			list = append(list, flat(e)...)
		}
		return list
	}
	if fe, ok := err.(*FieldError); ok {
		return []string{fe.Error()}
	}
	if inner := errors.Unwrap(err); inner != nil {
		return flat(inner)
	}
	return nil
}

func TestOfRefusesWhatTheServerWouldRefuse(t *testing.T) {
	for _, tt := range []struct {
		got  []string
		want string
	}{
		{wrongOf[ring](t), `spec.next: crd.ring contains itself, which a structural schema cannot express: use json.RawMessage with the tag crd:"preserve"`},
		{wrongOf[marshals](t), "spec: crd.marshals has its own MarshalJSON: give it a method Schema() crd.Schema"},
		{wrongOf[struct {
			F func() `json:"f"`
		}](t), "spec.f: func() has no JSON"},
		{wrongOf[struct {
			M map[int]string `json:"m"`
		}](t), "spec.m: the keys of map[int]string are not strings"},
		{wrongOf[struct {
			A int `json:"a" crd:"maximum=1"`
		}](t), `spec.a: tag crd: unknown word "maximum"`},
		{wrongOf[struct {
			A bool `json:"a" crd:"max=1"`
		}](t), "spec.a: max is for numbers, strings, lists and maps"},
		{wrongOf[struct {
			A int `json:"a" crd:"min=2,default=1"`
		}](t), "spec.a: the default is not a value of the schema: is below the minimum of 2"},
		{wrongOf[struct {
			A base `json:"a" default:"{\"a\":\"x\",\"c\":1}"`
		}](t), "spec.a: the default is not a value of the schema at c: is not in the schema"},
		{wrongOf[struct {
			A int `json:"a" crd:"enum=1|x"`
		}](t), "spec.a: x in enum is not JSON"},
		{wrongOf[struct {
			A string `json:"a" pattern:"("`
		}](t), "spec.a: the pattern is not a regular expression of Go"},
		{wrongOf[struct {
			L []base `json:"l" crd:"listType=map,listMapKey=b"`
		}](t), `spec.l: the listMapKey "b" is neither required nor has a default`},
		{wrongOf[struct {
			L []struct {
				N *string `json:"n" crd:"required,nullable"`
			} `json:"l" crd:"listType=map,listMapKey=n"`
		}](t), `spec.l: the listMapKey "n" is nullable`},
		{wrongOf[struct {
			A struct {
				B string `json:"b" crd:"required,default=x"`
			} `json:"a" default:"{}"`
		}](t), "spec.a: the default is not a value of the schema at b: is required"},
		{wrongOf[struct {
			A int `json:"a" cel:"self > 1" cel2:"self > 1"`
		}](t), `spec.a: the rule "self > 1" stands twice`},
		{wrongOf[struct {
			A json.RawMessage `json:"a" cel:"true"`
		}](t), "spec.a: it has rules and no type"},
		{wrongOf[struct {
			A string `json:"a" column:"A,format=x"`
		}](t), `versions[v1].columns[A]: "x" is not a format of columns`},
		{wrongOf[struct {
			L []base `json:"l" crd:"listType=set"`
		}](t), "spec.l: the elements of a set are scalar or atomic, and not nullable"},
		{wrongOf[struct {
			L []element `json:"l"`
		}](t), `spec.l[].size: immutable has no effect in a list whose elements have no identity: give the list the tag crd:"listType=map,listMapKey=..."`},
		{wrongOf[struct {
			L []struct {
				A string `json:"a" column:"A"`
			} `json:"l"`
		}](t), "spec.l[].a: a column or selectable field cannot be inside a list or map"},
		{wrongOf[struct {
			A []string `json:"a" crd:"selectable"`
		}](t), "spec.a: a selectable field is a string, an integer or a boolean"},
	} {
		if diff := cmp.Diff([]string{tt.want}, tt.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestOfRefusesNamesThatTheServerWouldRefuse(t *testing.T) {
	r := widgets
	r.Group, r.Plural = "example", "Widgets"
	_, err := Of[widget[base]](r, Options{ShortNames: []string{"w w"}, Also: []Version{VersionOf[widget[ring]]("v1", VersionOptions{})}})
	if want := []string{`spec.next: crd.ring contains itself, which a structural schema cannot express: use json.RawMessage with the tag crd:"preserve"`}; !cmp.Equal(want, flat(err)) {
		t.Errorf("got %q", flat(err))
	}
	_, err = Of[widget[base]](r, Options{ShortNames: []string{"w w"}, Also: []Version{VersionOf[widget[base]]("v1", VersionOptions{})},
		VersionOptions: VersionOptions{Scale: &Scale{SpecReplicas: ".spec.n", StatusReplicas: "status.n"}}})
	want := []string{
		`group: "example" is not a domain with a dot, such as example.com`,
		`names: "Widgets" is not a DNS label`,
		`names: "w w" is not a DNS label`,
		`versions[v1].scale: "status.n": want a path such as .status.replicas`,
		"versions[v1]: the name of a version is a DNS label, and unique",
	}
	if diff := cmp.Diff(want, flat(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
