package crd

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parsed returns a schema in JSON.
func parsed(t *testing.T, text string) *Schema {
	t.Helper()
	s := new(Schema)
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// breaking returns the changes between two schemas in JSON, and whether one is breaking.
func breaking(t *testing.T, was, is string) (changes []Change, breaks bool) {
	t.Helper()
	var c comparison
	c.schema(parsed(t, was), parsed(t, is), "spec")
	for _, o := range c.changes {
		breaks = breaks || o.Breaking
	}
	return c.changes, breaks
}

// TestDiffOfNullThatOthersSee: what a real server did with a member that is null and becomes
// nullable. It drops another null, or sets the default.
func TestDiffOfNullThatOthersSee(t *testing.T) {
	const (
		text  = `{"type":"string"}`
		fills = `{"type":"string","default":"x"}`
	)
	nullable := func(s string) string { return s[:len(s)-1] + `,"nullable":true}` }
	member := func(around string) func(string) string {
		return func(s string) string {
			return `{"type":"object",` + around + `"properties":{"b":{"type":"string"},"a":` + s + `}}`
		}
	}
	values := func(around string) func(string) string {
		return func(s string) string {
			return `{"type":"object",` + around + `"additionalProperties":` + s + `}`
		}
	}
	list := func(s string) string { return `{"type":"array","items":` + s + `}` }
	rule := func(rule string) string { return `"x-kubernetes-validations":[{"rule":"` + rule + `"}],` }
	for _, tt := range []struct {
		name   string
		of     func(string) string
		schema string
		breaks bool
	}{
		{"rule, null is missing for CEL", member(rule("!has(self.a) || size(self.a) > 0")), text, false},
		{"rule, it had a default", member(rule("self.a == 'x'")), fills, true},
		{"rule of others, it had a default", member(rule("!has(self.b)")), fills, false},
		{"its own rule", member(""), `{"type":"string","x-kubernetes-validations":[{"rule":"size(self) > 3"}]}`, false},
		{"its own not", member(""), `{"type":"string","not":{"minLength":3}}`, false},
		{"not", member(`"not":{"required":["a"]},`), text, true},
		{"not of others", member(`"not":{"required":["b"]},`), text, false},
		{"allOf", member(`"allOf":[{"properties":{"a":{"enum":["x"]}}}],`), text, true},
		{"maxProperties", member(`"maxProperties":1,`), text, true},
		{"maxProperties, it had a default", member(`"maxProperties":1,`), fills, false},
		{"limits", member(""), `{"type":"string","minLength":1}`, false},
		{"a map", values(""), text, false},
		{"a map with a default", values(""), fills, false},
		{"a map with a rule", values(rule("self.size() < 1")), text, true},
		{"a map with a rule and a default", values(rule("self.all(k, self[k] == 'x')")), fills, true},
		{"a map with maxProperties", values(`"maxProperties":1,`), text, true},
		{"a map with not", values(`"not":{"minProperties":1},`), text, true},
		{"an enum", member(""), `{"type":"string","enum":["x"]}`, true},
		{"an enum in a list, which had no null", list, `{"type":"string","enum":["x"]}`, false},
	} {
		if changes, breaks := breaking(t, tt.of(tt.schema), tt.of(nullable(tt.schema))); breaks != tt.breaks || len(changes) != 1 {
			t.Errorf("%s: %v", tt.name, changes)
		}
	}
}

// TestDiffOfAFormatThatRulesRead: in CEL a duration is no string.
func TestDiffOfAFormatThatRulesRead(t *testing.T) {
	of := func(format, around string) string {
		return `{"type":"object",` + around + `"properties":{"a":{"type":"string"` + format + `}}}`
	}
	const rule = `"x-kubernetes-validations":[{"rule":"self.a <= self.b"}],`
	for _, tt := range []struct {
		format, around string
		want           Change
	}{
		{"duration", rule, Change{Path: "spec.a", Message: "format duration removed, and a rule may read it", Breaking: true}},
		{"byte", rule, Change{Path: "spec.a", Message: "format byte removed, and a rule may read it", Breaking: true}},
		{"date-time", rule, Change{Path: "spec.a", Message: "format date-time removed, and a rule may read it", Breaking: true}},
		{"uuid", rule, Change{Path: "spec.a", Message: "format uuid removed"}},
		{"duration", "", Change{Path: "spec.a", Message: "format duration removed"}},
	} {
		got, _ := breaking(t, of(`,"format":"`+tt.format+`"`, tt.around), of("", tt.around))
		if diff := cmp.Diff([]Change{tt.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.format, diff)
		}
	}
}

// TestDiffOfRestrictionsOfUnknownMembers: a schema without a type may restrict values, too.
func TestDiffOfRestrictionsOfUnknownMembers(t *testing.T) {
	for restriction, breaks := range map[string]bool{
		``: false, `,"nullable":true`: false, `,"description":"x"`: false, `,"minLength":0`: false, `,"default":{}`: false,
		`,"enum":["x"]`: true, `,"maxLength":1`: true, `,"maximum":1`: true, `,"pattern":"a"`: true, `,"not":{"minLength":3}`: true, `,"required":["b"]`: true,
	} {
		s := `{"x-kubernetes-preserve-unknown-fields":true` + restriction + `}`
		for _, add := range []string{`"properties":{"a":` + s + `}`, `"additionalProperties":` + s} {
			const open = `{"type":"object","x-kubernetes-preserve-unknown-fields":true`
			if changes, got := breaking(t, open+`}`, open+`,`+add+`}`); got != breaks {
				t.Errorf("%s: %v", add, changes)
			}
		}
	}
}
