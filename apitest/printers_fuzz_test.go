package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJSONPath(t *testing.T) {
	object := decodeTree([]byte(`{"a":{"b":[{"n":1,"t":"x","ok":true},{"n":2.5,"t":"y","ok":false},{"n":3,"c":{"d":"deep"}}]},"x.y":"dotted","z":null}`))
	for path, want := range map[string]string{
		"": "[map[a:", "a.b[0].t": "[x]", ".a.b[0].t": "[x]", "$.a.b[0].t": "[x]", ".a.b[-1].n": "[3]", ".a.b[*].n": "[1 2.5 3]", ".a['b'][1].t": "[y]",
		`.a.b[?(@.t=="y")].n`: "[2.5]", `.a.b[?(@.t=='y')].n`: "[2.5]", ".a.b[?(@.c)].c.d": "[deep]", ".a.b[?(@.c.d)].n": "[3]",
		".a.b[?(@.t!='x')].t": "[y]", ".a.b[?(@.ok==true)].t": "[x]", ".a.b[?('x'==@.t)].n": "[1]", ".a.b[?(@.t>='y')].n": "[2.5]",
		`.x\.y`: "[dotted]", `['x\.y']`: "[dotted]", ".missing.far.off": "[]", ".z": "[<nil>]", ".z.more": "[]", ".a.*": "[[map[",
		// What does not fit the object is an error, as it is for kubectl.
		".a.b[3]": errNoPath.Error(), ".a.b[-4]": errNoPath.Error(), ".a[0]": errNoPath.Error(), ".a[?(@.t)]": errNoPath.Error(),
		".a.b[?(@.n>1)].t": errNoPath.Error(), ".a.b[?(@.t==1)].t": errNoPath.Error(),
		// What is no path of this dialect.
		"..a": errPath.Error(), ".a..b": errPath.Error(), ".a[0:1]": errPath.Error(), ".a[0,1]": errPath.Error(), ".a[": errPath.Error(), ".a]": errPath.Error(),
		".a.b[?(@.t==)]": errPath.Error(), ".a.b[?()]": errPath.Error(), ".a b": errPath.Error(), `.a\`: errPath.Error(), `['a`: errPath.Error(), `["a"]`: errPath.Error(),
		".a[?(@[?(@[?(@[?(@[?(@)])])])])]": errPath.Error(),
	} {
		got := ""
		p, err := parsePath(path)
		if err == nil {
			var found []any
			found, err = p.find(object)
			got = fmt.Sprint(found)
		}
		if err != nil {
			got = err.Error()
		}
		if path == "" || path == ".a.*" {
			got = got[:min(len(got), len(want))]
		}
		if got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}

// FuzzJSONPath: no path and no object makes it panic, and a path that is all
// members finds what a walk over them finds.
func FuzzJSONPath(f *testing.F) {
	for _, path := range []string{".spec.replicas", `.status.conditions[?(@.type=="Ready")].status`, ".a[0][-1][*]", `$['a\.b'].c`, ".a[?(@.n>=1.5)]", "..", "[?(@"} {
		f.Add(path, `{"a":[[1,{"n":2}],"x"],"spec":{"replicas":3},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	}
	f.Fuzz(func(t *testing.T, path, object string) {
		p, err := parsePath(path)
		if err != nil {
			return
		}
		v := decodeTree([]byte(object))
		found, err := p.find(v)
		if err != nil {
			return
		}
		for _, step := range p {
			if step.name == nil {
				return
			}
			m, _ := v.(map[string]any)
			next, ok := m[*step.name]
			if !ok {
				if len(found) > 0 {
					t.Errorf("%q finds %v where %q is missing", path, found, *step.name)
				}
				return
			}
			v = next
		}
		if diff := cmp.Diff([]any{v}, found); diff != "" {
			t.Errorf("%q: %s", path, diff)
		}
	})
}

// FuzzParts: the members of an object and the elements of an array are those
// that encoding/json finds; nothing makes it panic.
func FuzzParts(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":[1,{"c":"]}\"\\"}],"":null}`, ` [ "x" , {} , [ ] , -1.5e3 , true ] `, `{}`, `[]`, `{"a`, `{"a":`, `[1`, `]`, `{"a" : "b\\" }`, `{:}`, `[,]`, `{"a":"x\",","b":1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		type part struct{ name, value string }
		var got []part
		for name, value := range parts(b) {
			got = append(got, part{string(name), string(value)})
		}
		if !json.Valid(b) {
			return
		}
		var want []part
		dec := json.NewDecoder(bytes.NewReader(b))
		start, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		if start == json.Delim('{') || start == json.Delim('[') {
			for dec.More() {
				var p part
				if start == json.Delim('{') {
					before := dec.InputOffset()
					if _, err := dec.Token(); err != nil {
						t.Fatal(err)
					}
					name := b[before:dec.InputOffset()]
					p.name = string(name[bytes.IndexByte(name, '"')+1 : len(name)-1])
				}
				var raw json.RawMessage
				if err := dec.Decode(&raw); err != nil {
					t.Fatal(err)
				}
				p.value = string(raw)
				want = append(want, p)
			}
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(part{})); diff != "" {
			t.Errorf("%s: %s", b, diff)
		}
	})
}
