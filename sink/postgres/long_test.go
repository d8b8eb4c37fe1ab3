package postgres_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/sink"
)

// TestWhatIsCommittedIsReadAgain, although jsonb writes a number with all its digits: the first
// object, which etcd can hold, as 68 MB.
func TestWhatIsCommittedIsReadAgain(t *testing.T) {
	numbers := func(name, number string, n int) sink.Record {
		object := `{"e":"1e131071 \" ,1e131071","spec":[` + strings.TrimSuffix(strings.Repeat(number+",", n), ",") + `]}`
		return sink.Record{ID: name, Type: sink.Added, Cluster: "c", Resource: "configmaps", Shard: 1, Namespace: "default", Name: name, UID: name, Revision: "1",
			Epoch: 1, APIVersion: "v1", Kind: "ConfigMap", Phase: sink.Loading, Time: time.Unix(1, 0).UTC(), Object: json.RawMessage(object)}
	}
	records := []sink.Record{numbers("a", "1e+308", 220_000), numbers("b", "1E131071", 2_000), numbers("c", "1e-7", 10)}
	rows, history := stored(t, sink.ModeBoth, records, len(records))
	if len(rows) != 3 || len(history) != 3 {
		t.Fatalf("%d rows, a history of %d records, want 3 and 3", len(rows), len(history))
	}
	for i, row := range rows {
		bad := row.Name == "b"
		if (row.Object == nil) != bad || (row.Quarantined != "") != bad || (history[i].Type == sink.Quarantined) != bad {
			t.Errorf("%s: %d bytes, quarantined %q, type %s", row.Name, len(row.Object), row.Quarantined, history[i].Type)
		}
	}
	if n := len(rows[0].Object); n <= 64<<20 {
		t.Errorf("%d bytes", n)
	}
	if want := "jsonb would write more than 224 MiB"; rows[1].Quarantined != want {
		t.Errorf("quarantined %q, want %q", rows[1].Quarantined, want)
	}
}
