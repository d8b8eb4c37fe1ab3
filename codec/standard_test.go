package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type (
	taggedInside struct {
		Deep string `json:"a"`
		B    string `json:"b"`
	}
	both      struct{ X, Y int }
	overruled struct {
		taggedInside
		*both
		A string // hides the tagged one, which is embedded deeper, only if it had its name
		X string // hides both.X
		Y int    `json:"a"` // hides taggedInside.Deep
	}
	untaggedOutside struct {
		taggedInside
		Out string
	}
	ambiguous struct {
		taggedInside
		Other struct {
			B int `json:"b"`
		}
		twin
		double
	}
	lowly      struct{ Deep string }
	namedInner struct {
		lowly `json:"spec"`
		Out   *struct {
			lowly `json:"spec"`
		} `json:"out"`
	}
	twin    struct{ Out int }
	double  struct{ Out string }
	numbers struct {
		Raw    json.RawMessage            `json:"raw"`
		Raws   map[string]json.RawMessage `json:"raws"`
		Number json.Number                `json:"number"`
	}
	byNumber struct {
		Int  map[int]string     `json:"int"`
		Tiny map[uint8]string   `json:"tiny"`
		Addr map[netip.Addr]int `json:"addr"`
	}
	inStrings struct {
		Int   int     `json:"int,string"`
		Ptr   *int    `json:"ptr,string"`
		Bool  bool    `json:"bool,string"`
		Str   string  `json:"str,string"`
		Float float64 `json:"float,string"`
		//lint:ignore SA5008 the option is ignored, as encoding/json does
		Slice []int `json:"slice,string"`
	}
	lower string
	texts struct {
		Lower lower                 `json:"lower"`
		Addr  netip.Addr            `json:"addr"`
		Ptr   *netip.Addr           `json:"ptr"`
		Addrs []netip.Addr          `json:"addrs"`
		Map   map[string]netip.Addr `json:"map"`
	}
	merged struct {
		Map    map[string]int    `json:"map"`
		Deep   map[string]both   `json:"deep"`
		Struct both              `json:"struct"`
		Slice  []both            `json:"slice"`
		Text   map[string]string `json:"text"`
	}
)

// UnmarshalText refuses the empty text.
func (l *lower) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return errors.New("empty")
	}
	*l = lower(strings.ToLower(string(b)))
	return nil
}

// asStandard compares Decode with encoding/json on JSON whose names are exact.
func asStandard[T any](t *testing.T, b string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(b))
	d.UseNumber()
	var want T
	wantErr := d.Decode(&want)
	got, err := Decode[T]([]byte(b))
	switch {
	case (err == nil) != (wantErr == nil):
		t.Errorf("%T of %s: error %v, want %v", want, b, err, wantErr)
	case err == nil && !reflect.DeepEqual(got, want):
		t.Errorf("%T of %s (-want +got):\n%s", want, b, cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got)))
	}
}

// TestDecodeIsAsEncodingJSONOnUnusualTypes: where json-iterator differs it does not
// decode.
func TestDecodeIsAsEncodingJSONOnUnusualTypes(t *testing.T) {
	tokens := []string{
		`null`, `true`, `0`, `7`, `1.5`, `1e400`, `-1e999`, `1e-400`, `123456789012345678901234567890`, `""`, `"null"`, `"7"`, `" 7"`, `"07"`, `"+7"`, `"7.0"`, `"x"`, `"true"`, `"\"x\""`,
		`"10.0.0.1"`, `"::1"`, `[]`, `[null]`, `["10.0.0.1",null]`, `[1e400]`, `[{"X":1}]`, `[{"Y":2},null,{"X":3}]`, `{}`, `{"a":null}`, `{"a":"10.0.0.1","b":null}`, `{"a":1e400}`,
		`{"7":"a"}`, `{"07":"a"}`, `{" 7":"a"}`, `{"null":"a"}`, `{"+7":"a"}`, `{"256":"a"}`, `{"-1":"a"}`, `{"7":null}`, `{"10.0.0.1":1}`, `{"":1}`, `{"X":1,"Y":2}`, `{"a":1,"b":2}`, `{"a":{"X":1}}`,
		`{"a":{"X":1},"a":{"Y":2}}`,
	}
	for _, token := range tokens {
		for _, name := range []string{"a", "b", "A", "X", "Y", "Out", "Other", "Deep", "B"} {
			b := fmt.Sprintf(`{%q:%s}`, name, token)
			if name != "A" && name != "B" && name != "Deep" { // encoding/json ignores letter case
				asStandard[ambiguous](t, b)
			}
			if name != "B" && name != "A" && name != "Deep" {
				asStandard[untaggedOutside](t, b)
			}
			if name != "B" && name != "Deep" && name != "b" {
				asStandard[overruled](t, b)
			}
		}
		for _, name := range []string{"raw", "raws", "number"} {
			asStandard[numbers](t, fmt.Sprintf(`{%q:%s}`, name, token))
		}
		for _, name := range []string{"int", "tiny", "addr"} {
			asStandard[byNumber](t, fmt.Sprintf(`{%q:%s}`, name, token))
		}
		for _, name := range []string{"int", "ptr", "bool", "str", "float", "slice"} {
			asStandard[inStrings](t, fmt.Sprintf(`{%q:%s}`, name, token))
		}
		for _, name := range []string{"lower", "addr", "ptr", "addrs", "map"} {
			asStandard[texts](t, fmt.Sprintf(`{%q:%s}`, name, token))
		}
		for _, name := range []string{"map", "deep", "struct", "slice", "text"} {
			for _, second := range tokens {
				asStandard[merged](t, fmt.Sprintf(`{%q:%s,%[1]q:%s}`, name, token, second))
			}
		}
	}
}

