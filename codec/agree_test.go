package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// oddity matches surrogates, where the two differ.
var oddity = regexp.MustCompile(`\\u[dD]`)

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
			if strings.HasPrefix(token, `"\ud800\ud800`) {
				continue // the documented difference
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
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(wide{})); diff != "" {
					t.Errorf("%s (-want +got):\n%s", body, diff)
				}
			}
		}
	}
}
