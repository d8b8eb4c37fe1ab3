package webhook

import (
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/listwatch/listwatch/codec"
)

// FuzzPatch: the patch from one object to another makes it that object, when a library
// applies it. The library takes an empty name in a path for the object that is there; RFC
// 6901 and the version that kube-apiserver uses do not, see TestPatchOfEmptyNames.
func FuzzPatch(f *testing.F) {
	for _, pair := range [][2]string{
		{`{}`, `{"a":1}`}, {`{"a":{"b":[1,2,3]}}`, `{"a":{"b":[1]}}`}, {`{"a":[1]}`, `{"a":[2,3,{"x":null}]}`}, {`{"a":null}`, `{"a":{}}`},
		{`{"a/b~c":1,"x":2}`, `{"a/b~c":2,"x":{"y":1}}`}, {`{"a":{"b":1}}`, `{"a":[1]}`}, {`{"n":12345678901234567890}`, `{"n":12345678901234567891}`},
		{`{"":1E700}`, `{}`}, {`{"n":1E700}`, `{"n":[1E700]}`},
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
		if emptyNames(t, from) || emptyNames(t, to) {
			return
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

// emptyNames reports whether an object has a member without a name.
func emptyNames(t *testing.T, object []byte) bool {
	v, err := codec.Decode[any](object) // a number may be larger than a float64
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(b), `"":`)
}

// TestPatchOfEmptyNames: the pointer of a member without a name ends in a slash, RFC 6901.
func TestPatchOfEmptyNames(t *testing.T) {
	got, err := patchOf([]byte(`{"0":{"":[0,0,0]},"":1}`), []byte(`{"0":{"":[0]},"":2}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"op":"replace","path":"/","value":2},{"op":"remove","path":"/0//2"},{"op":"remove","path":"/0//1"}]`; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
