package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var podIdentity = Identity{
	APIVersion: "v1", Kind: "Pod", Namespace: "prod", Name: "web-7d9c6f5b8d-00001",
	UID: "0f6c1e1c-8a57-4d55-9b0e-000000000001", ResourceVersion: "1000001",
}

func TestSkim(t *testing.T) {
	tests := []struct {
		name, object string
		want         Identity
	}{
		{"pod", string(podJSON(1)), podIdentity},
		{"empty", `{}`, Identity{}},
		{"nulls", `{"kind":null,"metadata":null}`, Identity{}},
		{"null part", `{"metadata":{"name":null,"uid":"u"}}`, Identity{UID: "u"}},
		{"the last of two counts", `{"kind":"A","metadata":{"name":"a","uid":"u"},"kind":"B","metadata":{"name":"b"}}`, Identity{Kind: "B", Name: "b", UID: "u"}},
		{"letter case", `{"Kind":"A","METADATA":{"name":"a"},"metadata":{"Name":"b"}}`, Identity{}},
		{"escapes", `{"kin\u0064":"P\u006fd","metadata":{"name":"\u00e4\ud83d\ude00\ud800x","namespace":"a\/b"}}`, Identity{Kind: "Pod", Name: "ä😀\ufffdx", Namespace: "a/b"}},
		{"invalid UTF-8", "{\"metadata\":{\"name\":\"a\xff\xfeb\"}}", Identity{Name: "a\ufffd\ufffdb"}},
		{"elsewhere", `{"spec":{"metadata":{"name":"no"}},"status":[{"kind":"no"}]}`, Identity{}},
		{"table", `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},"rows":[{"cells":[1],"object":{"kind":"PartialObjectMetadata","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7"}}},{"object":{"metadata":{"name":"b"}}}]}`,
			Identity{Kind: "Table", APIVersion: "meta.k8s.io/v1", Namespace: "n", Name: "a", UID: "u", ResourceVersion: "7"}},
		{"table without a revision in the row", `{"rows":[{"object":{"metadata":{"name":"a"}}}],"kind":"Table","metadata":{"resourceVersion":"9"}}`, Identity{Kind: "Table", Name: "a", ResourceVersion: "9"}},
		{"table without rows", `{"kind":"Table","metadata":{"resourceVersion":"9"},"rows":null}`, Identity{Kind: "Table", ResourceVersion: "9"}},
		{"rows of something else", `{"kind":"Foo","rows":[{"object":{"metadata":{"name":"a"}}}]}`, Identity{Kind: "Foo"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Skim([]byte(test.object))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Skim (-want +got):\n%s", diff)
			}
			for _, full := range []bool{false, true} {
				raw, err := parseRaw([]byte(test.object), full)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, raw.Identity()); diff != "" {
					t.Errorf("ParseRaw, full %t (-want +got):\n%s", full, diff)
				}
			}
		})
	}
}

func TestResourceVersionOfABookmark(t *testing.T) {
	tests := []struct {
		name, object, rv string
		end              bool
	}{
		{"plain", `{"kind":"Pod","metadata":{"resourceVersion":"12","creationTimestamp":null}}`, "12", false},
		{"end of the initial events", `{"metadata":{"resourceVersion":"12","annotations":{"a":"b","k8s.io/initial-events-end":"true"}}}`, "12", true},
		{"end says false", `{"metadata":{"resourceVersion":"12","annotations":{"k8s.io/initial-events-end":"false"}}}`, "12", false},
		{"end is no string", `{"metadata":{"resourceVersion":"12","annotations":{"k8s.io/initial-events-end":true}}}`, "12", false},
		{"escaped", `{"metadata":{"resourceVersion":"1\u0032","annotations":{"k8s.io\/initial-events-end":"tru\u0065"}}}`, "12", true},
		{"table", `{"kind":"Table","metadata":{"resourceVersion":"12"},"rows":[{"object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}}]}`, "12", true},
		{"table with a row", `{"kind":"Table","metadata":{},"rows":[{"object":{"metadata":{"resourceVersion":"12"}}}]}`, "12", false},
		{"none", `{}`, "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rv, end, err := ResourceVersion([]byte(test.object))
			if string(rv) != test.rv || end != test.end || err != nil {
				t.Errorf("got %q, %t, %v; want %q, %t", rv, end, err, test.rv, test.end)
			}
		})
	}
}

