package until_test

import (
	"testing"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/until"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// TestFailOnCountWaitsForTheFirstList: a number of objects is compared when all are known,
// also if there are none.
func TestFailOnCountWaitsForTheFirstList(t *testing.T) {
	t.Parallel()
	pod := func(typ watch.Type, name string) record.Record {
		o, err := codec.ParseRaw([]byte(`{"metadata":{"namespace":"shop","name":"` + name + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		return record.Record{Type: string(typ), Resource: kube.Pods, ID: codec.Identity{Namespace: "shop", Name: name}, Object: o}
	}
	synced := record.Record{Type: string(watch.Synced)}
	a, b := pod(watch.Added, "a"), pod(watch.Added, "b")
	for _, tt := range []struct {
		condition string
		records   []record.Record
		ends      int // with this record; -1 = never
		want      string
	}{
		{"count<2", []record.Record{a, b, synced}, -1, ""},
		{"count=1", []record.Record{a, b, synced}, -1, ""},
		{"count!=2", []record.Record{a, b, synced, pod(watch.Deleted, "a")}, 3, "--fail-on count!=2: pod/a"},
		{"count>1", []record.Record{a, b, synced}, 2, "--fail-on count>1: there are 2"},
		{"count>1", []record.Record{a, synced, b}, 2, "--fail-on count>1: pod/b"},
		{"count=0", []record.Record{synced}, 0, "--fail-on count=0: there are 0"},
	} {
		v, err := (&until.Flags{FailOn: []string{tt.condition}}).Compile()
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Expect(nil, 1); err != nil {
			t.Fatal(err)
		}
		ended, text := -1, ""
		for i := range tt.records {
			if err := v.See(&tt.records[i]); err != nil {
				ended, text = i, err.Error()
				break
			}
		}
		if ended != tt.ends || text != tt.want {
			t.Errorf("%s: ended with record %d, %q; want %d, %q", tt.condition, ended, text, tt.ends, tt.want)
		}
	}
}
