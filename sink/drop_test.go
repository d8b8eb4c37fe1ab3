package sink_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/sinktest"
)

// TestDropDeletesWhatTheTableHolds, once, and a Runner lists again when the resource is back.
func TestDropDeletesWhatTheTableHolds(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		for i := range 5 {
			p.Put(fmt.Sprint("o", i), "a", "1")
		}
		p.start(func(o *sink.Options) { o.BatchRecords = 2 })
		p.stop()
		<-p.ended
		for range 2 { // the second finds nothing to do
			if err := p.runner.Drop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{"ADDED 5", "DELETED 5", "table 0", "LOADING " + sink.CauseNotServed}, p.held()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		p.start(nil) // the objects are the same, and their records have other ids
		p.Delete("o0")
		p.pass(time.Second)
		if diff := cmp.Diff([]string{"ADDED 10", "DELETED 6", "GAP 1", "table 4", "LIVE "}, p.held()); diff != "" {
			t.Errorf("served again (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{sink.CauseNotServed}, p.reasons()); diff != "" {
			t.Errorf("gaps (-want +got):\n%s", diff)
		}
	})
}

// TestRestoreAfterDropIsNoticed: the objects are there again, and the server's revision is below
// that of the former collection.
func TestRestoreAfterDropIsNoticed(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.change("1")
		p.start(nil)
		p.change("2")
		p.pass(time.Minute)
		p.stop()
		<-p.ended
		if err := p.runner.Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.Restore(4)
		p.start(nil)
		p.pass(time.Minute)
		p.change("3")
		p.pass(time.Minute)
		p.equal()
		p.gaps(sink.CauseRestored)
	})
}

// TestDropThatIsCutIsFinished by the next one, without a record twice.
func TestDropThatIsCutIsFinished(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		for i := range 5 {
			p.Put(fmt.Sprint("o", i), "a", "1")
		}
		cut := &cutSink{Sink: p.db, after: 100}
		p.start(func(o *sink.Options) { o.Sink, o.BatchRecords = cut, 2 })
		p.stop()
		<-p.ended
		cut.after = 1
		if err := p.runner.Drop(t.Context()); !errors.Is(err, sink.ErrFenced) {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"ADDED 5", "DELETED 2", "table 3", "LOADING " + sink.CauseNotServed}, p.held()); diff != "" {
			t.Errorf("cut (-want +got):\n%s", diff)
		}
		cut.after = 100
		if err := p.runner.Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"ADDED 5", "DELETED 5", "table 0", "LOADING " + sink.CauseNotServed}, p.held()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// cutSink is a sink that another process takes over after some commits.
type cutSink struct {
	sink.Sink
	after int
}

func (c *cutSink) Commit(ctx context.Context, records []sink.Record, p sink.Position) error {
	if c.after--; c.after < 0 {
		return sink.ErrFenced
	}
	return c.Sink.Commit(ctx, records, p)
}

// held counts what the sink holds: records by type, rows, and the position.
func (p *play) held() (all []string) {
	p.t.Helper()
	types, ids, rows := map[sink.Type]int{}, map[string]bool{}, 0
	for r, err := range p.db.Records(p.t.Context(), "c", sinktest.Resource) {
		if err != nil {
			p.t.Fatal(err)
		}
		if ids[r.ID] {
			p.t.Errorf("record %s is there twice", r.ID)
		}
		ids[r.ID] = true
		types[r.Type]++
	}
	for _, err := range p.db.Rows(p.t.Context(), "c", sinktest.Resource) {
		if err != nil {
			p.t.Fatal(err)
		}
		rows++
	}
	positions, err := p.db.Positions(p.t.Context())
	if err != nil || len(positions) != 1 {
		p.t.Fatalf("%d positions, error %v", len(positions), err)
	}
	for _, typ := range slices.Sorted(maps.Keys(types)) {
		all = append(all, fmt.Sprint(typ, " ", types[typ]))
	}
	return append(all, fmt.Sprint("table ", rows), fmt.Sprint(positions[0].Phase, " ", positions[0].Cause))
}
