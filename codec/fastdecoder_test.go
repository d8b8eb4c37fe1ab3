package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

type phase string

// embeds is what a program declares: metadata, a spec of plain types, and things
// that only json-iterator decodes.
type embeds struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Replicas *int32    `json:"replicas"`
		Small    int8      `json:"small"`
		Big      int64     `json:"big"`
		On       bool      `json:"on"`
		Phase    phase     `json:"phase"`
		When     time.Time `json:"when"`
		Names    []phase   `json:"names"`
		Numbers  []int     `json:"numbers"`
		Lists    [][]struct {
			Name *string           `json:"name"`
			Map  map[string]string `json:"map"`
		} `json:"lists"`
		Untagged **string
		hidden   string
		Skipped  string `json:"-"`
	} `json:"spec"`
	Any   any            `json:"any"`
	Ratio float64        `json:"ratio"`
	Free  map[string]any `json:"free"`
}

type named struct {
	Metadata kube.Meta `json:"metadata"`
	Kind     string    `json:"kind"`
}

// The others have something at which a fastDecoder must stop.
type (
	twice struct {
		A string `json:"B"`
		B string
		C string `json:"c"`
	}
	quoted struct {
		N int    `json:"n,string"`
		S string `json:"s"`
	}
	inner    struct{ A, B string }
	shadowed struct {
		inner
		Inline
		A string
		C string `json:"c"`
	}
	ringed struct {
		Name string  `json:"name"`
		Next *ringed `json:"next"`
	}
	others struct {
		Number json.Number       `json:"number"`
		Raw    json.RawMessage   `json:"raw"`
		Bytes  []byte            `json:"bytes"`
		Array  [2]string         `json:"array"`
		Keys   map[phase]string  `json:"keys"`
		Floats []float32         `json:"floats"`
		Uint   uint16            `json:"uint"`
		Body   Raw               `json:"body"`
		Labels map[string]string `json:"labels"`
	}
)

// wayward reads its JSON itself.
type wayward struct {
	Name string `json:"name"`
}

func (w *wayward) UnmarshalJSON(b []byte) error {
	w.Name = "read " + string(b)
	return nil
}

// bothWays decodes b as Decode does, and as it would if nothing had a plan.
func bothWays[T any](t *testing.T, b []byte) {
	t.Helper()
	got, gotErr := Decode[T](b)
	want := new(T)
	wantErr := decodeAll(validUTF8(b), want, targetOf(reflect.TypeFor[T]()))
	if wantErr != nil {
		want = new(T)
	}
	if !reflect.DeepEqual(gotErr, wantErr) {
		t.Fatalf("%T of %q: error %v, want %v", got, b, gotErr, wantErr)
	}
	if !reflect.DeepEqual(got, *want) {
		t.Fatalf("%T of %q: %#v, want %#v (-want +got):\n%s", got, b, got, *want, cmp.Diff(fmt.Sprintf("%+v", *want), fmt.Sprintf("%+v", got)))
	}
}

func everyWay(t *testing.T, b []byte) {
	t.Helper()
	bothWays[kube.Partial](t, b)
	bothWays[**kube.Partial](t, b)
	bothWays[embeds](t, b)
	bothWays[*named](t, b)
	bothWays[pod8](t, b)
	bothWays[twice](t, b)
	bothWays[quoted](t, b)
	bothWays[shadowed](t, b)
	bothWays[ringed](t, b)
	bothWays[others](t, b)
	bothWays[*wayward](t, b)
}

// fieldNames are the names by which everyWay's types know their fields, and some
// that they do not know.
var metaNames = []string{
	"name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers", "managedFields", "Name", "n\\u0061me",
}

var specNames = []string{"replicas", "small", "big", "on", "phase", "when", "names", "numbers", "lists", "Untagged", "hidden", "Skipped", "-"}

