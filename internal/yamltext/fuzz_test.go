package yamltext

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/internal/yamljson"
)

// FuzzOf: a YAML parser reads the text as the JSON that it was; a limited one is its
// beginning, in whole lines.
func FuzzOf(f *testing.F) {
	for _, text := range []string{
		`{"a":{"b":[1,2.50,"x",null,true,[],{}]},"":"","~":"null"}`, `{"a":"on","b":"1e3","c":"0x1","d":"2020-01-01","e":"- x","f":"a: b","g":"#"}`,
		"{\"a\":\"one\\ntwo\\n\",\"b\":\"\\u0000\\u2028\\ufeff\",\"c\":\"\\t x \"}", `{"a":[[["x"],{"b":[{}]}]],"<<":"=","y":1e400}`,
	} {
		f.Add([]byte(text), 10)
	}
	f.Fuzz(func(t *testing.T, b []byte, limit int) {
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.UseNumber()
		var want map[string]any
		if err := dec.Decode(&want); err != nil || !json.Valid(b) || len(b) > 4<<10 {
			return
		}
		if b, _ = json.Marshal(want); bytes.Contains(b, []byte(`\ufffd`)) { // no member occurs twice
			return
		}
		text, truncated, err := Of(b, 1<<20)
		if err != nil || truncated {
			t.Fatalf("%s: truncated %t, %v", b, truncated, err)
		}
		got, err := yamljson.NewDecoder([]byte(text), yamljson.Limits{}).Value()
		if err != nil {
			t.Fatalf("%s\nis\n%s\n%v", b, text, err)
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var x, y any // numbers are compared by value
		if json.Unmarshal(b, &x) != nil || json.Unmarshal(again, &y) != nil {
			return // one that a float64 does not have
		}
		if diff := cmp.Diff(x, y); diff != "" {
			t.Fatalf("%s\nis\n%s\n(-want +got):\n%s", b, text, diff)
		}
		if limit < 0 || limit > len(text) {
			return
		}
		part, truncated, err := Of(b, limit)
		if err != nil || len(part) > limit || !strings.HasPrefix(text, part) || part != text && (!truncated || part != "" && part[len(part)-1] != '\n') {
			t.Fatalf("%s within %d bytes: %q, truncated %t, %v", b, limit, part, truncated, err)
		}
	})
}
