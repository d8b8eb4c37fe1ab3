package crd

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Generators write more into a schema than people, which changes nothing.
func TestDiffOfWhatHoldsAnyway(t *testing.T) {
	for _, tt := range []struct {
		was, is string
		want    []string
	}{
		{`{"type":"integer"}`, `{"type":"integer","format":"int64"}`, []string{"x: format is now int64"}},
		{`{"type":"integer","format":"int32"}`, `{"type":"integer","format":"int64"}`, []string{"x: format is now int64"}},
		{`{"type":"integer","format":"int64"}`, `{"type":"integer","format":"int32"}`, []string{"x: format is now int32 (breaking)"}},
		{`{"type":"integer"}`, `{"type":"integer","format":"int32"}`, []string{"x: format is now int32 (breaking)"}},
		{`{"type":"number"}`, `{"type":"number","format":"double"}`, []string{"x: format is now double"}},
		{`{"type":"number"}`, `{"type":"number","format":"int64"}`, []string{"x: format is now int64 (breaking)"}},
		{`{"type":"string"}`, `{"type":"string","minLength":0}`, []string{"x: minLength 0 was added"}},
		{`{"type":"string"}`, `{"type":"string","maxLength":0}`, []string{"x: maxLength 0 was added (breaking)"}},
		{`{"type":"integer"}`, `{"type":"integer","minimum":0}`, []string{"x: minimum 0 was added (breaking)"}},
		{`{"type":"integer","format":"int32","maximum":100}`, `{"type":"integer","format":"int32","maximum":3000000000}`,
			[]string{"x: maximum is now 3000000000, which is not a value of the type integer with 32 bits: servers refuse every value (breaking)"}},
		{`{"type":"integer","minimum":1}`, `{"type":"integer","minimum":0.5}`,
			[]string{"x: minimum is now 0.5, which is not a value of the type integer with 64 bits: servers refuse every value (breaking)"}},
		{`{"type":"integer","multipleOf":2}`, `{"type":"integer","multipleOf":0.5}`,
			[]string{"x: multipleOf is now 0.5, which is not a value of the type integer with 64 bits: servers refuse every value (breaking)"}},
		{`{"type":"number","minimum":1}`, `{"type":"number","minimum":0.5}`, []string{"x: minimum changed from 1 to 0.5"}},
		{`{"x-kubernetes-int-or-string":true}`, `{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}`, nil},
		{`{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}`, `{"x-kubernetes-int-or-string":true}`, nil},
		{`{"type":"array","x-kubernetes-list-map-keys":["a","b"]}`, `{"type":"array","x-kubernetes-list-map-keys":["b","a"]}`, nil},
		{`{"x-kubernetes-int-or-string":true}`, `{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"}]}`, []string{"x: allOf, anyOf, oneOf or not changed (breaking)"}},
		{`{"type":"number","multipleOf":1e1}`, `{"type":"number","multipleOf":10}`, nil},
		{`{"type":"integer","multipleOf":4}`, `{"type":"integer","multipleOf":2}`, []string{"x: want multiples of 2, which is wider"}},
		{`{"type":"integer","multipleOf":2}`, `{"type":"integer","multipleOf":4}`, []string{"x: want multiples of 4 (breaking)"}},
		{`{"type":"integer","format":"int32"}`, `{"x-kubernetes-int-or-string":true}`,
			[]string{"x: the type changed from integer to int-or-string", "x: format int32 removed"}},
		{`{"type":"string"}`, `{"x-kubernetes-int-or-string":true,"pattern":"a"}`,
			[]string{"x: the type changed from string to int-or-string", "x: pattern is now a (breaking)"}},
		{`{"type":"integer"}`, `{"x-kubernetes-int-or-string":true,"x-kubernetes-validations":[{"rule":"self > 1"}]}`,
			[]string{"x: the type changed from integer to int-or-string (breaking)"}},
		{`{"type":"object","properties":{"a":{"type":"integer"}}}`,
			`{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true}},"x-kubernetes-validations":[{"rule":"self.a > 1"}]}`,
			[]string{`x: new rule "self.a > 1" (breaking)`, "x.a: the type changed from integer to int-or-string (breaking)"}},
		{`{"type":"integer","format":"int32"}`, `{"type":"number","format":"double"}`,
			[]string{"x: the type changed from integer to number", "x: format is now double"}},
		{`{"type":"number"}`, `{"type":"integer"}`, []string{"x: the type changed from number to integer (breaking)"}},
		{`{"type":"number"}`, `{"x-kubernetes-int-or-string":true}`, []string{"x: the type changed from number to int-or-string (breaking)"}},
		{`{"type":"object","required":["a"],"properties":{"a":{"type":"string","default":"b"}}}`, `{"x-kubernetes-preserve-unknown-fields":true}`,
			[]string{"x: the type changed from object to any", "x: unknown members are now preserved", "x.a: removed, and kept as an unknown member", `x.a: default "b" removed`}},
		{`{"type":"array","items":{"type":"string"}}`, `{"x-kubernetes-preserve-unknown-fields":true}`,
			[]string{"x: the type changed from array to any", "x: unknown members are now preserved"}},
		{`{"type":"string","nullable":true}`, `{"x-kubernetes-preserve-unknown-fields":true}`,
			[]string{"x: the type changed from string to any", "x: no longer nullable (breaking)", "x: unknown members are now preserved"}},
		{`{"x-kubernetes-preserve-unknown-fields":true}`, `{"type":"string"}`, []string{"x: the type changed from any to string (breaking)"}},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`,
			`{"type":"object","additionalProperties":{"type":"number"},"x-kubernetes-validations":[{"rule":"self.all(k, self[k] > 1)"}]}`,
			[]string{`x: new rule "self.all(k, self[k] > 1)" (breaking)`, "x{}: the type changed from integer to number (breaking)"}},
		{`{"type":"boolean"}`, `{"x-kubernetes-int-or-string":true}`, []string{"x: the type changed from boolean to int-or-string (breaking)"}},
	} {
		parse := func(text string) (s *Schema) {
			if err := json.Unmarshal([]byte(text), &s); err != nil {
				t.Fatal(err)
			}
			return s
		}
		var c comparison
		c.schema(parse(tt.was), parse(tt.is), "x")
		var got []string
		for _, change := range c.changes {
			got = append(got, change.String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s to %s (-want +got):\n%s", tt.was, tt.is, diff)
		}
	}
}