var tokens = []string{
	`null`, `true`, `false`, `0`, `-0`, `1`, `-1`, `127`, `128`, `-128`, `-129`, `2147483648`, `-2147483649`, `99999999999999999`, `999999999999999999`,
	`9223372036854775807`, `9223372036854775808`, `-9223372036854775808`, `123456789012345678901234567890`, `1.0`, `1.5`, `1e2`, `1E-2`, `-0.0`,
	`""`, `"x"`, `"1"`, `"é😀"`, `"\"\\\/\b\f\n\r\t\u00e4\u003c\u0000"`, `"\ud83d\ude00"`, `"\uD800"`, `"\udc00\ud800"`, `"\\ud800"`, "\"\xff\xfe\"", "\"\xed\xa0\x80\"",
	`"2026-03-01T10:00:00Z"`, `"2026-03-01T10:00:00.000000Z"`, `"2026-03-01T10:00:00.123456789+02:00"`, `"2026-03-01T10:00:00-00:00"`, `"2026-03-01t10:00:00z"`,
	`"2026-02-30T10:00:00Z"`, `"2026-03-01T1:00:00Z"`, `"2026-03-01T10:00:00,5Z"`, `"2026-03-01T10:00:00+24:00"`, `"2026\u002d03-01T10:00:00Z"`, `"2026-03-01"`,
	`[]`, `[ ]`, `[null]`, `["a"]`, `["a","b", "c"]`, `["a",1]`, `[1,2,300]`, `[{}]`, `[null,{}]`, `[[]]`, `[[{"name":"a","map":{"b":"c"}},{}],[],null]`, `[[null,{"name":null,"name":"x"}]]`,
	`{}`, `{ }`, `{"a":"b"}`, `{"a":null}`, `{"a":1}`, `{"a":"b","a":"c"}`, `{"":""}`, `{"\u0061\n":"b","ä":"é"}`, `{"a":{}}`, `{ "a" : "b" , "c" : "d" }`,
	`[{"apiVersion":"v1","kind":"Node","name":"a","uid":"b","controller":true,"blockOwnerDeletion":false,"x":[1]}]`, `[{"controller":null},{"controller":1}]`, `[{"name":"a","name":"b"}]`,
	`tru`, `truex`, `01`, `-`, `1.`, `"\x"`, `"a`, `[1,]`, `{"a"}`, `{"a":"b",}`, `{"a":1 "b":2}`, "\"\x01\"", ``, strings.Repeat("[", 70) + strings.Repeat("]", 70),
	`"` + strings.Repeat("x", short) + `"`, `"` + strings.Repeat("x", short+1) + `"`, `{"long":"` + strings.Repeat(`\n`, short+1) + `","a":"b"}`,
}

