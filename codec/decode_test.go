package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
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
	type inlined struct {
		Count int `json:"count"`
	}
	type outer struct {
		inlined
		Spec struct {
			*inlined
			Replicas int32     `json:"replicas"`
			Names    []string  `json:"names"`
			When     time.Time `json:"when"`
			Picky    picky     `json:"picky"`
		} `json:"spec"`
	}
	tests := []struct{ name, in, want string }{
		{"string for a number", `{"spec":{"replicas":"hunter2"}}`, "decode spec.replicas: string into int32"},
		{"of an embedded struct", `{"count":"hunter2"}`, "decode count: string into int"},
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
	if want := "object \"a\ufffd\ufffd\" of 43 bytes: unexpected EOF"; broken != want {
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

// wrapped is made of a Raw; wrongly is not, its method being of another type.
type (
	wrapped struct{ inner Raw }
	wrongly struct {
		Kind string `json:"kind"`
	}
)

func (wrapped) FromRaw(r Raw) wrapped { return wrapped{r} }
func (wrongly) FromRaw(r Raw) wrapped { return wrapped{r} }

func TestDecodeLetsATypeBeMadeOfARaw(t *testing.T) {
	const object = `{"kind":"Pod","metadata":{"name":"a","managedFields":[{}]}, "n": 1}`
	raw, err := ParseRaw([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	decode := DecoderOf[wrapped]()
	if got, err := decode([]byte(object)); err != nil || got != (wrapped{raw}) {
		t.Errorf("got %q, %v; want %q", got.inner.JSON(), err, raw.JSON())
	}
	for _, bad := range []string{``, `null`, `[]`, `{"kind":1}`, `{"kind":"Pod"`} {
		_, want := ParseRaw([]byte(bad))
		if got, err := decode([]byte(bad)); got != (wrapped{}) || !reflect.DeepEqual(err, want) {
			t.Errorf("%s: got %v, %v; want the error %v", bad, got, err, want)
		}
	}
	tight := []byte(raw.JSON())
	if n := testing.AllocsPerRun(100, func() { _, _ = decode(tight) }); n != 1 {
		t.Errorf("%v allocations, want that of ParseRaw", n)
	}
	if got, err := Decode[wrongly]([]byte(object)); err != nil || got != (wrongly{"Pod"}) {
		t.Errorf("got %v, %v; want it decoded", got, err)
	}
}
