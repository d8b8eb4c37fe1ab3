package sink_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/sinktest"
)

// lists applies a fault to lists, but not to the requests for the server's revision.
func (p *play) lists(h http.HandlerFunc) *apitest.Fault {
	return p.Server.On(apitest.Match{Verb: "list"}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("limit") == "1" {
			apitest.Continue(w, r)
			return
		}
		h(w, r)
	})
}

// TestRunnerNoticesARestoreWhileItWatches: such a server keeps silent until it has passed
// the position, or somebody asks.
func TestRunnerNoticesARestoreWhileItWatches(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.change("1")
		p.start(nil)
		p.change("2")
		p.pass(time.Minute)
		p.Restore(4)
		p.pass(time.Hour)
		p.change("3")
		p.pass(time.Minute)
		p.equal()
		p.gaps(sink.CauseRestored)
	})
}

// TestRestoreIsRecordedBeforeTheList: a process that ends before the list after a restore has
// shown an object is followed by one that knows of the restore, wherever the server is by then.
func TestRestoreIsRecordedBeforeTheList(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.change("1")
		p.start(nil)
		p.change("2")
		p.pass(time.Minute)
		lists := p.lists(faults.Hang())
		p.Restore(4)
		p.pass(time.Hour)
		positions, err := p.db.Positions(t.Context())
		if err != nil || len(positions) != 1 {
			t.Fatal(positions, err)
		}
		if pos := positions[0]; pos.Phase != sink.Loading || pos.Cause != sink.CauseRestored {
			t.Errorf("the position before the list is %+v", pos)
		}
		p.stop()
		<-p.ended
		lists.Remove()
		for i := range 20 {
			p.Put(fmt.Sprint("m-", i), "web", "3") // beyond the position
		}
		p.start(nil)
		p.pass(time.Minute)
		p.equal()
		p.gaps(sink.CauseRestored)
	})
}

// TestRestoreIsRecordedAfterAnOutageOfTheSink: what the sink did not accept is not forgotten
// when the scope is opened again.
func TestRestoreIsRecordedAfterAnOutageOfTheSink(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.change("1")
		down := &downSink{Sink: p.db}
		p.start(func(o *sink.Options) { o.Sink = down })
		p.change("2")
		p.pass(time.Minute)
		down.down.Store(true)
		p.Restore(4)
		p.pass(time.Hour)
		for i := range 20 {
			p.Put(fmt.Sprint("m-", i), "web", "3") // beyond the position
		}
		p.pass(time.Minute)
		down.down.Store(false)
		p.pass(time.Minute)
		p.equal()
		p.gaps(sink.CauseRestored)
	})
}

// downSink is a sink that may refuse commits.
type downSink struct {
	sink.Sink
	down atomic.Bool
}

func (d *downSink) Commit(ctx context.Context, records []sink.Record, p sink.Position) error {
	if d.down.Load() {
		return errors.New("down")
	}
	return d.Sink.Commit(ctx, records, p)
}

// TestTwoRestores: the server is restored again while the list after a restore is in progress,
// and passes what that list has recorded. Revisions and UIDs are given twice then.
func TestTwoRestores(t *testing.T) {
	for _, c := range []struct{ what, after string }{
		{"a deleted object is back", "stop"}, {"a deleted object is back", "break"},
		{"another state has the revision", "stop"}, {"another state has the revision", "break"},
	} {
		t.Run(c.what+", "+c.after, func(t *testing.T) {
			perform(t, func(t *testing.T, p *play) {
				start := func() { p.start(func(o *sink.Options) { o.BatchRecords = 1 }) }
				for i := range 10 {
					p.Put(fmt.Sprint("n-", i), "web", "1")
				}
				start()
				p.change("2")
				p.pass(time.Minute)
				part := p.lists(faults.Truncate(900))
				p.Restore(4)
				if c.what == "a deleted object is back" {
					p.Delete("n-0")
				}
				p.Put("n-0", "web", "3")
				for !p.recorded(2) {
					p.pass(time.Second)
				}
				if c.after == "stop" {
					p.stop()
					<-p.ended
				}
				p.Restore(3)
				if c.what == "a deleted object is back" {
					p.Put("n-1", "web", "4")
					p.Put("n-1", "web", "5")
					p.Put("n-1", "web", "6")
				} else {
					p.Put("n-0", "web", "4")
					p.Put("n-1", "web", "4")
				}
				part.Remove()
				if c.after == "stop" {
					start()
				}
				p.pass(time.Hour)
				for r, err := range p.db.Rows(t.Context(), "c", sinktest.Resource) {
					if err != nil || c.what == "another state has the revision" && r.Name == "n-0" && !strings.Contains(string(r.Object), `"value":"4"`) {
						t.Errorf("the row is %s, error %v", r.Object, err)
					}
				}
				p.Delete("n-0")
				p.pass(time.Minute)
				p.equal()
				p.gaps(sink.CauseRestored)
			})
		})
	}
}

// TestRestoreDuringAListThatWasCut: at the next start the server is behind what the list has
// recorded, although it has passed the position, and then passes that too.
func TestRestoreDuringAListThatWasCut(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		start := func() { p.start(func(o *sink.Options) { o.BatchRecords = 1 }) }
		for i := range 10 {
			p.Put(fmt.Sprint("n-", i), "web", "1")
		}
		p.Put("n-0", "web", "2")
		cut := p.lists(faults.Truncate(900))
		start()
		for !p.recorded(1) {
			p.pass(time.Second)
		}
		p.stop()
		<-p.ended
		cut.Remove()
		p.Restore(1)
		hang := p.lists(faults.Hang())
		start()
		p.pass(time.Minute)
		p.Put("n-0", "web", "3") // gets the revision of the other
		p.stop()
		<-p.ended
		hang.Remove()
		start()
		p.pass(time.Minute)
		for r, err := range p.db.Rows(t.Context(), "c", sinktest.Resource) {
			if err != nil || r.Name == "n-0" && !strings.Contains(string(r.Object), `"value":"3"`) {
				t.Errorf("the row is %s, error %v", r.Object, err)
			}
		}
		p.equal()
		p.gaps(sink.CauseRestored)
	})
}

// TestRunnerNoticesARestoreThatExpiredTheHistory: etcd was restored with --bump-revision and
// --mark-compacted, so that the server is ahead of the position and its objects are older.
func TestRunnerNoticesARestoreThatExpiredTheHistory(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		p.change("1")
		p.start(nil)
		p.change("2")
		p.pass(time.Minute)
		p.stop()
		<-p.ended
		p.Restore(4)
		p.Server.Advance("1000")
		p.Expire()
		p.start(nil)
		p.pass(time.Minute)
		p.change("3")
		p.pass(time.Minute)
		p.equal()
		gaps := p.reasons()
		if len(gaps) == 0 || gaps[len(gaps)-1] != sink.CauseRestored {
			t.Errorf("gaps %q, want the last to name the restore", gaps)
		}
	})
}
