package sink_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/sinktest"
	"github.com/listwatch/listwatch/sink/sqlite"
)

// TestRunnerRequestsItsShard: the server is sent the shard, and whether it filters or
// ignores it, the table has the objects of the shard only.
func TestRunnerRequestsItsShard(t *testing.T) {
	for _, filters := range []bool{true, false} {
		t.Run(fmt.Sprint("gate=", filters), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { movesItsShard(t, filters) })
		})
	}
}

func movesItsShard(t *testing.T, filters bool) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true, NoManagedFields: true, ShardedListAndWatch: filters})
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "cluster.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	p := &play{World: sinktest.NewWorld(srv), t: t, db: db}
	for i := range 30 {
		p.Put(fmt.Sprintf("n-%02d", i), "web", "1")
	}
	p.start(func(o *sink.Options) { o.Scope.Shard, o.Scope.Shards = 1, 3 })
	for i := range 30 {
		p.Put(fmt.Sprintf("n-%02d", i), "web", "2")
	}
	time.Sleep(10 * time.Second) // until all is committed
	p.stop()
	<-p.ended

	want, inside := map[string]kube.Revision{}, 0
	objects, _ := srv.List(sinktest.Resource)
	for _, b := range objects {
		if id, err := codec.Skim(b); err != nil {
			t.Fatal(err)
		} else if kube.EqualShard(1, 3).Has(id.UID) {
			want[id.Name], inside = kube.Revision(id.ResourceVersion), inside+1
		}
	}
	got := map[string]kube.Revision{}
	for row, err := range db.Rows(t.Context(), "c", sinktest.Resource) {
		if err != nil {
			t.Fatal(err)
		}
		got[row.Name] = row.Revision
	}
	if diff := cmp.Diff(want, got); diff != "" || inside == 0 || inside == 30 {
		t.Errorf("%d of 30 objects are in the shard (-want +got):\n%s", inside, diff)
	}
	for _, r := range srv.Requests() {
		if r.Verb != "list" && r.Verb != "watch" {
			continue
		}
		if got, want := r.Query.Get("shardSelector"), kube.EqualShard(1, 3).String(); got != want {
			t.Errorf("%s has shardSelector %q, want %q", r.Verb, got, want)
		}
		if limit := map[bool]int{true: inside + 2, false: 32}[filters]; r.Verb == "watch" && r.Events > limit {
			t.Errorf("the watch had %d events, want %d and bookmarks", r.Events, limit-2)
		}
	}
}

// TestRestoreAfterReshardIsComplete, to between the revisions of two shards, of which the one that
// was ahead had seen what is there again.
func TestRestoreAfterReshardIsComplete(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		for i := range 10 {
			p.Put(fmt.Sprint("n-", i), "web", "1")
		}
		p.shards(2, nil, 0, 1)
		p.start(func(o *sink.Options) { o.Scope.Shard, o.Scope.Shards = 1, 2 })
		for i := range 8 {
			p.Put(fmt.Sprint("x-", i), "web", "1")
		}
		for i := range 8 {
			p.Delete(fmt.Sprint("x-", i))
		}
		p.pass(time.Minute)
		p.stop()
		<-p.ended
		p.reshard(3)
		p.Restore(8)
		p.shards(3, nil, 0, 1, 2)
		p.equal()
	})
}

// TestReshardKeepsTheCause of a list that is to come: an object that the table lacks does not mean
// that the server was restored.
func TestReshardKeepsTheCause(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		for i := range 10 {
			p.Put(fmt.Sprint("n-", i), []string{"web", "db"}[i%2], "1")
		}
		p.shards(2, func(s *sink.Scope) { s.Labels = "app=web" }, 0, 1)
		for i := range 2 {
			scope := sink.Scope{Cluster: "c", Resource: sinktest.Resource, Labels: "app=db", Shard: i, Shards: 2, Rescope: true}
			if _, _, err := p.db.Open(t.Context(), scope); err != nil {
				t.Fatal(err)
			}
		}
		p.reshard(3)
		p.shards(3, func(s *sink.Scope) { s.Labels = "app=db" }, 0, 1, 2)
		p.gaps(sink.CauseRescoped, sink.CauseRescoped, sink.CauseRescoped)
	})
}

