package crd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Rules and the like see defaults as if the client had sent them.
func TestDiffOfDefaultsThatOthersDependOn(t *testing.T) {
	const (
		plain   = `"a":{"type":"string"},"b":{"type":"string"}`
		one     = `"a":{"type":"string","default":"x"},"b":{"type":"string"}`
		two     = `"a":{"type":"string","default":"y"},"b":{"type":"string"}`
		only    = `"b":{"type":"string"}`
		depends = ", and a rule or limit around it may depend on that (breaking)"
	)
	for _, tt := range []struct{ name, around, was, is, want string }{
		{"none", ``, plain, one, `default is now "x"`},
		{"oneOf", `"oneOf":[{"required":["a"]},{"required":["b"]}],`, plain, one, `default is now "x"` + depends},
		{"anyOf", `"anyOf":[{"required":["a"]},{"required":["b"]}],`, one, plain, `default "x" removed` + depends},
		{"anyOf of others", `"anyOf":[{"required":["b"]}],`, one, plain, `default "x" removed`},
		{"rule", `"x-kubernetes-validations":[{"rule":"!has(self.a) || !has(self.b)"}],`, plain, one, `default is now "x"` + depends},
		{"rule of others", `"x-kubernetes-validations":[{"rule":"has(self.b)"}],`, plain, one, `default is now "x"`},
		{"immutable", `"x-kubernetes-validations":[{"rule":"self.a == oldSelf.a"}],`, plain, one, `default is now "x"`},
		{"immutable, changed", `"x-kubernetes-validations":[{"rule":"self.a == oldSelf.a"}],`, one, two, `default is now "y"` + depends},
		{"immutable around it", `"x-kubernetes-validations":[{"rule":"self == oldSelf"}],`, plain, one, `default is now "x"`},
		{"immutable around it, changed", `"x-kubernetes-validations":[{"rule":"self == oldSelf"}],`, one, two, `default is now "y"` + depends},
		{"immutable around it, removed", `"x-kubernetes-validations":[{"rule":"self == oldSelf"}],`, one, plain, `default "x" removed` + depends},
		{"another is immutable", `"x-kubernetes-validations":[{"rule":"self.b == oldSelf.b"}],`, one, two, `default is now "y"`},
		{"maxProperties", `"maxProperties":1,`, plain, one, `default is now "x"` + depends},
		{"maxProperties, changed", `"maxProperties":1,`, one, two, `default is now "y"`},
		{"minProperties", `"minProperties":1,`, one, plain, `default "x" removed` + depends},
		{"enum", `"enum":[{"b":"z"}],`, plain, one, `default is now "x"` + depends},
		{"enum within not", `"not":{"enum":[1,{"b":"z"}]},`, plain, one, `default is now "x"` + depends},
		{"enum of another", `"anyOf":[{"properties":{"b":{"enum":["z"]}}}],`, plain, one, `default is now "x"`},
		{"maxProperties within allOf", `"allOf":[{"maxProperties":1}],`, plain, one, `default is now "x"` + depends},
		{"added", ``, only, one, "added"},
		{"removed, kept", `"x-kubernetes-preserve-unknown-fields":true,`, one, only, `default "x" removed`},
		{"removed, kept and required", `"x-kubernetes-preserve-unknown-fields":true,"required":["a"],`, one, only, `default "x" removed, and it is required (breaking)`},
		{"added, maxProperties", `"maxProperties":1,`, only, one, `added with a default` + depends},
	} {
		schema := func(members string) (s *Schema) {
			if err := json.Unmarshal([]byte(`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object",`+tt.around+`"properties":{`+members+`}}}}}`), &s); err != nil {
				t.Fatal(err)
			}
			return s
		}
		var c comparison
		c.schema(schema(tt.was), schema(tt.is), "")
		got := []string{"nothing"}
		for _, change := range c.changes {
			got = append(got, change.String())
		}
		if diff := cmp.Diff("l[].a: "+tt.want, got[len(got)-1]); diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, got, diff)
		}
	}
}

