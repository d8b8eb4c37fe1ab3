package library_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/kube"
)

// corpus is an object whose members use what package crd knows.
type corpus struct {
	kube.Meta `json:"metadata"`
	Spec      corpusSpec   `json:"spec,omitzero"`
	Status    corpusStatus `json:"status,omitzero"`
	_         struct{}     `column:"Age,.metadata.creationTimestamp"`
}

type corpusSpec struct {
	Text    string            `json:"text,omitempty" crd:"min=2,max=5,selectable" pattern:"^[a-z,]*$" column:"Text"`
	Tone    string            `json:"tone,omitempty" crd:"enum=loud|soft,default=soft"`
	Count   int32             `json:"count,omitempty" crd:"min=1,max=10,default=3"`
	Small   uint8             `json:"small,omitempty"`
	Large   int64             `json:"large,omitempty" crd:"multipleOf=5"`
	Ratio   float64           `json:"ratio,omitempty" crd:"min=0,exclusiveMin"`
	On      *bool             `json:"on,omitempty" crd:"default=true"`
	When    time.Time         `json:"when,omitzero"`
	Bytes   []byte            `json:"bytes,omitempty"`
	Tags    []string          `json:"tags,omitempty" crd:"max=3,listType=set" each:"max=4"`
	Ports   []corpusPort      `json:"ports,omitempty" crd:"max=4,listType=map,listMapKey=name,listMapKey=protocol"`
	Labels  map[string]string `json:"labels,omitempty" crd:"max=2" each:"max=4"`
	Any     json.RawMessage   `json:"any,omitempty"`
	Open    corpusOpen        `json:"open,omitzero" crd:"preserve"`
	Nil     *string           `json:"nil,omitempty" crd:"nullable"`
	Box     corpusBox         `json:"box,omitzero" default:"{\"size\":1,\"unit\":\"m\"}"`
	Fixed   string            `json:"fixed,omitempty" crd:"immutable,max=20"`
	FixedNS string            `json:"fixed-ns,omitempty" crd:"immutable,max=20"`
	Low     int               `json:"low,omitempty"`
	High    int               `json:"high,omitempty" crd:"default=100"`
	_       struct{}          `cel:"!has(self.low) || self.low <= self.high" message:"low must not exceed high"`
	Replica int32             `json:"replicas,omitempty"`
}

type corpusPort struct {
	Name     string `json:"name" crd:"max=10"`
	Protocol string `json:"protocol,omitempty" crd:"default=TCP,max=5"`
	Number   int32  `json:"number" crd:"min=1,max=65535"`
}

type corpusOpen struct {
	Known int `json:"known,omitempty"`
}

type corpusBox struct {
	Size int    `json:"size"`
	Unit string `json:"unit" crd:"enum=m|cm"`
}

type corpusStatus struct {
	Replicas int32 `json:"replicas,omitempty"`
}

var corpora = kube.Resource{Group: "crd.example.com", Version: "v1", Plural: "corpora", Kind: "Corpus"}