func TestFillerAgreesWithTheIterator(t *testing.T) {
	for _, token := range tokens {
		everyWay(t, []byte(token))
		for _, form := range []string{
			`{"metadata":%s}`, `{"metadata":%s,"x":1}`, `{"x":1,"metadata":%s}`, ` { "metadata" : %s } `, `{"metadata":{"name":"a"},"metadata":%s}`,
			`{"metadata":%s,"metadata":{"uid":"a"}}`, `{"Metadata":%s}`, `{"m\u0065tadata":%s}`, `{"kind":%s}`,
		} {
			b := fmt.Appendf(nil, form, token)
			bothWays[**kube.Partial](t, b)
			bothWays[named](t, b)
		}
		for _, form := range []string{
			`{"spec":%s}`, `{"any":%s}`, `{"metadata":{"name":"a"},"any":{"b":"c"},"ratio":1.5,"spec":%s,"free":{"d":1}}`, `{"metadata":{"name":"a"},"any":%s}`,
		} {
			bothWays[embeds](t, fmt.Appendf(nil, form, token))
		}
		bothWays[twice](t, fmt.Appendf(nil, `{"A":%s,"B":%[1]s,"c":%[1]s}`, token))
		bothWays[shadowed](t, fmt.Appendf(nil, `{"A":%s,"B":%[1]s,"c":%[1]s,"inlined":%[1]s}`, token))
		bothWays[quoted](t, fmt.Appendf(nil, `{"n":%s,"s":%[1]s}`, token))
		bothWays[ringed](t, fmt.Appendf(nil, `{"name":"a","next":%s}`, token))
		bothWays[ringed](t, fmt.Appendf(nil, `{"next":{"name":%s}}`, token))
		bothWays[*wayward](t, fmt.Appendf(nil, `{"name":%s}`, token))
		for _, name := range []string{"number", "raw", "bytes", "array", "keys", "floats", "uint", "body", "labels"} {
			bothWays[others](t, fmt.Appendf(nil, `{"labels":{"a":"b"},"%s":%s}`, name, token))
			bothWays[others](t, fmt.Appendf(nil, `{"%s":%s}`, name, token))
		}
		for _, name := range metaNames {
			bothWays[embeds](t, fmt.Appendf(nil, `{"metadata":{"uid":"u","%s":%s,"zzz":[{}],"labels":{"a":"b"}},"kind":"x","ratio":2}`, name, token))
			bothWays[named](t, fmt.Appendf(nil, `{"metadata":{"%s":%s , "%[1]s":%[2]s}}`, name, token))
		}
		for _, name := range specNames {
			bothWays[embeds](t, fmt.Appendf(nil, `{"spec":{"%s":%s}}`, name, token))
			bothWays[embeds](t, fmt.Appendf(nil, `{"any":%[2]s,"spec":{"%[1]s":%[2]s,"%[1]s":1}}`, name, token))
		}
	}
}

func TestFillerAgreesWithTheIteratorOnManyStrings(t *testing.T) {
	for n := range 40 {
		bothWays[kube.Partial](t, fmt.Appendf(nil, `{"metadata":{"labels":{%s"a":"b"},"finalizers":["c"]}}`, strings.Repeat(`"`+strings.Repeat("x", 11*n)+`":"`+strings.Repeat("y", 7*n)+`",`, n)))
	}
	for _, n := range []int{maxStrings - 1, maxStrings, maxStrings + 1} {
		bothWays[kube.Partial](t, fmt.Appendf(nil, `{"metadata":{"finalizers":[%s""]}}`, strings.Repeat(`"",`, n-1)))
		bothWays[embeds](t, fmt.Appendf(nil, `{"spec":{"lists":[%s[]]}}`, strings.Repeat(`[{"map":{}}],`, n)))
	}
}

// small has something of everything that a fastDecoder fills, cuts and leaves.
const small = `{"kind":"Foo","metadata":{"name":"a","generation":7,"creationTimestamp":"2026-03-01T10:00:00Z","labels":{"a":"b","c":"d"},` +
	`"ownerReferences":[{"kind":"Bar","controller":true}],"finalizers":["x"],"managedFields":[{"f:a":{}}]},` +
	`"any":[1],"spec":{"replicas":-3,"on":false,"names":["a","b"],"lists":[[{"map":{"a":"\n"}}]],"x":{}}}`

func TestFillerAgreesWithTheIteratorOnWhatIsCutOrChanged(t *testing.T) {
	const odd = "\"\\{}[]:,0 n\xff"
	for n := range len(small) {
		bothWays[embeds](t, []byte(small[:n]))
		for k := n % 4; k < len(odd); k += 4 {
			c := odd[k]
			b := []byte(small)
			b[n] = c
			bothWays[embeds](t, b)
		}
	}
}