func TestParseRawDropsManagedFields(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"last", `{"metadata":{"name":"a","managedFields":[{"x":["}"]}]},"spec":{}}`, `{"metadata":{"name":"a"},"spec":{}}`},
		{"first", `{"metadata":{"managedFields":[],"name":"a"}}`, `{"metadata":{"name":"a"}}`},
		{"in the middle", `{"metadata":{"uid":"u","managedFields":[],"name":"a"}}`, `{"metadata":{"uid":"u","name":"a"}}`},
		{"alone", `{"metadata":{"managedFields":null}}`, `{"metadata":{}}`},
		{"several", `{"metadata":{"managedFields":1,"managedFields":2,"name":"a","managedFields":3,"managedFields":4,"uid":"u","managedFields":5}}`, `{"metadata":{"name":"a","uid":"u"}}`},
		{"several and nothing else", `{"metadata":{"managedFields":1,"managedFields":2}}`, `{"metadata":{}}`},
		{"elsewhere", `{"spec":{"metadata":{"managedFields":1}},"managedFields":2}`, `{"spec":{"metadata":{"managedFields":1}},"managedFields":2}`},
		{"escaped", `{"metadata":{"managed\u0046ields":1,"name":"\u0061"}}`, `{"metadata":{"name":"\u0061"}}`},
		{"pretty-printed", "{\n\t\"metadata\": {\n\t\t\"name\": \"a b\",\n\t\t\"managedFields\": [ 1 ]\n\t}\n}\n", `{"metadata":{"name":"a b"}}`},
		{"rows of a table", `{"kind":"Table","rows":[{"object":{"metadata":{"name":"a","managedFields":1}}},{"object":{"metadata":{"managedFields":1,"name":"b"}}}],"metadata":{"x":1,"managedFields":3}}`,
			`{"kind":"Table","rows":[{"object":{"metadata":{"name":"a"}}},{"object":{"metadata":{"name":"b"}}}],"metadata":{"x":1}}`},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "{\"a\":\"\ufffd\"}"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			raw, err := ParseRaw([]byte(test.in))
			if err != nil {
				t.Fatal(err)
			}
			if raw.JSON() != test.want {
				t.Errorf("got  %s\nwant %s", raw.JSON(), test.want)
			}
			want, _ := Skim([]byte(test.in))
			if diff := cmp.Diff(want, raw.Identity()); diff != "" {
				t.Errorf("identity (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRawChecksManagedFields(t *testing.T) {
	for _, bad := range []string{`[{"f:a":{},}]`, `[{"f:a":{}]`, `[{"f:a"}]`, `[01]`, `["\x"]`, "[\"\x00\"]", `[}`, `"`, ``} {
		for _, object := range []string{`{"metadata":{"name":"a","managedFields":` + bad + `}}`, `{"metadata":{"managedFields":` + bad + `,"name":"a"},"spec":{}}`} {
			if _, err := ParseRaw([]byte(object)); err == nil {
				t.Errorf("%q was taken", object)
			}
		}
	}
}

func TestParseRawFullKeepsManagedFields(t *testing.T) {
	const object = `{"metadata":{"managedFields":[1],"name":"a"}}`
	raw, err := DecoderOf[RawFull]()([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	if raw.JSON() != object || raw.GetName() != "a" {
		t.Errorf("got %s of %s", raw.JSON(), raw.GetName())
	}
	if b, err := Encode(raw); string(b) != object || err != nil {
		t.Errorf("encoded as %s, %v", b, err)
	}
	var again RawFull
	if err := json.Unmarshal([]byte(object), &again); err != nil || again != raw {
		t.Errorf("got %s, %v", again.JSON(), err)
	}
}

func TestParseRawRefusesWhatIsNoObject(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"nothing", "", "invalid JSON at byte 0: value expected"},
		{"null", "null", "decode: null into object"},
		{"an array", "[]", "decode: array into object"},
		{"two", "{}{}", "invalid JSON at byte 2: more than one value"},
		{"cut", `{"a":`, "invalid JSON at byte 5: value expected"},
		{"cut in a string", `{"a":"secret`, "invalid JSON at byte 12: string without an end"},
		{"brackets", `{"a":[}`, "invalid JSON at byte 6: value expected"},
		{"leading zero", `{"a":01}`, "invalid JSON at byte 6: comma or closing bracket expected"},
		{"control character", "{\"a\":\"\n\"}", "invalid JSON at byte 6: control character in a string"},
		{"escape", `{"a":"\x"}`, "invalid JSON at byte 6: invalid escape in a string"},
		{"zero byte", "{\x00}", "invalid JSON at byte 1: invalid character"},
		{"trailing zero byte", "{}\x00", "invalid JSON at byte 2: invalid character"},
		{"literal", `{"a":nul}`, "invalid JSON at byte 5: invalid literal"},
		{"name is a number", `{"metadata":{"name":5}}`, "decode metadata.name: number into string"},
		{"metadata is a string", `{"metadata":"x"}`, "decode metadata: string into object"},
		{"an element is a row", `{"kind":"Table","rows":[1]}`, "decode rows: number into object"},
		{"rows are an object", `{"kind":"Table","rows":{}}`, "decode rows: object into array"},
		{"too deep", `{"a":` + strings.Repeat("[", MaxDepth), fmt.Sprintf("invalid JSON at byte %d: nested too deeply", 5+MaxDepth)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			raw, err := ParseRaw([]byte(test.in))
			if fmt.Sprint(err) != test.want || !raw.IsZero() {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRawZeroIsNoObject(t *testing.T) {
	var r Raw
	if !r.IsZero() || r.JSON() != "" || r.GetName() != "" || r.Identity() != (Identity{}) {
		t.Error("zero Raw is not empty")
	}
	b, err := Encode(struct{ A, B Raw }{})
	if string(b) != `{"A":null,"B":null}` || err != nil {
		t.Errorf("got %s, %v", b, err)
	}
	if err := json.Unmarshal([]byte("null"), &r); err != nil || !r.IsZero() {
		t.Errorf("null gave %q, %v", r.JSON(), err)
	}
}

func TestRawDecodeGivesAPrivateCopyAndKeepsTheOldOnError(t *testing.T) {
	raw, err := ParseRaw(podJSON(1))
	if err != nil {
		t.Fatal(err)
	}
	var a, b pod8
	if err := errors.Join(raw.Decode(&a), raw.Decode(&b)); err != nil {
		t.Fatal(err)
	}
	a.Metadata.Labels["app"] = "changed"
	if b.Metadata.Labels["app"] != "web" {
		t.Error("copies share memory")
	}
	wrong := struct {
		Kind string
		Spec string `json:"spec"`
	}{Spec: "old"}
	if err := raw.Decode(&wrong); err == nil || wrong.Spec != "old" {
		t.Errorf("got %+v, %v", wrong, err)
	}
}

func TestRawDoesNotAliasItsSource(t *testing.T) {
	b := podJSON(1)
	raw, err := ParseRaw(b)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Clone(raw.JSON())
	clear(b)
	if raw.JSON() != want || raw.Identity() != podIdentity {
		t.Error("changed with its source")
	}
}

func TestParseRawAllocatesOnce(t *testing.T) {
	pod := podJSON(1)
	escaped := bytes.Replace(pod, []byte(`"name":"web`), []byte(`"name":"w\u0065b`), 1)
	for _, b := range [][]byte{pod, escaped} {
		var raw Raw
		got := testing.AllocsPerRun(100, func() { raw, _ = ParseRaw(b) })
		if got != 1 || raw.Identity() != podIdentity {
			t.Errorf("%v allocations, %+v", got, raw.Identity())
		}
	}
	raw, _ := ParseRaw(pod)
	if got := testing.AllocsPerRun(100, func() { _ = raw.GetName() + raw.JSON()[:0] }); got != 0 {
		t.Errorf("getters: %v allocations", got)
	}
	decode := DecoderOf[Raw]()
	if got := testing.AllocsPerRun(100, func() { _, _ = decode(pod) }); got != 1 {
		t.Errorf("DecoderOf[Raw]: %v allocations", got)
	}
}

// meta is what encoding/json finds where Skim looks.
type meta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace       string `json:"namespace"`
		Name            string `json:"name"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
}

// folded reports whether b may hold a name that differs from ours in letter
// case only, which encoding/json takes for the same.
func folded(b []byte) bool {
	if bytes.Contains(b, []byte(`\u`)) || !bytes.Equal(b, bytes.ToValidUTF8(b, nil)) || bytes.ContainsAny(b, "ſK") {
		return true
	}
	for _, name := range []string{"apiVersion", "kind", "metadata", "namespace", "name", "uid", "resourceVersion"} {
		if bytes.Count(b, []byte(name)) != bytes.Count(bytes.ToLower(b), []byte(strings.ToLower(name))) {
			return true
		}
	}
	return false
}

func FuzzRaw(f *testing.F) {
	f.Add(podJSON(1))
	f.Add([]byte(`{"kind":"Table","rows":[{"object":{"metadata":{"name":"a","managedFields":1}}}],"metadata":{"managedFields":3}}`))
	f.Add([]byte("{\"metadata\": {\"managedFields\":1 ,\"managedFields\":2,\"name\":\"\\u00e4\xff\"}}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var object map[string]json.RawMessage
		valid := json.Unmarshal(b, &object) == nil && object != nil
		raw, err := ParseRaw(b)
		if !valid {
			if err == nil {
				t.Fatalf("accepted: %s", b)
			}
			return
		}
		full, fullErr := ParseRawFull(b)
		if (err == nil) != (fullErr == nil) {
			t.Fatalf("%v, but full %v", err, fullErr)
		}
		if err != nil {
			if syntax := (*SyntaxError)(nil); errors.As(err, &syntax) {
				t.Fatalf("%v: %s", err, b)
			}
			return
		}
		for _, r := range []Raw{raw, full.Raw} {
			if !json.Valid([]byte(r.JSON())) {
				t.Fatalf("not JSON: %s", r.JSON())
			}
			if strings.Contains(r.JSON(), "\n") {
				t.Fatalf("more than one line: %q", r.JSON())
			}
			if id, err := Skim([]byte(r.JSON())); err != nil || id != r.Identity() {
				t.Fatalf("identity %+v, but of its JSON %+v, %v", r.Identity(), id, err)
			}
			again, err := ParseRaw([]byte(r.JSON()))
			if err != nil || again != raw && r == raw {
				t.Fatalf("parsed again: %v %v", again, err)
			}
		}
		var x, y any
		if err := errors.Join(json.Unmarshal(b, &x), json.Unmarshal([]byte(full.JSON()), &y)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(x, y); diff != "" {
			t.Fatalf("content changed (-want +got):\n%s", diff)
		}
	})
}

func FuzzSkim(f *testing.F) {
	f.Add(podJSON(1))
	f.Add([]byte(`{"kind":"A","metadata":{"name":"a\t","uid":"u"},"metadata":{"name":null}}`))
	f.Add([]byte(`{"metadata":[],"apiVersion":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Skim(b)
		_, _, rvErr := ResourceVersion(b)
		if (err == nil) != (rvErr == nil) {
			t.Fatalf("Skim %v, ResourceVersion %v", err, rvErr)
		}
		var want meta
		wantErr := json.Unmarshal(b, &want)
		if folded(b) || got.Kind == "Table" || (wantErr == nil && bytes.HasPrefix(bytes.TrimSpace(b), []byte("null"))) {
			return
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("got %v, want %v", err, wantErr)
		}
		m := want.Metadata
		if id := (Identity{want.APIVersion, want.Kind, m.Namespace, m.Name, m.UID, m.ResourceVersion}); err == nil && got != id {
			t.Fatalf("got %+v, want %+v", got, id)
		}
	})
}