// corpusObjects are specs. cel says that only a server with CEL refuses it.
var corpusObjects = []struct {
	name, spec string
	cel        bool
}{
	{"empty", `{}`, false},
	{"everything", `{"text":"ab,c","tone":"loud","count":10,"small":255,"large":10,"ratio":0.5,"on":false,"when":"2026-01-02T03:04:05Z","bytes":"YWI=","tags":["a","b"],"ports":[{"name":"a","number":1},{"name":"a","protocol":"UDP","number":2}],"labels":{"a":"b"},"any":[1,{"x":null}],"open":{"known":1,"other":[true]},"nil":null,"box":{"size":2,"unit":"cm"},"low":1,"high":2}`, false},
	{"unknown members", `{"nope":1,"box":{"size":1,"unit":"m","nope":2},"ports":[{"name":"a","number":1,"nope":3}]}`, false},
	{"null for defaults", `{"tone":null,"count":null,"text":null}`, false},
	{"short text", `{"text":"a"}`, false},
	{"pattern", `{"text":"ABC"}`, false},
	{"enum", `{"tone":"shrill"}`, false},
	{"below the minimum", `{"count":0}`, false},
	{"above the maximum", `{"count":11}`, false},
	{"beyond int32", `{"count":3000000000}`, false},
	{"uint8", `{"small":256}`, false},
	{"multiple", `{"large":11}`, false},
	{"exclusive minimum", `{"ratio":0}`, false},
	{"number for a string", `{"text":12}`, false},
	{"string for a boolean", `{"on":"true"}`, false},
	{"date", `{"when":"yesterday"}`, false},
	{"base64", `{"bytes":"%"}`, false},
	{"set twice", `{"tags":["a","a"]}`, false},
	{"long element", `{"tags":["abcde"]}`, false},
	{"map key twice", `{"ports":[{"name":"a","number":1},{"name":"a","protocol":"TCP","number":2}]}`, false},
	{"required in a list", `{"ports":[{"name":"a"}]}`, false},
	{"many labels", `{"labels":{"a":"1","b":"2","c":"3"}}`, false},
	{"partial box", `{"box":{"size":1}}`, false},
	{"type of a known member of an open object", `{"open":{"known":"x"}}`, false},
	{"null for a required member", `{"box":{"size":null,"unit":"m"}}`, false},
	{"no bytes", `{"bytes":""}`, false},
	{"rule", `{"low":3,"high":2}`, true},
}

// TestCRD applies a definition of package crd to the real server and to the fake, and
// compares what both store and refuse with each other and with crd.Check.
func TestCRD(t *testing.T) {
	real := cluster.ForTest(t, cluster.Options{})
	fake := apitest.New(t)
	def, err := crd.Of[corpus](corpora, crd.Options{ShortNames: []string{"cps"},
		VersionOptions: crd.VersionOptions{Scale: &crd.Scale{SpecReplicas: ".spec.replicas", StatusReplicas: ".status.replicas"}}})
	if err != nil {
		t.Fatal(err)
	}
	var clients []*client.Client
	for _, cfg := range []client.Config{
		{Server: real.URL(), Token: real.Token(), TLS: client.TLS{CAFile: real.CAFile()}},
		{Server: fake.URL},
	} {
		c, err := client.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.CloseIdleConnections)
		if err := crd.Ensure(t.Context(), c, crd.EnsureOptions{DryRun: true}, def); err != nil {
			t.Fatalf("dry run: %v", err)
		}
		for range 2 { // the second changes nothing
			if err := crd.Ensure(t.Context(), c, crd.EnsureOptions{}, def); err != nil {
				t.Fatal(err)
			}
		}
		if changes, err := crd.Diff(t.Context(), c, def); len(changes) > 0 || err != nil {
			t.Errorf("after Ensure there are changes: %v %v", changes, err)
		}
		clients = append(clients, c)
	}
	t.Run("objects", func(t *testing.T) { testCorpusObjects(t, clients, def) })
	t.Run("immutable", func(t *testing.T) { testCorpusImmutable(t, clients[0]) })
	t.Run("structure", func(t *testing.T) { testCorpusStructure(t, clients[0]) })
	t.Run("rules", func(t *testing.T) { testCorpusRules(t, clients[0]) })
}

// create returns what a server stores of a spec, or the members for which it refuses it.
func createCorpus(ctx context.Context, c *client.Client, name, spec string) (stored any, refused []string, err error) {
	o, err := codec.Decode[codec.Raw]([]byte(`{"metadata":{"name":"` + name + `"},"spec":` + spec + `}`))
	if err != nil {
		return nil, nil, err
	}
	o, err = client.Of[codec.Raw](c, corpora).Create(ctx, o)
	var st *kube.Status
	if errors.As(err, &st) && st.Details != nil && st.Code == 422 {
		for _, cause := range st.Details.Causes {
			if cause.Field != "<nil>" { // a note that rules were not evaluated
				refused = append(refused, cause.Field)
			}
		}
		slices.Sort(refused)
		return nil, slices.Compact(refused), nil
	}
	if err != nil {
		return nil, nil, err
	}
	var whole map[string]any
	err = o.Decode(&whole)
	return whole["spec"], nil, err
}

