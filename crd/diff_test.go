package crd

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

// changesOf returns what replacing a spec A by a spec B changes.
func changesOf[A, B any](t *testing.T) (list []string) {
	t.Helper()
	old, err := Of[widget[A]](widgets, Options{})
	if err != nil {
		t.Fatal(err)
	}
	next, err := Of[widget[B]](widgets, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range compare(old, next) {
		list = append(list, c.String())
	}
	return list
}

type before struct {
	N int            `json:"n,omitempty" crd:"min=1,max=10"`
	S string         `json:"s,omitempty" crd:"enum=a|b|c,nullable"`
	L []string       `json:"l,omitempty" crd:"max=3"`
	M map[string]int `json:"m,omitempty"`
}

func TestDiffNamesBreakingChanges(t *testing.T) {
	for _, tt := range []struct {
		name      string
		got, want []string
	}{
		{"nothing", changesOf[before, before](t), nil},
		{"wider", changesOf[before, struct {
			N int            `json:"n,omitempty" crd:"min=0,max=11,default=3" desc:"text"`
			S string         `json:"s,omitempty" crd:"enum=d|c|b|a,nullable"`
			L []string       `json:"l,omitempty"`
			M map[string]int `json:"m,omitempty"`
			O int            `json:"o,omitempty"`
		}](t), []string{
			"v1: spec.l: maxItems 3 removed", "v1: spec.n: minimum changed from 1 to 0", "v1: spec.n: maximum changed from 10 to 11",
			"v1: spec.n: default is now 3", `v1: spec.s: "d" added to the enum`, "v1: spec.o: added"}},
		{"tighter", changesOf[before, struct {
			N int            `json:"n" crd:"min=2,max=9"`
			S string         `json:"s,omitempty" crd:"enum=a|b,max=1"`
			L []string       `json:"l,omitempty" crd:"max=2,listType=set" each:"max=4"`
			_ struct{}       `cel:"self.n > 2"`
			M map[string]int `json:"m,omitempty" each:"min=0"`
		}](t), []string{
			`v1: spec: new rule "self.n > 2" (breaking)`,
			"v1: spec.l: listType changed from atomic to set (breaking)",
			"v1: spec.l: maxItems changed from 3 to 2, which is tighter (breaking)",
			"v1: spec.l[]: maxLength 4 was added (breaking)",
			"v1: spec.m{}: minimum 0 was added (breaking)",
			"v1: spec.n: minimum changed from 1 to 2, which is tighter (breaking)",
			"v1: spec.n: maximum changed from 10 to 9, which is tighter (breaking)",
			"v1: spec.s: no longer nullable (breaking)",
			`v1: spec.s: "c" removed from the enum (breaking)`,
			"v1: spec.s: maxLength 1 was added (breaking)",
			"v1: spec.n: is now required (breaking)"}},
		{"other types", changesOf[before, struct {
			N string         `json:"n,omitempty"`
			S string         `json:"s,omitempty" crd:"enum=a|b|c,nullable" pattern:"a"`
			M map[string]int `json:"m,omitempty"`
		}](t), []string{
			"v1: spec.l: removed: the server drops it from stored objects (breaking)",
			"v1: spec.n: the type changed from integer to string (breaking)",
			"v1: spec.s: pattern is now a (breaking)"}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestDiffHasWhatTheServerAcceptsInAddition(t *testing.T) {
	type tight struct {
		A string            `json:"a" crd:"enum=x" cel:"self != 'y'"`
		F float64           `json:"f,omitempty" crd:"min=1,exclusiveMin,multipleOf=2"`
		E string            `json:"e,omitempty" crd:"enum=x"`
		M struct{}          `json:"m,omitzero"`
		O struct{}          `json:"o,omitzero"`
		K map[string]string `json:"k,omitempty"`
	}
	got := changesOf[tight, struct {
		A string            `json:"a,omitempty" crd:"enum=x|z,selectable"`
		F float64           `json:"f,omitempty" crd:"min=1,nullable"`
		E string            `json:"e,omitempty"`
		M map[string]int    `json:"m,omitempty"`
		O struct{}          `json:"o,omitzero" crd:"preserve"`
		K map[string]string `json:"k,omitempty"`
	}](t)
	want := []string{
		"v1: selectableFields: .spec.a added",
		`v1: spec.a: "z" added to the enum`, `v1: spec.a: rule "self != 'y'" removed`,
		"v1: spec.e: the enum was removed",
		"v1: spec.f: now nullable", "v1: spec.f: a limit is no longer exclusive", "v1: spec.f: want no longer multiples of 2",
		"v1: spec.m: members of any name are now kept",
		"v1: spec.o: unknown members are now preserved",
		"v1: spec.a: no longer required",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDiffOfMembersThatWereUnknown(t *testing.T) {
	type open struct {
		P base           `json:"p,omitzero" crd:"preserve"`
		M map[string]int `json:"m,omitempty"`
		E base           `json:"e,omitzero" crd:"preserve,embedded"`
	}
	got := changesOf[open, struct {
		P struct {
			base
			C int             `json:"c,omitempty"`
			D json.RawMessage `json:"d,omitempty"`
		} `json:"p,omitzero" crd:"preserve"`
		M struct {
			A string `json:"a,omitempty"`
		} `json:"m,omitzero"`
		E base `json:"e,omitzero" crd:"preserve"`
	}](t)
	want := []string{
		"v1: spec.e: no longer an embedded object",
		"v1: spec.m.a: added, which was an unknown member", "v1: spec.m.a: the type changed from integer to string (breaking)",
		"v1: spec.m: members of any name are no longer kept (breaking)",
		"v1: spec.p.c: added: objects may have it as an unknown member with a value that does not fit (breaking)",
		"v1: spec.p.d: added",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A rule is its text; what else it has changes as well.
func TestDiffOfRules(t *testing.T) {
	schema := func(rules ...Rule) *Definition {
		v := NewVersion("v1", &Schema{Type: "object", Validations: rules}, VersionOptions{Deprecated: "use " + rules[0].Message})
		return New(widgets, Options{}, v)
	}
	old := schema(Rule{Rule: "a", Message: "v2"}, Rule{Rule: "b"}, Rule{Rule: "c", OptionalOldSelf: true}, Rule{Rule: "d", Reason: "FieldValueForbidden"})
	next := schema(Rule{Rule: "a", Message: "v3"}, Rule{Rule: "b", OptionalOldSelf: true}, Rule{Rule: "c"}, Rule{Rule: "d", Reason: "FieldValueForbidden"})
	var got []string
	for _, c := range compare(old, next) {
		got = append(got, c.String())
	}
	want := []string{
		`v1: versions: the warning that it is deprecated is now "use v3"`,
		`v1: (root): rule "a" has another message, reason or path`,
		`v1: (root): rule "b" holds for new values too (breaking)`,
		`v1: (root): rule "c" holds for new values no longer`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDiffKnowsThatNullIsNoDefault: the server drops it.
func TestDiffKnowsThatNullIsNoDefault(t *testing.T) {
	def := func(required ...string) *Definition {
		root := &Schema{Type: "object", Required: required, Properties: map[string]*Schema{"a": {Type: "string", Nullable: true, Default: json.RawMessage("null")}}}
		return New(widgets, Options{}, NewVersion("v1", root, VersionOptions{}))
	}
	want := []Change{{Version: "v1", Path: "a", Message: "is now required", Breaking: true}}
	if diff := cmp.Diff(want, compare(def(), def("a"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDiffOfNullInAnEnum: the server drops null where it is no value, and refuses it in an enum.
func TestDiffOfNullInAnEnum(t *testing.T) {
	got := changesOf[struct {
		A string `json:"a,omitempty" crd:"enum=x"`
		B string `json:"b,omitempty"`
	}, struct {
		A string `json:"a,omitempty" crd:"enum=x,nullable"`
		B string `json:"b,omitempty" crd:"nullable"`
	}](t)
	want := []string{"v1: spec.a: now nullable, but null is in no enum: it was dropped, and is refused (breaking)", "v1: spec.b: now nullable"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDiffOfVersionsAndNames(t *testing.T) {
	old, err := Of[widget[before]](widgets, Options{Also: []Version{VersionOf[widget[before]]("v1alpha1", VersionOptions{}), VersionOf[widget[before]]("v1beta1", VersionOptions{})}})
	if err != nil {
		t.Fatal(err)
	}
	r := kube.Resource{Group: "example.com", Version: "v2", Plural: "widgets", Kind: "Widget"}
	next, err := Of[widget[before]](r, Options{Also: []Version{VersionOf[widget[before]]("v1", VersionOptions{Deprecated: "use v2"}), VersionOf[widget[before]]("v1beta1", VersionOptions{Unserved: true})}})
	if err != nil {
		t.Fatal(err)
	}
	next.Spec.Conversion = &Conversion{Strategy: "Webhook"}
	var got []string
	for _, c := range compare(old, next) {
		got = append(got, c.String())
	}
	want := []string{"scope: changed from Namespaced to Cluster, which needs a new definition (breaking)",
		"conversion: the strategy changed from None to Webhook",
		"v1: versions: another version is stored", "v1: versions: deprecated is now true", "v1alpha1: versions: removed (breaking)", "v1beta1: versions: no longer served (breaking)", "v2: versions: added"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDiffOfAVersionThatNobodyUses(t *testing.T) {
	def := func(also ...Version) *Definition {
		d, err := Of[widget[before]](widgets, Options{Also: also})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	got := compare(def(VersionOf[widget[before]]("v1alpha1", VersionOptions{Unserved: true})), def())
	want := []Change{{Version: "v1alpha1", Path: "versions", Message: "removed, which was not served"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Without a webhook the server drops what the stored version lacks when a client of another
// version writes.
func TestDiffOfTheStoredVersion(t *testing.T) {
	schema := func(members ...string) *Schema {
		spec := &Schema{Type: "object", Properties: map[string]*Schema{}}
		for _, m := range members {
			spec.Properties[m] = &Schema{Type: "string"}
		}
		return &Schema{Type: "object", Properties: map[string]*Schema{"spec": spec, "metadata": {Type: "object"}}}
	}
	def := func(strategy, stored string, members map[string]*Schema) *Definition {
		var list []Version
		for _, name := range slices.Sorted(maps.Keys(members)) {
			v := NewVersion(name, members[name], VersionOptions{})
			v.Storage = name == stored
			list = append(list, v)
		}
		d := New(widgets, Options{}, list...)
		d.Spec.Conversion = &Conversion{Strategy: strategy}
		return d
	}
	v1 := map[string]*Schema{"v1": schema("a", "b")}
	both := map[string]*Schema{"v1": schema("a", "b"), "v2": schema("a", "c")}
	again := def("None", "v2", both)
	lost := "v1: spec.b: the version v2, which is stored, does not hold all its values, and no webhook converts: writes drop them (breaking)"
	for _, tt := range []struct {
		name      string
		old, next *Definition
		want      []string
	}{
		{"another version is stored", def("None", "v1", v1), def("None", "v2", both), []string{"v1: versions: another version is stored", lost, "v2: versions: added"}},
		{"a webhook converts", def("None", "v1", v1), def("Webhook", "v2", both), []string{"conversion: the strategy changed from None to Webhook", "v1: versions: another version is stored", "v2: versions: added"}},
		{"no webhook converts any more", def("Webhook", "v2", both), def("None", "v2", both), []string{"conversion: the strategy changed from Webhook to None", lost}},
		{"it was so before", def("None", "v2", both), again, nil},
		{"the stored version lacks nothing", def("None", "v1", v1), def("None", "v2", map[string]*Schema{"v1": schema("a", "b"), "v2": schema("a", "b", "c")}), []string{"v1: versions: another version is stored", "v2: versions: added"}},
		{"it is removed anyway", def("None", "v1", v1), def("None", "v2", map[string]*Schema{"v1": schema("a"), "v2": schema("a")}),
			[]string{"v1: versions: another version is stored", "v1: spec.b: removed: the server drops it from stored objects (breaking)", "v2: versions: added"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range compare(tt.old, tt.next) {
				got = append(got, c.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			faults := tt.next.faults(tt.next.version("v1"), []byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"a":"1","b":"2"}}`))
			loses := slices.ContainsFunc(faults, func(f Fault) bool { return f.Path == "spec.b" && f.Pruned })
			if want := slices.Contains(tt.want, lost) || tt.next == again || tt.name == "it is removed anyway"; loses != want {
				t.Errorf("Check reports that spec.b is lost: %v, want %v: %v", loses, want, faults)
			}
		})
	}
}

func TestDroppedByAnotherSchema(t *testing.T) {
	text := &Schema{Type: "string"}
	object := func(of map[string]*Schema) *Schema { return &Schema{Type: "object", Properties: of} }
	s := object(map[string]*Schema{
		"kind": text, "l": {Type: "array", Items: object(map[string]*Schema{"x": text, "y": text})},
		"m": {Type: "object", AdditionalProperties: object(map[string]*Schema{"x": text})}, "n": {Type: "object", AdditionalProperties: text},
		"o": object(map[string]*Schema{"x": text}), "p": {Type: "object", PreserveUnknownFields: true}, "q": object(map[string]*Schema{"x": text}),
	})
	by := object(map[string]*Schema{
		"l": {Type: "array", Items: object(map[string]*Schema{"x": text})},
		"m": {Type: "object", AdditionalProperties: object(nil)}, "n": object(nil),
		"o": {Type: "object", PreserveUnknownFields: true}, "p": object(nil), "q": {Type: "object", AdditionalProperties: text},
	})
	if diff := cmp.Diff([]string{"l[].y", "m{}.x", "n", "p"}, dropped(s, by, "")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What the server did with each value of v1 once it stored v2.
func TestDroppedByAnotherType(t *testing.T) {
	parse := func(text string) *Schema {
		var s Schema
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		return &Schema{Type: "object", Properties: map[string]*Schema{"x": &s}}
	}
	for _, tt := range []struct{ v1, v2, value, want, lost string }{
		{`{"x-kubernetes-preserve-unknown-fields":true}`, `{"type":"integer"}`, `{"a":1}`, "x", "x.a"},
		{`{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"string"}`, `{"a":"b"}`, "x", "x.a"},
		{`{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}}}`, `{"type":"string"}`, `[{"a":"b"}]`, "x[].a", "x[0].a"},
		{`{"type":"array","items":{"type":"string"}}`, `{"type":"string"}`, `["b"]`, "", ""},
		{`{"type":"string"}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, `"b"`, "", ""},
		{`{"type":"array","items":{"type":"object"}}`, `{"x-kubernetes-preserve-unknown-fields":true}`, `[{}]`, "", ""},
		{`{"type":"integer","nullable":true}`, `{"type":"integer"}`, `null`, "x", ""},
		{`{"type":"object","additionalProperties":{"type":"integer","nullable":true}}`, `{"type":"object","additionalProperties":{"type":"integer"}}`, `{"a":null}`, "x{}", ""},
		{`{"type":"array","items":{"type":"integer","nullable":true}}`, `{"type":"array","items":{"type":"integer"}}`, `[null]`, "", ""},
		{`{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, `{"a":"b","kind":"Pod"}`, "x", "x.kind"},
	} {
		if got := strings.Join(dropped(parse(tt.v1), parse(tt.v2), ""), " "); got != tt.want {
			t.Errorf("of %s, %s drops %q, want %q", tt.v1, tt.v2, got, tt.want)
		}
		v, err := decode([]byte(`{"x":` + tt.value + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(lost(parse(tt.v2), v, ""), " "); got != tt.lost {
			t.Errorf("%s loses %q by %s, want %q", tt.value, got, tt.v2, tt.lost)
		}
	}
}
