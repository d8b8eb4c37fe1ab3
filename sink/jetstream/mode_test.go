package jetstream_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// TestTableModeKeepsTheLastStateOnly: an object that changes several times in one batch
// and in several leaves one message in the stream.
func TestTableModeKeepsTheLastStateOnly(t *testing.T) {
	srv := start(t, t.TempDir())
	s := open(t, srv)
	scope := scope
	scope.Mode = sink.ModeTable
	p, known, err := s.Open(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	last := record(sink.Modified, "a", 6)
	commit(t, s, &p, record(sink.Added, "a", 1), record(sink.Added, "b", 2), record(sink.Modified, "a", 3))
	commit(t, s, &p, record(sink.Modified, "a", 4), record(sink.Deleted, "b", 5), last)
	if diff := cmp.Diff([]string{"a"}, names(t, known)); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
	var rows []sink.Row
	for row, err := range s.Rows(t.Context(), "c", kube.ConfigMaps) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if diff := cmp.Diff([]sink.Row{sink.RowOf(&last)}, rows); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	stream, err := connect(t, srv).Stream(t.Context(), "listwatch")
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context(), natsjs.WithSubjectFilter(">"))
	want := map[string]uint64{
		"listwatch.positions.c.-.configmaps.0":              1,
		"listwatch.latest.c.-.configmaps.0.default.a.uid-a": 1,
		"listwatch.latest.c.-.configmaps.0.default.b.uid-b": 1, // its deletion, until it expires
	}
	if diff := cmp.Diff(want, info.State.Subjects); err != nil || diff != "" {
		t.Errorf("messages in the stream, error %v (-want +got):\n%s", err, diff)
	}
}
