package webhook

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/listwatch/listwatch/codec"
)

// FuzzPatch: the patch from one object to another makes it that object, in the hands of
// the library that kube-apiserver uses.
func FuzzPatch(f *testing.F) {
	for _, pair := range [][2]string{
		{`{}`, `{"a":1}`}, {`{"a":{"b":[1,2,3]}}`, `{"a":{"b":[1]}}`}, {`{"a":[1]}`, `{"a":[2,3,{"x":null}]}`}, {`{"a":null}`, `{"a":{}}`},
		{`{"a/b~c":1,"":2}`, `{"a/b~c":2,"":{"":1}}`}, {`{"a":{"b":1}}`, `{"a":[1]}`}, {`{"n":12345678901234567890}`, `{"n":12345678901234567891}`},
	} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
	}
	f.Fuzz(func(t *testing.T, from, to []byte) {
		if !json.Valid(from) || !json.Valid(to) {
			return
		}
		patch, err := patchOf(from, to)
		if err != nil {
			return // it is no object
		}
		p, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			t.Fatalf("%s: %v", patch, err)
		}
		got, err := p.Apply(from)
		if err != nil {
			t.Fatalf("%s to %s by %s: %v", from, to, patch, err)
		}
		want, err := codec.Decode[map[string]any](to)
		if err != nil {
			t.Fatal(err)
		}
		have, err := codec.Decode[map[string]any](got)
		if err != nil {
			t.Fatal(err)
		}
		if rest := differences(nil, "", have, want); len(rest) > 0 {
			t.Fatalf("%s to %s by %s is %s", from, to, patch, got)
		}
	})
}
