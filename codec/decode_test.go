package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	jsoniter "github.com/json-iterator/go"
)

type thing struct {
	Name     string            `json:"name"`
	Replicas *int32            `json:"replicas,omitempty"`
	Big      int64             `json:"big"`
	Ratio    float64           `json:"ratio"`
	On       bool              `json:"on"`
	Data     []byte            `json:"data"`
	Labels   map[string]string `json:"labels"`
	Nested   *thing            `json:"nested"`
	List     []thing           `json:"list"`
	Any      any               `json:"any"`
	Raw      json.RawMessage   `json:"raw"`
	When     time.Time         `json:"when"`
	Inline
}

type Inline struct {
	Inlined uint8 `json:"inlined"`
}

func TestDecode(t *testing.T) {
	const body = `{"name":"a\u00e4","NAME":"no","replicas":3,"big":9007199254740993,"ratio":1.5e3,"on":true,"data":"AQI=",` +
		`"labels":{"a":"b"},"nested":{"name":"n"},"list":[{"name":"l"},{}],"any":{"n":9007199254740993,"s":[null,"x"]},` +
		`"raw":{"x": 1},"when":"2026-01-02T03:04:05Z","inlined":255,"unknown":[{"deep":{}}]}`
	three := int32(3)
	want := thing{
		Name: "aä", Replicas: &three, Big: 9007199254740993, Ratio: 1500, On: true, Data: []byte{1, 2},
		Labels: map[string]string{"a": "b"}, Nested: &thing{Name: "n"}, List: []thing{{Name: "l"}, {}},
		Any: map[string]any{"n": json.Number("9007199254740993"), "s": []any{nil, "x"}},
		Raw: json.RawMessage(`{"x": 1}`), When: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Inline: Inline{255},
	}
	b := []byte(body)
	got, err := Decode[thing](b)
	if err != nil {
		t.Fatal(err)
	}
	pointer, err := Decode[*thing](b)
	if err != nil {
		t.Fatal(err)
	}
	clear(b) // the results share no memory with it
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("struct (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&want, pointer); diff != "" {
		t.Errorf("pointer (-want +got):\n%s", diff)
	}
}

