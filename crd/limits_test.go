package crd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLimitsOfNumbersHoldForIntegers: servers apply a limit to an integer as an int64, also where
// the type is not integer. The answers for the values are those of a real server.
func TestLimitsOfNumbersHoldForIntegers(t *testing.T) {
	for _, tt := range []struct {
		limits string
		values map[string]bool // whether the server takes each
		valid  bool            // false: the server refuses values that the limit allows, or takes all
	}{
		{`"multipleOf":0.5`, map[string]bool{"3": false, "2.5": true}, false},
		{`"multipleOf":2.5`, map[string]bool{"5": false, "2.5": true, "4": true}, false},
		{`"multipleOf":1e30`, map[string]bool{"0": false}, false},
		{`"multipleOf":2`, map[string]bool{"3": false, "4": true, "2.5": false}, true},
		{`"maximum":1e30`, map[string]bool{"3": false, "3.5": true, "1e20": true}, false},
		{`"maximum":9223372036854775807`, map[string]bool{"3": false, "3.5": true}, false},
		{`"maximum":9223372036854774784`, map[string]bool{"3": true}, true},
		{`"minimum":1e30`, map[string]bool{"3": true, "3.5": false}, false},
		{`"minimum":-1e30`, map[string]bool{"3": true, "3.5": true}, true},
		{`"maximum":-1e30`, map[string]bool{"-3": false, "-3.5": false}, true},
		{`"minimum":1.5`, map[string]bool{"0": false, "1": true, "1.2": false}, true},
		{`"maximum":-1.5`, map[string]bool{"0": false, "-1": true, "-1.2": false}, true},
		{`"minimum":1.5,"exclusiveMinimum":true`, map[string]bool{"1": false, "2": true}, true},
		{`"minimum":-1.5,"exclusiveMinimum":true`, map[string]bool{"-1": false, "-1.2": true}, false},
		{`"maximum":0.5,"exclusiveMaximum":true`, map[string]bool{"0": false, "0.2": true}, false},
		{`"maximum":-1.5,"exclusiveMaximum":true`, map[string]bool{"-1": false, "-2": true}, true},
	} {
		for _, kind := range []string{`"type":"number"`, `"x-kubernetes-int-or-string":true`, `"x-kubernetes-preserve-unknown-fields":true`} {
			s := parsed(t, `{`+kind+`,`+tt.limits+`}`)
			for value, want := range tt.values {
				if _, err := json.Number(value).Int64(); err != nil && s.IntOrString {
					continue // no value of the type
				}
				if got := faults(s, []byte(value)); (got == nil) != want {
					t.Errorf("%s %s, %s: %v", kind, tt.limits, value, got)
				}
			}
			v := NewVersion("v1", &Schema{Type: "object", Properties: map[string]*Schema{"a": s}}, VersionOptions{})
			v.Storage = true
			if err := New(widgets, Options{}, v).Validate(); (err == nil) != tt.valid {
				t.Errorf("%s %s: %v", kind, tt.limits, err)
			}
		}
	}
}

// TestDiffOfLimitsThatDoNotHoldForIntegers: they seem to be wider.
func TestDiffOfLimitsThatDoNotHoldForIntegers(t *testing.T) {
	for _, tt := range []struct{ was, is, want string }{
		{`"multipleOf":1`, `"multipleOf":0.5`, "spec: multipleOf is now 0.5, which is not an int64, as which servers apply it to integers (breaking)"},
		{`"maximum":10`, `"maximum":1e30`, "spec: maximum is now 1e30, which is not an int64, as which servers apply it to integers (breaking)"},
		{`"minimum":0`, `"minimum":-1e30`, "spec: minimum changed from 0 to -1e30"},
		{`"minimum":1`, `"minimum":0.5`, "spec: minimum changed from 1 to 0.5"},
	} {
		for _, kind := range []string{`"type":"number"`, `"x-kubernetes-int-or-string":true`} {
			changes, _ := breaking(t, `{`+kind+`,`+tt.was+`}`, `{`+kind+`,`+tt.is+`}`)
			if len(changes) != 1 {
				t.Fatalf("%s %s: %v", kind, tt.is, changes)
			}
			if diff := cmp.Diff(tt.want, changes[0].String()); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", kind, tt.is, diff)
			}
		}
	}
}

// TestPatternsAndEnumsAreReadOnce: and not again for each value of a list.
func TestPatternsAndEnumsAreReadOnce(t *testing.T) {
	const n = 1000
	list := []byte("[" + strings.Repeat(`"b",`, n-1) + `"b"]`)
	of := func(element string) float64 {
		s := parsed(t, `{"type":"array","items":{"type":"string",`+element+`}}`)
		if wrong := faults(s, list); len(wrong) > 0 {
			t.Fatal(wrong)
		}
		return testing.AllocsPerRun(3, func() { faults(s, list) })
	}
	plain := of(`"maxLength":1`)
	for _, element := range []string{`"pattern":"^[a-z]$"`, `"enum":["a","b"]`, `"anyOf":[{"pattern":"^[a-z]$","enum":["b"]}]`} {
		if got := of(element) - plain; got > 4*n {
			t.Errorf("%s: %.0f allocations more than %.0f", element, got, plain)
		}
	}
}