func testCorpusObjects(t *testing.T, clients []*client.Client, def *crd.Definition) {
	accepted := 0
	for i, tt := range corpusObjects {
		name := fmt.Sprintf("o%02d", i)
		stored, refused, err := createCorpus(t.Context(), clients[0], name, tt.spec)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if refused == nil {
			accepted++
		}
		fakeStored, fakeRefused, err := createCorpus(t.Context(), clients[1], name, tt.spec)
		if err != nil {
			t.Fatalf("%s: the fake: %v", tt.name, err)
		}
		if tt.cel {
			if refused == nil || fakeRefused != nil {
				t.Errorf("%s: refused for %q, by the fake for %q: want only the first", tt.name, refused, fakeRefused)
			}
			continue
		}
		if diff := cmp.Diff([]any{stored, refused}, []any{fakeStored, fakeRefused}); diff != "" {
			t.Errorf("%s (-real +fake):\n%s", tt.name, diff)
		}
	}
	if accepted != 4 {
		t.Errorf("%d objects are accepted, want 4", accepted)
	}
	if invalid, err := crd.Check(t.Context(), clients[0], def); len(invalid) > 0 || err != nil {
		t.Errorf("Check of what the server accepted: %v %v", invalid, err)
	}
	// A server without the schema stores all of them: Check refuses what the schema does.
	open := *def
	open.Spec.Versions = slices.Clone(def.Spec.Versions)
	open.Spec.Versions[0].SelectableFields = nil
	open.Spec.Versions[0].Schema.OpenAPIV3Schema = &crd.Schema{Type: "object", PreserveUnknownFields: true}
	if err := crd.Ensure(t.Context(), clients[1], crd.EnsureOptions{}, &open); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for i, tt := range corpusObjects {
		name := fmt.Sprintf("p%02d", i)
		if _, refused, err := createCorpus(t.Context(), clients[1], name, tt.spec); err != nil || refused != nil {
			t.Fatalf("%s: refused for %q by a server without schema: %v", tt.name, refused, err)
		}
		_, refused, err := createCorpus(t.Context(), clients[0], name, tt.spec)
		if err != nil {
			t.Fatal(err)
		}
		if (refused != nil || tt.name == "unknown members") && !tt.cel {
			want = append(want, name)
		}
	}
	invalid, err := crd.Check(t.Context(), clients[1], def)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range invalid {
		if strings.HasPrefix(o.Key.Name, "p") {
			got = append(got, o.Key.Name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects that Check does not accept (-the server's +got):\n%s", diff)
	}
}

// testCorpusImmutable changes, removes and adds immutable members.
func testCorpusImmutable(t *testing.T, c *client.Client) {
	if _, refused, err := createCorpus(t.Context(), c, "fixed", `{"fixed":"a"}`); err != nil || refused != nil {
		t.Fatal(err, refused)
	}
	for _, tt := range []struct{ patch, want string }{
		{`{"spec":{"fixed":"b"}}`, "fixed is immutable"},
		{`{"spec":{"fixed":null}}`, "fixed is immutable"},
		{`{"spec":{"fixed-ns":"x"}}`, "fixed-ns is immutable"},
		{`{"spec":{"count":4}}`, ""},
	} {
		_, err := client.Of[codec.Raw](c, corpora).Patch(t.Context(), kube.Key{Name: "fixed"}, client.MergePatch, tt.patch)
		var st *kube.Status
		switch errors.As(err, &st) {
		case false:
			if tt.want != "" || err != nil {
				t.Errorf("%s: %v, want %q", tt.patch, err, tt.want)
			}
		case true:
			if tt.want == "" || !strings.Contains(st.Message, tt.want) {
				t.Errorf("%s: %v, want %q", tt.patch, err, tt.want)
			}
		}
	}
}

// testCorpusStructure makes definitions wrong, each in one way, and holds what Validate
// says against the real server.
func testCorpusStructure(t *testing.T, c *client.Client) {
	one := int64(1)
	spec := func(change func(*crd.Schema)) func(*crd.Definition) {
		return func(d *crd.Definition) { change(d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]) }
	}
	whole := func(change func(*crd.Schema)) func(*crd.Definition) {
		return func(d *crd.Definition) { change(d.Spec.Versions[0].Schema.OpenAPIV3Schema) }
	}
	for name, change := range map[string]func(*crd.Definition){
		"nothing":                  func(*crd.Definition) {},
		"root is no object":        func(d *crd.Definition) { d.Spec.Versions[0].Schema.OpenAPIV3Schema.Type = "string" },
		"no type":                  spec(func(s *crd.Schema) { s.Properties["text"].Type = "" }),
		"unknown type":             spec(func(s *crd.Schema) { s.Properties["tone"].Type = "text" }),
		"array without items":      spec(func(s *crd.Schema) { s.Properties["tags"].Items = nil }),
		"properties and any":       spec(func(s *crd.Schema) { s.Properties["box"].AdditionalProperties = &crd.Schema{Type: "string"} }),
		"pattern":                  spec(func(s *crd.Schema) { s.Properties["text"].Pattern = "(" }),
		"type of the default":      spec(func(s *crd.Schema) { s.Properties["count"].Default = []byte(`"x"`) }),
		"default below minimum":    spec(func(s *crd.Schema) { s.Properties["count"].Default = []byte(`0`) }),
		"unknown in the default":   spec(func(s *crd.Schema) { s.Properties["box"].Default = []byte(`{"size":1,"unit":"m","x":1}`) }),
		"null as default":          spec(func(s *crd.Schema) { s.Properties["count"].Default = []byte(`null`) }),
		"enum against the pattern": spec(func(s *crd.Schema) { s.Properties["text"].Enum = []json.RawMessage{[]byte(`"ABC"`)} }),
		"set of objects":           spec(func(s *crd.Schema) { s.Properties["ports"].ListType, s.Properties["ports"].ListMapKeys = "set", nil }),
		"map without keys":         spec(func(s *crd.Schema) { s.Properties["ports"].ListMapKeys = nil }),
		"key that does not exist":  spec(func(s *crd.Schema) { s.Properties["ports"].ListMapKeys = []string{"nope"} }),
		"key that is optional":     spec(func(s *crd.Schema) { s.Properties["ports"].Items.Required = []string{"number"} }),
		"keys of a set":            spec(func(s *crd.Schema) { s.Properties["tags"].ListMapKeys = []string{"a"} }),
		"list type of a string":    spec(func(s *crd.Schema) { s.Properties["text"].ListType = "atomic" }),
		"map type of a list":       spec(func(s *crd.Schema) { s.Properties["tags"].MapType = "atomic" }),
		"unknown list type":        spec(func(s *crd.Schema) { s.Properties["tags"].ListType = "bag" }),
		"type in anyOf":            spec(func(s *crd.Schema) { s.Properties["text"].AnyOf = []*crd.Schema{{Type: "string"}} }),
		"default in anyOf":         spec(func(s *crd.Schema) { s.Properties["text"].AnyOf = []*crd.Schema{{Default: []byte(`"a"`)}} }),
		"limits in anyOf":          spec(func(s *crd.Schema) { s.Properties["text"].AnyOf = []*crd.Schema{{MinLength: &one}} }),
		"unknown member in anyOf": whole(func(s *crd.Schema) {
			s.AnyOf = []*crd.Schema{{Properties: map[string]*crd.Schema{"x": {MinLength: &one}}}}
		}),
		"embedded without members": spec(func(s *crd.Schema) { s.Properties["any"] = &crd.Schema{Type: "object", EmbeddedResource: true} }),
		"empty rule":               spec(func(s *crd.Schema) { s.Validations = []crd.Rule{{Rule: " "}} }),
		"message of two lines":     spec(func(s *crd.Schema) { s.Validations = []crd.Rule{{Rule: "true", Message: "a\nb"}} }),
		"int or string with type":  spec(func(s *crd.Schema) { s.Properties["text"].IntOrString = true }),
		"int or string and any": spec(func(s *crd.Schema) {
			s.Properties["text"].IntOrString, s.Properties["text"].PreserveUnknownFields = true, true
		}),
		"root of any member": func(d *crd.Definition) {
			d.Spec.Versions[0].Schema.OpenAPIV3Schema = &crd.Schema{Type: "object", AdditionalProperties: &crd.Schema{Type: "string"}}
			d.Spec.Versions[0].SelectableFields = nil
		},
		"selectable object":    func(d *crd.Definition) { d.Spec.Versions[0].SelectableFields[0].JSONPath = ".spec.box" },
		"column of a type":     func(d *crd.Definition) { d.Spec.Versions[0].Columns[0].Type = "text" },
		"column without a dot": func(d *crd.Definition) { d.Spec.Versions[0].Columns[0].JSONPath = "spec.text" },
		"scale": func(d *crd.Definition) {
			d.Spec.Versions[0].Subresources.Scale = &crd.Scale{SpecReplicas: ".a", StatusReplicas: ".status.replicas"}
		},
		"two stored versions": func(d *crd.Definition) {
			v := d.Spec.Versions[0]
			v.Name = "v2"
			d.Spec.Versions = append(d.Spec.Versions, v)
		},
		"version twice": func(d *crd.Definition) {
			v := d.Spec.Versions[0]
			v.Storage = false
			d.Spec.Versions = append(d.Spec.Versions, v)
		},
		"group":      func(d *crd.Definition) { d.Spec.Group, d.Metadata.Name = "x", "shapes.x" },
		"name":       func(d *crd.Definition) { d.Metadata.Name = "a.b.c" },
		"plural":     func(d *crd.Definition) { d.Spec.Names.Plural, d.Metadata.Name = "A_b", "A_b.crd.example.com" },
		"short name": func(d *crd.Definition) { d.Spec.Names.ShortNames = []string{"a b"} },
		"kind":       func(d *crd.Definition) { d.Spec.Names.Kind = "a b" },
		"scope":      func(d *crd.Definition) { d.Spec.Scope = "Galaxy" },
	} {
		r := corpora
		r.Plural, r.Kind = "shapes", "Shape"
		d, err := crd.Of[corpus](r, crd.Options{})
		if err != nil {
			t.Fatal(err)
		}
		change(d)
		ours := d.Validate()
		theirs := crd.Ensure(t.Context(), c, crd.EnsureOptions{DryRun: true}, d)
		if (ours == nil) != (theirs == nil) {
			t.Errorf("%s:\n  Validate: %v\n  server:   %v", name, ours, theirs)
		}
	}
}

// testCorpusRules checks rules by a dry run: the server compiles them.
func testCorpusRules(t *testing.T, c *client.Client) {
	type bad struct {
		kube.Meta `json:"metadata"`
		Spec      struct {
			A int `json:"a" cel:"self.startsWith('x')"`
		} `json:"spec"`
	}
	r := corpora
	r.Plural, r.Kind = "rules", "Rule"
	d, err := crd.Of[bad](r, crd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := crd.Ensure(t.Context(), c, crd.EnsureOptions{DryRun: true}, d); !errors.Is(err, kube.ErrInvalid) {
		t.Errorf("a rule that does not compile: %v, want ErrInvalid", err)
	}
}