func TestDecodeIntoAMapKeepsEveryDigit(t *testing.T) {
	got, err := Decode[map[string]any]([]byte(`{"a":9223372036854775807,"b":1e400}`))
	want := map[string]any{"a": json.Number(fmt.Sprint(math.MaxInt64)), "b": json.Number("1e400")}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestDecodeReplacesInvalidUTF8(t *testing.T) {
	got, err := Decode[thing]([]byte("{\"name\":\"a\xff\xfe\",\"raw\":\"\xff\"}"))
	want := thing{Name: "a\ufffd\ufffd", Raw: json.RawMessage("\"\ufffd\"")}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

type picky struct{}

func (*picky) UnmarshalJSON(b []byte) error { return &pickyError{string(b)} }

type pickyError struct{ payload string }

func (e *pickyError) Error() string { return "refused " + e.payload }

type explosive struct{}

func (*explosive) UnmarshalJSON([]byte) error { panic("boom") }

func TestDecodeErrorsSayWhereAndNeverWhat(t *testing.T) {
	type outer struct {
		Spec struct {
			Replicas int32     `json:"replicas"`
			Names    []string  `json:"names"`
			When     time.Time `json:"when"`
			Picky    picky     `json:"picky"`
		} `json:"spec"`
	}
	tests := []struct{ name, in, want string }{
		{"string for a number", `{"spec":{"replicas":"hunter2"}}`, "decode spec.replicas: string into int32"},
		{"number too large", `{"spec":{"replicas":31337313373}}`, "decode spec.replicas: number into int32"},
		{"fraction", `{"spec":{"replicas":31337.5}}`, "decode spec.replicas: number into int32"},
		{"object for a list", `{"spec":{"names":{"hunter2":1}}}`, "decode spec.names: object into []string"},
		{"element", `{"spec":{"names":["hunter2",31337]}}`, "decode spec.names: number into string"},
		{"time", `{"spec":{"when":"hunter2"}}`, "decode into codec.outer: *time.ParseError"},
		{"own method", `{"spec":{"picky":"hunter2"}}`, "decode into codec.outer: *codec.pickyError"},
		{"array for the whole", `["hunter2"]`, "decode: array into codec.outer"},
		{"null", `null`, "decode: null into codec.outer"},
		{"cut", `{"spec":{"hunter2":`, "invalid JSON at byte 19: value expected"},
		{"HTML", `<hunter2>`, "invalid JSON at byte 0: value expected"},
		{"nothing", ``, "invalid JSON at byte 0: value expected"},
		{"two", `{} {"hunter2":1}`, "invalid JSON at byte 3: more than one value"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Decode[outer]([]byte(test.in))
			if err == nil || got.Spec.Names != nil || got.Spec.Replicas != 0 {
				t.Fatalf("got %+v, %v", got, err)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "31337") {
				t.Errorf("payload in %q", err)
			}
			if err.Error() != test.want {
				t.Errorf("got %q, want %q", err, test.want)
			}
		})
	}
}

func TestDecodeLimitsDepth(t *testing.T) {
	for _, n := range []int{MaxDepth, MaxDepth + 1, 1 << 20} {
		_, err := Decode[any]([]byte(strings.Repeat("[", n) + strings.Repeat("]", n)))
		if (err == nil) != (n <= MaxDepth) {
			t.Errorf("depth %d: %v", n, err)
		}
	}
}

func TestDecodeLetsAUsersPanicThrough(t *testing.T) {
	defer func() {
		if got := recover(); got != "boom" {
			t.Errorf("recovered %v", got)
		}
	}()
	Decode[struct{ A explosive }]([]byte(`{"A":1}`))
}

// wobbly panics inside json-iterator.
type wobbly struct{}

func (*wobbly) UnmarshalJSON([]byte) error {
	jsoniter.Get([]byte(`{}`), "x").MustBeValid()
	return nil
}

func TestDecodeTurnsAPanicOfJSONIteratorIntoAnError(t *testing.T) {
	_, err := Decode[struct{ A wobbly }]([]byte(`{"A":1}`))
	if want := "decode into struct: json-iterator panicked"; fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestDecoderOfRawIsParseRaw(t *testing.T) {
	if reflect.ValueOf(DecoderOf[Raw]()).Pointer() != reflect.ValueOf(ParseRaw).Pointer() {
		t.Error("another function")
	}
	nested, err := Decode[struct{ A []Raw }]([]byte(`{"A":[{"metadata":{"name":"a","managedFields":1}},null]}`))
	if err != nil || len(nested.A) != 2 || nested.A[0].JSON() != `{"metadata":{"name":"a"}}` || !nested.A[1].IsZero() {
		t.Errorf("got %v, %v", nested, err)
	}
}

func TestQuarantineNamesTheObject(t *testing.T) {
	object := []byte(`{"kind":"Pod","metadata":{"namespace":"n","name":"a"},"spec":"x"}`)
	_, err := Decode[pod8](object)
	err = fmt.Errorf("watch pods: %w", Quarantine(object, err))
	if want := `watch pods: Pod "n/a" of 65 bytes: decode spec: string into struct`; err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	var item *ItemError
	var decode *DecodeError
	if !errors.As(err, &item) || item.Identity.Name != "a" || !errors.As(err, &decode) {
		t.Errorf("got %+v", item)
	}
	broken := Quarantine([]byte(`{"kind":"\n","metadata":{"name":"a\n"},oops`), io.ErrUnexpectedEOF).Error()
	if want := `object "a\n" of 44 bytes: unexpected EOF`; broken != want {
		t.Errorf("got  %s\nwant %s", broken, want)
	}
}

func TestEncodeDoesNotEscapeHTML(t *testing.T) {
	got, err := Encode(map[string]any{"b": "<a & b>", "a": json.Number("9007199254740993")})
	if want := `{"a":9007199254740993,"b":"<a & b>"}`; string(got) != want || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := Encode(func() {}); err == nil {
		t.Error("a func was encoded")
	}
}

// plain is a type on which json-iterator and encoding/json are to agree.
type plain struct {
	Name   string            `json:"name"`
	Count  *int32            `json:"count"`
	Big    int64             `json:"big"`
	Small  uint8             `json:"small"`
	Ratio  float64           `json:"ratio"`
	On     bool              `json:"on"`
	Labels map[string]string `json:"labels"`
	Nested *plain            `json:"nested"`
	List   []plain           `json:"list"`
	Ints   []int             `json:"ints"`
	Any    any               `json:"any"`
	Raw    json.RawMessage   `json:"raw"`
}

func FuzzDecode(f *testing.F) {
	f.Add(podJSON(1))
	f.Add([]byte(`{"name":"a\u00e4\ud800","count":-3,"big":9007199254740993,"small":255,"ratio":1e-7,"on":false,"labels":{"a":null},"nested":{"list":[{}]},"ints":[1,null],"any":[1.0,{"a":1}],"raw":[ 1 ]}`))
	f.Add([]byte(`null x`))
	f.Add([]byte(`{"raw":null}`))
	f.Add([]byte(`{"name":null,"count":1.0,"list":null,"ints":{},"raw":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Decode[plain](b)
		if err != nil && strings.Contains(err.Error(), "panicked") {
			t.Fatal(err)
		}
		if valid := json.Valid(b); !valid {
			if syntax := (*SyntaxError)(nil); !errors.As(err, &syntax) {
				t.Fatalf("not a syntax error: %v", err)
			}
			return
		}
		if syntax := (*SyntaxError)(nil); errors.As(err, &syntax) {
			t.Fatalf("valid JSON: %v", err)
		}
		d := json.NewDecoder(strings.NewReader(string(b)))
		d.UseNumber()
		var want plain
		wantErr := d.Decode(&want)
		if oddity.Match(b) || foldedNames(b) || strings.TrimSpace(string(b)) == "null" {
			return
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("got %v, want %v", err, wantErr)
		}
		if err != nil {
			return
		}
		// json-iterator makes null a nil json.RawMessage.
		null := cmp.Comparer(func(x, y json.RawMessage) bool {
			return string(x) == string(y) || len(x) == 0 && string(y) == "null" || len(y) == 0 && string(x) == "null"
		})
		if diff := cmp.Diff(want, got, null); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// oddity matches surrogates and numbers beyond float64, where the two differ.
var oddity = regexp.MustCompile(`\\u[dD]|[eE]\+?[0-9]{3}`)

// foldedNames reports whether encoding/json may match a name only by folding.
func foldedNames(b []byte) bool {
	d := json.NewDecoder(strings.NewReader(string(b)))
	ours := map[string]bool{}
	for field := range reflect.TypeFor[plain]().Fields() {
		ours[field.Tag.Get("json")] = true
	}
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if s, ok := token.(string); ok && !ours[s] {
			for name := range ours {
				if strings.EqualFold(name, s) {
					return true
				}
			}
		}
	}
}

func TestDecodeAgreesWithEncodingJSONOnEveryTokenInEveryField(t *testing.T) {
	tokens := []string{
		`null`, `true`, `false`, `0`, `-0`, `1`, `-1`, `255`, `256`, `2147483647`, `2147483648`, `-2147483648`, `-2147483649`,
		`9223372036854775807`, `9223372036854775808`, `-9223372036854775808`, `-9223372036854775809`,
		`18446744073709551616`, `1.0`, `1.5`, `-0.0`, `1e2`, `1E+2`, `1e-2`, `1e400`, `-1e400`, `1e-400`, `0.1`, `123456789.123456789`,
		`""`, `"x"`, `"1"`, `"true"`, `"\u0041\n\/"`, `"\ud83d\ude00"`, `"\ud800"`, `"\udc00\ud800"`, `"\ud800\ud800\udc00"`, `"\ud800\u0041"`, `"AQI="`, `"é😀"`, `"\u2028\u0000"`,
		`[]`, `[ ]`, `[null]`, `[1]`, `[1.5]`, `["x"]`, `[{}]`, `[[]]`, `[1,"x",null,{"a":[]}]`,
		`{}`, `{ }`, `{"a":null}`, `{"a":1}`, `{"a":"b","a":"c"}`, `{"name":"n"}`, `{"name":1}`, `{"":""}`, `{"a":{"b":[1.0]}}`,
	}
	null := cmp.Comparer(func(x, y json.RawMessage) bool {
		return string(x) == string(y) || len(x) == 0 && string(y) == "null" || len(y) == 0 && string(x) == "null"
	})
	fields := []string{"unknown", "data", "number", "key", "pair", "pointer"}
	for field := range reflect.TypeFor[plain]().Fields() {
		fields = append(fields, field.Tag.Get("json"))
	}
	type wide struct {
		plain
		Data    []byte              `json:"data"`
		Number  json.Number         `json:"number"`
		Key     map[int]string      `json:"key"`
		Pair    [2]int              `json:"pair"`
		Pointer **string            `json:"pointer"`
		F32     float32             `json:"f32"`
		U64     uint64              `json:"u64"`
		Deep    map[string][]*plain `json:"deep"`
	}
	fields = append(fields, "f32", "u64", "deep")
	for _, field := range fields {
		for _, token := range tokens {
			if field == "number" && token[0] == '"' || strings.HasPrefix(token, `"\ud800\ud800`) || field == "raw" && strings.HasSuffix(token, "1e400") {
				continue // the documented differences
			}
			for _, form := range []string{`{%q:%s}`, ` { %q : %s } `, `{"x":1,%q:%s,"y":2}`} {
				body := fmt.Sprintf(form, field, token)
				d := json.NewDecoder(strings.NewReader(body))
				d.UseNumber()
				var want wide
				wantErr := d.Decode(&want)
				got, err := Decode[wide]([]byte(body))
				if (err == nil) != (wantErr == nil) {
					t.Errorf("%s: got %v, want %v", body, err, wantErr)
					continue
				}
				if err != nil {
					continue
				}
				if diff := cmp.Diff(want, got, null, cmp.AllowUnexported(wide{})); diff != "" {
					t.Errorf("%s (-want +got):\n%s", body, diff)
				}
			}
		}
	}
}

func TestDecodeSeesOnlyWhatTheTypeHolds(t *testing.T) {
	type embedded struct {
		E int `json:"e"`
	}
	type target struct {
		embedded
		A    int                 `json:"a"`
		Next *target             `json:"next"`
		List []struct{ X int }   `json:"list"`
		Map  map[string]embedded `json:"map"`
		Any  any                 `json:"any"`
		When time.Time           `json:"when"`
	}
	tests := []struct{ name, in, want string }{
		{"nothing to cut", `{"a":1,"list":[{"X":2}]}`, `{"a":1,"list":[{"X":2}]}`},
		{"first", `{"z":{"a":[1]},"a":1}`, `{"a":1}`},
		{"last", `{"a":1,"z":2}`, `{"a":1}`},
		{"all", `{"x":1,"y":2,"z":3}`, `{}`},
		{"in turns", `{"x":1,"a":2,"y":3,"y":4,"e":5,"z":6}`, `{"a":2,"e":5}`},
		{"in lists and maps", `{"list":[{"X":1,"y":2},{"y":3},null,4],"map":{"k":{"e":1,"f":2}}}`, `{"list":[{"X":1},{},null,4],"map":{"k":{"e":1}}}`},
		{"kept whole", `{"any":{"z":1},"when":{"z":1}}`, `{"any":{"z":1},"when":{"z":1}}`},
		{"in itself", `{"next":{"z":1,"next":{"a":1,"z":2}}}`, `{"next":{"next":{"a":1}}}`},
		{"letter case", `{"A":1,"a":2,"Z":3}`, `{"A":1,"a":2}`}, // A is the name of a field
		{"escapes and space", ` { "\u0061" : 1 , "z" : 2 } `, ` { "\u0061" : 1 } `},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := projector{parser: parser{b: []byte(test.in)}}
			p.value(shapeOf(reflect.TypeFor[target]()))
			p.end()
			if got := string(p.result()); got != test.want || p.err != nil {
				t.Errorf("got %s, %v; want %s", got, p.err, test.want)
			}
		})
	}
}

func TestDecodeIsSafeForManyGoroutines(t *testing.T) {
	decode := DecoderOf[pod8]()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				n := i*100 + j
				got, err := decode(podJSON(n))
				if want := fmt.Sprint(1000000 + n); err != nil || got.Metadata.ResourceVersion != want {
					t.Errorf("got %s, %v; want %s", got.Metadata.ResourceVersion, err, want)
				}
			}
		})
	}
	wg.Wait()
}

type embedsA struct {
	*embedsB
	*embedsA
	X int
}

type embedsB struct {
	*embedsA
	*embedsB
	Y int
}

func TestShapeOfTypesThatEmbedEachOtherEnds(t *testing.T) {
	s := shapeOf(reflect.TypeFor[embedsA]())
	if s.fields["X"] == nil || s.fields["Y"] == nil {
		t.Errorf("got %v", s.fields)
	}
}