func FuzzFiller(f *testing.F) {
	f.Add([]byte(small))
	names := append(specNames, metaNames...)
	for i, token := range tokens {
		f.Add(fmt.Appendf(nil, `{"metadata":{"name":"a","labels":%s,"creationTimestamp":%[1]s,"finalizers":%[1]s},"any":%[1]s,"spec":%[1]s}`, token))
		f.Add(fmt.Appendf(nil, `{"metadata":{"%s":%s},"spec":{"%[1]s":%[2]s},"%[1]s":%[2]s}`, names[i%len(names)], token))
	}
	f.Fuzz(func(t *testing.T, b []byte) { everyWay(t, b) })
}

func TestFillerLeavesToTheIteratorWhatItMust(t *testing.T) {
	const refused = "refused"
	for _, test := range []struct{ name, in, rest string }{
		{"metadata alone", `{"kind":"Pod","metadata":{"name":"a","managedFields":[{}],"labels":{"a":"b"},"creationTimestamp":"2026-03-01T10:00:00Z"}}`, ""},
		{"nothing", `{}`, ""},
		{"what is not known", `{"x":[1],"metadatas":{}}`, ""},
		{"nulls", `{"metadata":{"name":null,"labels":null,"generation":null,"deletionTimestamp":null,"finalizers":[null],"ownerReferences":[null]},"spec":null}`, ""},
		{"a spec of plain types", `{"spec":{"replicas":3,"lists":[[{"name":"a"}]]}}`, ""},
		{"what else it holds", `{"kind":"Pod","any":1,"metadata":{"name":"a"},"x":1,"ratio":1.5,"spec":{"on":true},"free":{}}`, `{"any":1,"ratio":1.5,"free":{}}`},
		{"escapes", `{"metadata":{"name":"\u003c\n","labels":{"\"":"\\"}}}`, ""},
		{"surrogates", `{"metadata":{"name":"\ud83d\ude00"}}`, refused},
		{"another type", `{"metadata":{"name":1}}`, refused},
		{"a fraction", `{"metadata":{"generation":1.0}}`, refused},
		{"a number too large", `{"spec":{"small":128}}`, refused},
		{"19 digits", `{"spec":{"big":1000000000000000000}}`, refused},
		{"a bad time", `{"metadata":{"creationTimestamp":"x"}}`, refused},
		{"a member twice", `{"metadata":{"name":"a","name":"a"}}`, refused},
		{"metadata twice", `{"metadata":{},"metadata":{}}`, refused},
		{"a label of null", `{"metadata":{"labels":{"a":null}}}`, refused},
		{"a great many strings", `{"metadata":{"finalizers":[` + strings.Repeat(`"",`, maxStrings) + `""]}}`, refused},
		{"a great many labels", `{"metadata":{"labels":{` + strings.Repeat(`"a":"",`, maxStrings/2) + `"a":"b"}}}`, refused},
		{"a great many maps", `{"spec":{"lists":[[` + strings.Repeat(`{"map":{}},`, maxStrings) + `{"map":{}}]]}}`, refused},
		{"an end within", `{"metadata":{"name":"a"}`, refused},
		{"more behind", `{} {}`, refused},
		{"no object", `[]`, refused},
	} {
		f, v := new(fastDecoder), new(embeds)
		rest, ok := f.root([]byte(test.in), reflect.ValueOf(v).Elem(), targetOf(reflect.TypeFor[embeds]()))
		got := string(rest)
		if !ok {
			got = refused
		}
		if got != test.rest {
			t.Errorf("%s: left %q, want %q", test.name, got, test.rest)
		}
	}
}