// TestEarlierEpochsShowARestore: a row that is newer than the server shows one, however often the
// table was divided, selected and written again since.
func TestEarlierEpochsShowARestore(t *testing.T) {
	for _, steps := range []string{"reshard", "rescope reshard", "reshard rescope", "backfill reshard", "reshard backfill", "reshard reshard"} {
		for _, later := range []int{0, 10} { // writes after the restore: the server may pass the row's revision
			t.Run(fmt.Sprint(steps, " ", later), func(t *testing.T) {
				perform(t, func(t *testing.T, p *play) { p.restoredAfter(steps, later) })
			})
		}
	}
}

func (p *play) restoredAfter(steps string, later int) {
	for i := range 10 {
		p.Put(fmt.Sprint("n-", i), "web", "1")
	}
	p.shards(2, nil, 0, 1)
	ahead := ""
	for row, err := range p.db.Rows(p.t.Context(), "c", sinktest.Resource) {
		if err != nil {
			p.t.Fatal(err)
		}
		if sink.ShardOf(row.UID, 2) == 1 {
			ahead = row.Name
		}
	}
	for i := range 8 {
		p.Put(ahead, "web", fmt.Sprint("of shard 1, ", i))
	}
	p.shards(2, nil, 1)
	n, labels := 2, ""
	for step := range strings.FieldsSeq(steps) {
		if step == "reshard" {
			n++
			p.reshard(n)
		}
		if step == "rescope" {
			labels = "app=web"
		}
		for i := range n {
			scope := sink.Scope{Cluster: "c", Resource: sinktest.Resource, Labels: labels, Shard: i, Shards: n, Rescope: true}
			var err error
			switch step {
			case "rescope":
				_, _, err = p.db.Open(p.t.Context(), scope)
			case "backfill":
				err = sink.Backfill(p.t.Context(), p.db, scope)
			}
			if err != nil {
				p.t.Fatal(err)
			}
		}
	}
	p.Restore(4)
	for i := range later {
		p.Put(fmt.Sprint("later-", i), "web", "1")
	}
	for i := range n {
		p.shards(n, func(s *sink.Scope) { s.Labels = labels }, i)
	}
	if got := p.reasons(); !slices.Contains(got, sink.CauseRestored) {
		p.t.Errorf("no GAP names the restore: %q", got)
	}
	if v := p.verify(p.db, 0); len(v.Differences) > 0 || v.Objects != 10+later {
		p.t.Errorf("%+v, want no difference in %d objects", v, 10+later)
	}
}

// shards runs these of so many shards, one after the other.
func (p *play) shards(shards int, change func(*sink.Scope), of ...int) {
	p.t.Helper()
	for _, i := range of {
		p.start(func(o *sink.Options) {
			o.Scope.Shard, o.Scope.Shards = i, shards
			if change != nil {
				change(&o.Scope)
			}
		})
		p.pass(time.Minute)
		p.stop()
		<-p.ended
	}
}

func (p *play) reshard(shards int) {
	p.t.Helper()
	if err := p.db.Reshard(p.t.Context(), "c", sinktest.Resource, shards); err != nil {
		p.t.Fatal(err)
	}
}

// TestEachGapHasItsID: a table that is divided otherwise lists from where its former shards
// have listed already, and may list twice at one revision.
func TestEachGapHasItsID(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		for i := range 30 {
			p.Put(fmt.Sprint("n-", i), "web", "1")
		}
		p.shards(3, nil, 0, 1, 2)
		p.change("2")
		p.Expire()
		p.shards(3, nil, 0)
		for _, shards := range []int{2, 3} {
			p.reshard(shards)
			p.shards(shards, nil, 0)
		}
		p.shards(3, nil, 1, 2)
		gaps, err := p.db.Gaps(t.Context(), "c", sinktest.Resource)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		ids := map[string]bool{}
		for _, g := range gaps {
			got, ids[g.ID] = append(got, fmt.Sprint(g.Shard, ": ", g.Reason)), true
		}
		want := []string{"0: " + sink.CauseExpired, "0: " + sink.CauseResharded, "0: " + sink.CauseResharded, "1: " + sink.CauseResharded, "2: " + sink.CauseResharded}
		if diff := cmp.Diff(want, got); diff != "" || len(ids) != len(got) {
			t.Errorf("%d ids of gaps (-want +got):\n%s", len(ids), diff)
		}
		p.equal()
	})
}
