package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/kube"
)

// TestDecodeLimitsTheMemoryOfAnObject: small JSON does not make a large value.
func TestDecodeLimitsTheMemoryOfAnObject(t *testing.T) {
	const n = 3 << 20
	type large struct {
		Containers []struct {
			Space [100]int64 `json:"space"`
		} `json:"containers"`
		Pointers []*[100]int64 `json:"pointers"`
		Free     any           `json:"free"`
		Raw      []Raw         `json:"raw"`
		Maps     []map[string]string
	}
	tests := []struct {
		name   string
		decode func([]byte) error
		in     string
	}{
		{"structs", decodesInto[large](), `{"containers":[` + strings.Repeat("{},", n) + `{}]}`},
		{"pointers", decodesInto[large](), `{"pointers":[` + strings.Repeat("[],", n) + `[]]}`},
		{"owner references", decodesInto[kube.Partial](), `{"metadata":{"ownerReferences":[` + strings.Repeat("{},", n) + `{}]}}`},
		{"an interface, of lists", decodesInto[large](), `{"free":[` + strings.Repeat("[],", n) + `[]]}`},
		{"an interface, of numbers", decodesInto[large](), `{"free":[` + strings.Repeat("1,", n) + `1]}`},
		{"a map", decodesInto[map[string]any](), `{"free":[` + strings.Repeat("{},", n) + `{}]}`},
		{"maps", decodesInto[large](), `{"Maps":[` + strings.Repeat(`{"a":""},`, n/4) + `{}]}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			in := []byte(test.in)
			runtime.ReadMemStats(&before)
			err := test.decode(in)
			runtime.ReadMemStats(&after)
			if limit := (*LimitError)(nil); !errors.As(err, &limit) {
				t.Errorf("got %v, want a limit", err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
				t.Errorf("%d bytes for an error", took)
			}
		})
	}
}

func decodesInto[T any]() func([]byte) error {
	return func(b []byte) error {
		_, err := Decode[T](b)
		return err
	}
}

// TestInvalidUTF8OfALargeObjectIsRefused: replaced, it would be three times as large.
func TestInvalidUTF8OfALargeObjectIsRefused(t *testing.T) {
	object := func(n int) []byte {
		return []byte(`{"metadata":{"name":"a","annotations":{"a":"` + strings.Repeat("\xff", n) + `"}}}`)
	}
	for _, decode := range []func([]byte) error{decodesInto[kube.Partial](), decodesInto[Raw](), decodesInto[map[string]any]()} {
		if err := decode(object(1000)); err != nil {
			t.Error(err)
		}
		if syntax := (*SyntaxError)(nil); !errors.As(decode(object(1<<20)), &syntax) {
			t.Error("a large one is taken")
		}
	}
	if bad := Quarantine(object(1<<20), errors.New("x")); bad.Identity.Name != "a" {
		t.Errorf("quarantined as %+v", bad.Identity)
	}
}

// TestDecodeTakesLargeObjects: what is large itself is no reason to refuse it.
func TestDecodeTakesLargeObjects(t *testing.T) {
	long := strings.Repeat("x", 8<<20)
	var labels []string
	for i := range 100_000 {
		labels = append(labels, fmt.Sprintf(`"label-%d":"%d"`, i, i))
	}
	for name, err := range map[string]error{
		"an annotation": decodesInto[kube.Partial]()([]byte(`{"metadata":{"annotations":{"a":"` + long + `"}}}`)),
		"many labels":   decodesInto[kube.Partial]()([]byte(`{"metadata":{"labels":{` + strings.Join(labels, ",") + `}}}`)),
		"not decoded":   decodesInto[kube.Partial]()([]byte(`{"spec":[` + strings.Repeat("{},", 3<<20) + `{}]}`)),
		"a map":         decodesInto[map[string]any]()([]byte(`{"a":{` + strings.Join(labels, ",") + `},"b":"` + long + `"}`)),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRawMessagesWeighTheirText: they are not decoded, as the objects of a ConversionReview.
func TestRawMessagesWeighTheirText(t *testing.T) {
	b := []byte(`{"objects":[` + strings.Repeat(`{"a":1,"b":2},`, 300_000) + `{}]}`)
	o, err := Decode[struct {
		Objects []json.RawMessage `json:"objects"`
	}](b)
	if len(o.Objects) != 300_001 || err != nil {
		t.Errorf("%d objects, %v", len(o.Objects), err)
	}
	if _, err := Decode[struct {
		Objects []any `json:"objects"`
	}](b); err == nil {
		t.Error("decoded objects are not weighed")
	}
}

// TestWeightIsNoLessThanTheMemory: compared with SizerOf, for what is decoded.
func TestWeightIsNoLessThanTheMemory(t *testing.T) {
	pod := podJSON(1)
	weighs(t, pod, kube.Partial{})
	weighs(t, pod, pod8{})
	weighs(t, pod, map[string]any{})
	weighs(t, []byte(small), embeds{})
}

func weighs[T any](t *testing.T, b []byte, _ T) {
	t.Helper()
	v, err := Decode[T](b)
	if err != nil {
		t.Fatal(err)
	}
	s := weigher{parser: parser{b: b}}
	s.value(weightOf(reflect.TypeFor[T](), map[reflect.Type]*weight{}))
	size := SizerOf[T]()(v) - int(reflect.TypeFor[T]().Size())
	if s.sum < size*3/4 || s.sum > 5*size+1000 || s.err != nil {
		t.Errorf("%T: estimated at %d bytes, takes %d; %v", v, s.sum, size, s.err)
	}
}
