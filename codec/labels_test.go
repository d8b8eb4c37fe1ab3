package codec

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

func mustRaw(t testing.TB, s string) Raw {
	t.Helper()
	r, err := ParseRaw([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRawLabels(t *testing.T) {
	tests := []struct {
		name, object string
		want         map[string]string
	}{
		{"pod", string(podJSON(1)), map[string]string{"app": "web", "pod-template-hash": "7d9c6f5b8d", "team": "checkout", "version": "v1.42.0"}},
		{"nothing", `{}`, nil},
		{"no labels", `{"metadata":{"name":"a"}}`, nil},
		{"empty", `{"metadata":{"labels":{}}}`, nil},
		{"null", `{"metadata":{"labels":null}}`, nil},
		{"no metadata", `{"metadata":null,"labels":{"a":"b"}}`, nil},
		{"metadata is last", `{"spec":{"labels":{"a":"no"},"x":[1,{"y":"}"}]},"n":-1.5e3,"t":true,"metadata":{"name":"a","labels":{"a":"b","":""}}}`, map[string]string{"a": "b", "": ""}},
		{"spaced", "{ \"metadata\" : { \"labels\" : { \"a\" : \"b\" ,\n\"c\":\"d\" } } }", map[string]string{"a": "b", "c": "d"}},
		{"escaped", `{"m\u0065tadata":{"l\u0061bels":{"\u0061\"":"\u003cb\\"}}}`, map[string]string{`a"`: `<b\`}},
		{"quotes and brackets in strings", `{"metadata":{"annotations":{"x":"\\\"}]{\\"},"labels":{"a":"}\\"}}}`, map[string]string{"a": `}\`}},
		{"no strings", `{"metadata":{"labels":{"a":1,"b":null,"c":["x"],"d":{"e":"f"},"g":"h"}}}`, map[string]string{"g": "h"}},
		{"an array", `{"metadata":{"labels":["a"]}}`, nil},
		{"a string", `{"metadata":{"labels":"a"}}`, nil},
		{"the first of two counts", `{"metadata":{"labels":{"a":"1","a":"2"},"labels":{"b":"3"}},"metadata":{"labels":{"c":"4"}}}`, map[string]string{"a": "1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := mustRaw(t, test.object)
			got := r.GetLabels()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			for k, v := range test.want {
				if got, ok := r.Label(k); got != v || !ok {
					t.Errorf("label %q is %q, %t; want %q", k, got, ok, v)
				}
			}
			if v, ok := r.Label("none"); ok {
				t.Errorf("label none is %q", v)
			}
		})
	}
	if _, ok := (Raw{}).Label("a"); ok || (Raw{}).GetLabels() != nil || (Raw{}).GetOwnerReferences() != nil {
		t.Error("no object has labels or owners")
	}
}

func TestRawText(t *testing.T) {
	r := mustRaw(t, `{"kind":"Pod","spec":{"nodeName":"n1","replicas":-3,"paused":true,"other":null,"a.b":{"c/d":"e\n"},"list":["x"]}}`)
	tests := []struct {
		path string
		want string
		ok   bool
	}{
		{"kind", "Pod", true},
		{"spec nodeName", "n1", true},
		{"spec replicas", "-3", true},
		{"spec paused", "true", true},
		{"spec a.b c/d", "e\n", true},
		{"spec other", "", false},
		{"spec list", "", false},
		{"spec list 0", "", false},
		{"spec", "", false},
		{"spec nodeName x", "", false},
		{"status phase", "", false},
		{"", "", false},
	}
	for _, test := range tests {
		if got, ok := r.Text(strings.Fields(test.path)...); got != test.want || ok != test.ok {
			t.Errorf("%s is %q, %t; want %q, %t", test.path, got, ok, test.want, test.ok)
		}
	}
}

func TestRawOwnerReferences(t *testing.T) {
	yes := true
	want := []kube.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7d9c6f5b8d", UID: "5d7dbd2e-58a8-4d4b-8d53-6a9b4d0a1c77",
		Controller: &yes, BlockOwnerDeletion: &yes,
	}}
	if diff := cmp.Diff(want, mustRaw(t, string(podJSON(1))).GetOwnerReferences()); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	for _, none := range []string{`{}`, `{"metadata":{"ownerReferences":null}}`, `{"metadata":{"ownerReferences":{}}}`, `{"metadata":{"ownerReferences":["a"]}}`} {
		if got := mustRaw(t, none).GetOwnerReferences(); got != nil {
			t.Errorf("%s has owners %v", none, got)
		}
	}
}

func TestRawLabelDoesNotAllocate(t *testing.T) {
	r := mustRaw(t, string(podJSON(1)))
	if n := testing.AllocsPerRun(100, func() { r.Label("team"); r.Text("spec", "nodeName") }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// FuzzRawLabels compares with the tokens of encoding/json.
func FuzzRawLabels(f *testing.F) {
	for _, s := range []string{
		`{"metadata":{"labels":{"a":"b","c":"\u0064"}}}`, `{"metadata":{"name":"\\\"","labels":{"a":"}"}},"x":[{}]}`,
		`{"a":[1,-2.5e7,true,null,"]"],"metadata":{"labels":{}}}`, `{"metadata":{"labels":{"a":"b"},"labels":{"a":"c"}}}`,
	} {
		f.Add([]byte(s), "a")
	}
	f.Fuzz(func(t *testing.T, b []byte, name string) {
		r, err := ParseRaw(b)
		if err != nil {
			return
		}
		var want map[string]string
		for _, m := range members(t, first(t, first(t, []byte(r.JSON()), "metadata"), "labels")) {
			var v *string
			if _, twice := want[m.name]; twice || json.Unmarshal(m.value, &v) != nil || v == nil {
				continue
			}
			if want == nil {
				want = map[string]string{}
			}
			want[m.name] = *v
		}
		got := r.GetLabels()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("labels of %q (-want +got):\n%s", r.JSON(), diff)
		}
		var text string
		value := first(t, []byte(r.JSON()), name)
		isText := json.Unmarshal(value, &text) == nil && string(value) != "null"
		if got, ok := r.Text(name); isText && (got != text || !ok) {
			t.Errorf("Text(%q) of %q is %q, %t; want %q", name, r.JSON(), got, ok, text)
		}
		r.GetOwnerReferences()
	})
}

type namedValue struct {
	name  string
	value json.RawMessage
}

// members returns the members of an object, none of anything else.
func members(t *testing.T, b []byte) []namedValue {
	dec := json.NewDecoder(bytes.NewReader(b))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil
	}
	var all []namedValue
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		m := namedValue{name: name.(string)}
		if err := dec.Decode(&m.value); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// first returns the first of the members of that name, nil if there is none.
func first(t *testing.T, b []byte, name string) []byte {
	for _, m := range members(t, b) {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func BenchmarkRawLabel(b *testing.B) {
	r := mustRaw(b, string(podJSON(1)))
	b.Run("Label", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Label("team")
		}
	})
	b.Run("Text", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Text("spec", "nodeName")
		}
	})
	b.Run("GetLabels", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.GetLabels()
		}
	})
	b.Run("GetOwnerReferences", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.GetOwnerReferences()
		}
	})
}