// TestDecodeFillsAnUnexportedStructThatIsEmbeddedUnderAName: json-iterator leaves it out.
func TestDecodeFillsAnUnexportedStructThatIsEmbeddedUnderAName(t *testing.T) {
	for _, b := range []string{
		`{"spec":{"Deep":"a"}}`, `{"spec":null}`, `{"spec":{"Deep":1}}`, `{"spec":[]}`, `{"out":{"spec":{"Deep":"a"}}}`, `{"Deep":"a"}`,
	} {
		asStandard[namedInner](t, b)
		asStandard[map[string]namedInner](t, `{"a":`+b+`}`)
	}
	known, err := Known[namedInner]([]byte(`{"spec":{"Deep":"a","x":1},"Deep":"b"}`))
	if diff := cmp.Diff(`{"spec":{"Deep":"a"}}`, string(known)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestDecodeIgnoresANameThatATagMustNotHave, as encoding/json does.
func TestDecodeIgnoresANameThatATagMustNotHave(t *testing.T) {
	type odd struct {
		Plain string `json:"plain"`
		//lint:ignore SA5008 the name is ignored, as encoding/json does
		Quote   int `json:"it's,omitempty"`
		Escaped struct {
			//lint:ignore SA5008 the same
			Deep int `json:"a\\b"`
		} `json:"ok!"`
	}
	for _, b := range []string{
		`{"Quote":1,"plain":"a"}`, `{"it's":1}`, `{"Quote":"x"}`, `{"ok!":{"Deep":1}}`, `{"ok!":{"a\\b":1}}`, `{"Escaped":{"Deep":1}}`,
	} {
		asStandard[odd](t, b)
		asStandard[map[string]odd](t, `{"a":`+b+`}`)
	}
}

// TestArrayIsNeverFilledBeyondItsEnd: json-iterator writes the first element of an
// array that has none into the memory behind it, and leaves what a second member of the
// same name does not fill.
func TestArrayIsNeverFilledBeyondItsEnd(t *testing.T) {
	type arrays struct {
		None   [0]int64          `json:"none"`
		Behind int64             `json:"behind"`
		Deep   map[string][0]any `json:"deep"`
		Two    [2]*int           `json:"two"`
		Nested [2][2]both        `json:"nested"`
		Bytes  [2]byte           `json:"bytes"`
		List   [][1]string       `json:"list"`
	}
	for _, b := range []string{
		`{"none":[]}`, `{"none":[77]}`, `{"behind":1,"none":[77,78]}`, `{"none":[77],"none":null}`, `{"none":"x"}`, `{"none":["x"]}`, `{"deep":{"a":[[1]],"b":[null]}}`,
		`{"two":[1,2],"two":[3]}`, `{"two":[1,2],"two":[]}`, `{"two":[1,2,3]}`, `{"two":[1,2],"two":null}`, `{"two":[1,2,"x"]}`,
		`{"nested":[[{"X":1},{"X":2}],[{"X":3}]],"nested":[[{"Y":4}]]}`, `{"bytes":[1,2],"bytes":[3]}`, `{"bytes":"AQI="}`, `{"list":[["a","b"],[],["c"]]}`,
	} {
		asStandard[arrays](t, b)
		asStandard[struct{ Inner *arrays }](t, `{"Inner":`+b+`}`)
	}
}

func TestFieldsOf(t *testing.T) {
	type depth2 struct {
		taggedInside
		Deep int
	}
	for _, test := range []struct {
		t    reflect.Type
		want string
	}{
		{reflect.TypeFor[taggedInside](), "a b"},
		{reflect.TypeFor[overruled](), "A X Y a b"},
		{reflect.TypeFor[untaggedOutside](), "Out a b"},
		{reflect.TypeFor[ambiguous](), "Other a b"},
		{reflect.TypeFor[depth2](), "Deep a b"},
		{reflect.TypeFor[shadowed](), "A B c inlined"},
	} {
		var names []string
		fields, _ := fieldsOf(test.t)
		for _, f := range fields {
			names = append(names, f.name)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%s: %q, want %q", test.t, got, test.want)
		}
	}
}
