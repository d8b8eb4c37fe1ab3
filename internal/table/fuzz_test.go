package table

import (
	"encoding/json"
	"testing"

	"github.com/listwatch/listwatch/codec"
)

// FuzzOf: any row that a server sends is read: its columns, where it has some, its status
// and the text of its cells.
func FuzzOf(f *testing.F) {
	for _, text := range []string{
		`{"kind":"Table","columnDefinitions":[{"name":"Name","format":"name","priority":1}],"rows":[{"cells":["a",1,null,{"b":[]}]}]}`,
		`{"kind":"Table","rows":[{"cells":[1e999],"object":{"metadata":{"labels":{"\"columnDefinitions\":[":"x"}}}}]}`,
		`{"kind":"Table","columnDefinitions":[{"name":7}],"rows":[]}`,
		`{"kind":"Pod","status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]},"metadata":{"deletionTimestamp":"x"}}`,
		`{"status":{"conditions":{}},"spec":[]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := codec.ParseRaw(b)
		if err != nil {
			return
		}
		if c := Of(o); c != nil && len(*c) == 0 {
			t.Fatalf("no columns of %q", b)
		}
		_ = Status(o)
		var row struct {
			Rows []struct{ Cells []any }
		}
		if o.Decode(&row) != nil {
			return
		}
		for _, r := range row.Rows {
			for _, cell := range r.Cells {
				if text := Text(cell); text == "" && cell != nil && cell != "" && cell != json.Number("") {
					t.Fatalf("%#v has no text", cell)
				}
			}
		}
	})
}
