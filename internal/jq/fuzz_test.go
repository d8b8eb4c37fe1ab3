package jq_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/jq"
)

// endless are what filters are made of that take all the time or memory that they get.
var endless = regexp.MustCompile(`def|repeat|range|while|until|recurse|\.\.|limit|\*|reduce|foreach|combinations|[0-9]{5}|e[0-9]`)

// FuzzFilter: what a filter prints of an object has no more bytes than were asked for, and
// is nothing after an error; as a condition it is true or false, or the same error.
func FuzzFilter(f *testing.F) {
	object := `{"metadata":{"name":"a","labels":{"x":"1"}},"spec":{"replicas":12345678901234567890,"list":[1,2.5,null]},"text":"\u0000\ud800"}`
	for _, text := range []string{".", ".metadata.name", ".spec.list[]", ".text|test(\"(a+)+$\")", "@json", "@base64d", "input", "env.PATH", "$ENV", "[.,.]|tojson", "getpath([\"a\",1])", "to_entries", "limit(3;.)", "error", "halt_error", "splits(\"a\")", "ascii", "now|todate", "ltrimstr(1)", "tojson|fromjson", ".[1:2]=3", "input_filename", "$__prog_args"} {
		f.Add(text, object)
	}
	f.Fuzz(func(t *testing.T, text, object string) {
		var v map[string]any
		if json.Unmarshal([]byte(object), &v) != nil || endless.MatchString(text) {
			return
		}
		code, err := jq.JQCode(text)
		if err != nil {
			return
		}
		const most = 4 << 10
		var over *codec.LimitError
		out, err := jq.AppendJQ(nil, []byte("before"), code, v, most, time.Minute)
		switch {
		case err != nil && string(out) != "before":
			t.Fatalf("%d bytes beside %v", len(out), err)
		case len(out) > most+len("before")+1:
			t.Fatalf("%d bytes", len(out))
		}
		if _, failed := jq.True(nil, code, jq.JQValue(v)); failed != nil && err == nil {
			t.Fatalf("as a condition: %v", failed)
		} else if errors.As(failed, &over) {
			t.Fatalf("a condition has a limit of bytes: %v", failed)
		}
	})
}
