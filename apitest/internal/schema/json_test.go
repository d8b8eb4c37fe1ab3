package schema_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest/internal/schema"
)

// texts are JSON, and what nearly is.
var texts = []string{
	`{}`, `[]`, `""`, `0`, `-0`, `1.5e+3`, `1E-7`, `1e400`, `-`, `01`, `1.`, `.5`, `1e`, `1e+`, `+1`, `tru`, `true`, `false`, `null`, `nul`, `NaN`,
	` { "a" : [ 1 , 2 , { } ] , "b" : null } `, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{a:1}`, `[1,]`, `[,]`, `[1 2]`, `{"a":1 "b":2}`, `{}{}`, `{} x`, ``, ` `,
	`"a\"b"`, `"\u00e9\ud83d\ude00"`, `"\u00g0"`, `"\u12`, `"\`, `"\x"`, "\"\x01\"", "\"\x7f\xff\"", `"é"`, "\"\u2028<>&\"", `"\ud800"`, `"unfinished`,
	"{\"k:{\\\"name\\\":\\\"a\\\"}\":{}}", `9223372036854775807`, `9223372036854775808`, `-9223372036854775808`, `1e21`, `1e-7`, `123456789.25`, `100000000000000000000000`,
	strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
	strings.Repeat(`{"a":`, 10_001) + "1" + strings.Repeat("}", 10_001), strings.Repeat(`[`, 200) + `{"a":[]}` + strings.Repeat("]", 200),
}

// FuzzText: what is JSON, and how it is written, is as encoding/json has it.
func FuzzText(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if want, got := json.Valid([]byte(text)), schema.Valid([]byte(text)); got != want {
			t.Fatalf("valid: %t, want %t", got, want)
		}
		v, err := schema.Decode([]byte(text))
		if err != nil {
			return
		}
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := schema.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("encoded (-want +got):\n%s", diff)
		}
	})
}

func TestEncodeRefusesWhatIsNoNumber(t *testing.T) {
	if b, err := schema.Encode(map[string]any{"a": []any{math.NaN()}}); err == nil {
		t.Errorf("got %s", b)
	}
}