func TestTargetsWithPlans(t *testing.T) {
	for _, test := range []struct {
		t    reflect.Type
		want string
	}{
		{reflect.TypeFor[kube.Partial](), "metadata"},
		{reflect.TypeFor[**kube.Partial](), "metadata"},
		{reflect.TypeFor[embeds](), "metadata spec"},
		{reflect.TypeFor[pod8](), "metadata spec status"},
		{reflect.TypeFor[twice](), ""},
		{reflect.TypeFor[quoted](), ""},
		{reflect.TypeFor[shadowed](), ""},
		{reflect.TypeFor[ringed](), "name"},
		{reflect.TypeFor[others](), "labels"},
		{reflect.TypeFor[*wayward](), ""},
		{reflect.TypeFor[map[string]string](), ""},
		{reflect.TypeFor[[]kube.Partial](), ""},
	} {
		var got []string
		for name := range targetOf(test.t).fields {
			got = append(got, name)
		}
		wants := strings.Fields(test.want)
		if len(got) != len(wants) {
			t.Errorf("%s: %q, want %q", test.t, got, wants)
		}
		for _, name := range wants {
			if _, ok := targetOf(test.t).fields[name]; !ok {
				t.Errorf("%s: %q, want %q", test.t, got, wants)
			}
		}
	}
}

// TestFillerAllocates: the object, its strings as one, two maps at two each, the
// owner reference and its two bools.
func TestFillerAllocates(t *testing.T) {
	partial, pod := partialJSON(1), podJSON(1)
	annotated := func(n int) []byte {
		return bytes.Replace(partial, []byte(`2026-03-01T09:59:58Z`), bytes.Repeat([]byte("x"), n), 1)
	}
	many := []byte(`{"metadata":{"finalizers":[` + strings.Repeat(`"`+strings.Repeat("x", shared/20)+`",`, 39) + `"a"]}}`)
	type larger struct {
		kube.Meta `json:"metadata"`
		Spec      struct {
			NodeName string `json:"nodeName"`
		} `json:"spec"`
	}
	for _, test := range []struct {
		name      string
		got, want float64
	}{
		{"metadata", fillAllocs[kube.Partial](t, partial), 9},
		{"metadata with a long annotation", fillAllocs[kube.Partial](t, annotated(short+1)), 10},
		{"metadata with a very long annotation", fillAllocs[kube.Partial](t, annotated(2*shared)), 10},
		{"metadata in a larger struct", fillAllocs[larger](t, pod), 9},
		{"eight fields", fillAllocs[pod8](t, pod), 4},
		{"more than shares one allocation", fillAllocs[kube.Partial](t, many), 1 + 1 + 1 + 19}, // 20 strings fit, and the last
		{"nothing", fillAllocs[kube.Partial](t, []byte(`{}`)), 1},
	} {
		if test.got != test.want {
			t.Errorf("%s: %v allocations, want %v", test.name, test.got, test.want)
		}
	}
}

// fillAllocs is how many allocations a T takes, with a fastDecoder that is used again:
// under the race detector the pool of them forgets some.
func fillAllocs[T any](t *testing.T, b []byte) float64 {
	f, to := new(fastDecoder), targetOf(reflect.TypeFor[T]())
	return testing.AllocsPerRun(100, func() {
		v := new(T)
		if rest, ok := f.root(b, reflect.ValueOf(v).Elem(), to); !ok || rest != nil {
			t.Errorf("left %q, %t", rest, ok)
		}
		f.clear()
	})
}

func TestFillerKeepsNothingOfWhatItFilled(t *testing.T) {
	for _, in := range []string{string(partialJSON(1)), `{"metadata":{"name":"a","labels":{"a":"` + strings.Repeat("x", short+1) + `"},"uid":1}}`} {
		f := new(fastDecoder)
		f.root([]byte(in), reflect.ValueOf(new(kube.Partial)).Elem(), targetOf(reflect.TypeFor[kube.Partial]()))
		parts, later := f.parts[:cap(f.parts)], f.later[:cap(f.later)]
		if len(parts) == 0 || len(later) == 0 {
			t.Fatal("nothing was noted")
		}
		f.clear()
		for _, p := range parts {
			if p != (part{}) {
				t.Errorf("kept %+v", p)
			}
		}
		for _, l := range later {
			if l.v.IsValid() {
				t.Errorf("kept %v", l.v)
			}
		}
		if f.b != nil {
			t.Error("kept the JSON")
		}
	}
}
