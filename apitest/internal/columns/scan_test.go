package columns

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzParts: the members of an object and the elements of an array are those
// that encoding/json finds; nothing makes it panic.
func FuzzParts(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":[1,{"c":"]}\"\\"}],"":null}`, ` [ "x" , {} , [ ] , -1.5e3 , true ] `, `{}`, `[]`, `{"a`, `{"a":`, `[1`, `]`, `{"a" : "b\\" }`, `{:}`, `[,]`, `{"a":"x\",","b":1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		type part struct{ name, value string }
		var got []part
		for name, value := range Parts(b) {
			got = append(got, part{string(name), string(value)})
		}
		if !json.Valid(b) {
			return
		}
		var want []part
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.UseNumber() // 1e700 is JSON, and no float64
		start, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		if start == json.Delim('{') || start == json.Delim('[') {
			for dec.More() {
				var p part
				if start == json.Delim('{') {
					before := dec.InputOffset()
					if _, err := dec.Token(); err != nil {
						t.Fatal(err)
					}
					name := b[before:dec.InputOffset()]
					p.name = string(name[bytes.IndexByte(name, '"')+1 : len(name)-1])
				}
				var raw json.RawMessage
				if err := dec.Decode(&raw); err != nil {
					t.Fatal(err)
				}
				p.value = string(raw)
				want = append(want, p)
			}
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(part{})); diff != "" {
			t.Errorf("%s: %s", b, diff)
		}
	})
}
