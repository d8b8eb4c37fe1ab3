package codec_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/codec"
)

type (
	byPointer struct{ S string }
	upper     string // a string, so that encoding/json writes it as it is where it is a key
	pair      struct{ A, B string }
	holder    struct{ Value byPointer }
)

func (p *byPointer) MarshalJSON() ([]byte, error) { return []byte(`"` + p.S + `"`), nil }
func (p *byPointer) UnmarshalJSON(b []byte) error {
	p.S = strings.Trim(string(b), `"`)
	return nil
}

func (u upper) MarshalText() ([]byte, error) { return []byte(strings.ToLower(string(u))), nil }
func (u *upper) UnmarshalText(b []byte) error {
	*u = upper(strings.ToUpper(string(b)))
	return nil
}

func (p *pair) MarshalText() ([]byte, error) { return []byte(p.A + "/" + p.B), nil }
func (p *pair) UnmarshalText(b []byte) error {
	p.A, p.B, _ = strings.Cut(string(b), "/")
	return nil
}

// TestShapeKnowsWhatAnEncoderCalls: encoding/json calls no method of a pointer of what a
// map holds, and its keys are not any value. What it then writes is not what is read.
func TestShapeKnowsWhatAnEncoderCalls(t *testing.T) {
	carried[byPointer](t)
	carried[holder](t)
	carried[struct {
		A [2]byPointer
		B []holder
		C map[string]*byPointer
		D map[string][]byPointer
		E map[string]*holder
		F map[netip.Addr]int
		G map[int8]upper
		H map[string]any
	}](t)
	refused[map[string]byPointer](t, "is in a map, where the encoder does not call its json.Marshaler: declare the method on the value type")
	refused[map[string]holder](t, "map[string]codec_test.holder.Value is in a map, where the encoder does not call its json.Marshaler")
	refused[map[string][1]byPointer](t, "where the encoder does not call its json.Marshaler")
	refused[struct {
		A holder
		B map[string]holder
	}](t, ".B.Value is in a map")
	refused[map[string]pair](t, "where the encoder does not call its encoding.TextMarshaler")
	refused[map[pair]int](t, "key has only one of encoding.TextMarshaler and encoding.TextUnmarshaler that encoding/json calls")
	refused[map[upper]int](t, "key has only one of")
	refused[map[bool]int](t, "key is a bool")
	refused[map[float64]int](t, "key is a float64")
	refused[map[any]int](t, "key is a interface")
	refused[map[[2]int]int](t, "key is a array")
}

func carried[T any](t *testing.T) {
	t.Helper()
	if _, err := codec.Shape[T](); err != nil {
		t.Error(err)
	}
}

func refused[T any](t *testing.T, want string) {
	t.Helper()
	if shape, err := codec.Shape[T](); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s, %v; want an error with %q", shape, err, want)
	}
}