// A member may be part of an immutable one, or a key of a list.
func TestDiffOfDefaultsWithinOthers(t *testing.T) {
	for _, tt := range []struct{ rule, want string }{
		{"self.t == oldSelf.t", "breaking"},
		{"!has(oldSelf.t) || has(self.t)", ""},
		{"!has(oldSelf.t) || self.t == oldSelf.t", "breaking"},
		{"self.l.all(e, oldSelf.l.exists(o, o == e))", ""},
		{"self.t.size() >= oldSelf.t.size()", ""},
		{"self.other == oldSelf.other", ""},
		{"self.all(e, oldSelf.exists(o, o == e))", "breaking"},
	} {
		schema := func(value string) (s *Schema) {
			text := `{"type":"object","x-kubernetes-validations":[{"rule":"` + tt.rule + `"}],"properties":{"t":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string","default":"` + value + `"}}}}}}`
			if err := json.Unmarshal([]byte(text), &s); err != nil {
				t.Fatal(err)
			}
			return s
		}
		var c comparison
		c.schema(schema("x"), schema("y"), "spec")
		if len(c.changes) != 1 || c.changes[0].Breaking != (tt.want != "") {
			t.Errorf("%s: %v, want %q", tt.rule, c.changes, tt.want)
		}
	}
	for _, list := range []struct {
		kind   string
		breaks bool
	}{{"set", true}, {"atomic", false}} { // two elements of a set may become the same
		of := func(value string) string {
			return `{"type":"array","x-kubernetes-list-type":"` + list.kind + `","items":{"type":"object","x-kubernetes-map-type":"atomic","properties":{"a":{"type":"string"` + value + `}}}}`
		}
		if changes, breaks := breaking(t, of(""), of(`,"default":"x"`)); breaks != list.breaks {
			t.Errorf("%s: %v", list.kind, changes)
		}
	}
	for _, keys := range []string{`"port","protocol"`, `"port"`} {
		schema := func(value string) (s *Schema) {
			text := `{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":[` + keys + `],"items":{"type":"object","required":["port"],"properties":{"port":{"type":"integer"},"protocol":{"type":"string","default":"` + value + `"}}}}`
			if err := json.Unmarshal([]byte(text), &s); err != nil {
				t.Fatal(err)
			}
			return s
		}
		var c comparison
		c.schema(schema("TCP"), schema("UDP"), "ports")
		if len(c.changes) != 1 || c.changes[0].Breaking != (keys != `"port"`) {
			t.Errorf("keys %s: %v", keys, c.changes)
		}
	}
}

// Servers set the default of elements and of values of maps for nulls.
func TestDiffOfDefaultsOfElements(t *testing.T) {
	const (
		plain   = `{"type":"string"}`
		one     = `{"type":"string","default":"x"}`
		two     = `{"type":"string","default":"y"}`
		depends = ", and a rule or limit around it may depend on that (breaking)"
	)
	for _, tt := range []struct{ name, around, was, is, list, values string }{
		{"same", ``, one, one, "", ""},
		{"added", ``, plain, one, `default is now "x"`, `default is now "x"`},
		{"changed", ``, one, two, `default is now "y"`, `default is now "y"`},
		{"removed", ``, one, plain, `default "x" removed, and null is refused (breaking)`, `default "x" removed`},
		{"added, limited", `,"maxProperties":1`, plain, one, `default is now "x"` + depends, `default is now "x"` + depends},
		{"removed, limited", `,"minProperties":1`, one, plain, `default "x" removed, and null is refused (breaking)`, `default "x" removed` + depends},
		{"changed, with a rule", `,"x-kubernetes-validations":[{"rule":"self.size() < 2"}]`, one, two, `default is now "y"` + depends, `default is now "y"` + depends},
		{"changed, in an enum", `,"enum":[["x"],{"a":"x"}]`, one, two, `default is now "y"` + depends, `default is now "y"` + depends},
	} {
		for kind, want := range map[string]string{
			`{"type":"array"` + tt.around + `,"items":`:                 tt.list,
			`{"type":"object"` + tt.around + `,"additionalProperties":`: tt.values,
		} {
			changes, _ := breaking(t, kind+tt.was+"}", kind+tt.is+"}")
			got := ""
			for _, change := range changes {
				_, got, _ = strings.Cut(change.String(), ": ")
			}
			if got != want {
				t.Errorf("%s: %s\n got %s\nwant %s", tt.name, kind, got, want)
			}
		}
	}
}
