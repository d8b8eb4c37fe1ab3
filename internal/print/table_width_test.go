package print

import (
	"strings"
	"testing"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/table"
	"github.com/listwatch/listwatch/kube"
)

// TestALongCellDoesNotWidenEveryRow: 1 MB in one cell would be 1 MB of spaces in each of
// the other rows.
func TestALongCellDoesNotWidenEveryRow(t *testing.T) {
	row := func(cell string) *record.Record {
		raw, err := codec.ParseRaw([]byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["a","` + cell + `","end"]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		return &record.Record{Type: "ADDED", Resource: kube.Pods, Object: raw, Columns: &table.Columns{{Name: "Name", Format: "name"}, {Name: "Text"}, {Name: "End"}}}
	}
	enc := NewTable(&Format{List: true, Headers: true})
	long := strings.Repeat("x", 1<<20)
	var b []byte
	for i, cell := range append([]string{"b", long}, make([]string, 100)...) {
		var err error
		if b, err = enc.Encode(b, row(cell)); err != nil {
			t.Fatal(i, err)
		}
	}
	b = enc.Flush(b)
	if limit := len(long) + 102*(maxAligned+100); len(b) > limit {
		t.Errorf("%d bytes, want at most %d", len(b), limit)
	}
	if !strings.Contains(string(b), "\na      "+long+"   end\n") {
		t.Error("the long row is not whole, or its cells are not apart")
	}
	many := make(table.Columns, 300_000)
	r := row("b")
	r.Columns = &many
	if b, err := enc.Encode(nil, r); err != nil || len(enc.Flush(b)) > 1<<20 {
		t.Errorf("%d columns: %v", len(many), err)
	}
}
