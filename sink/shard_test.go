package sink_test

import (
	"fmt"
	"path/filepath"
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

// TestEachGapHasItsID: a table that is divided otherwise lists from where its former shards
// have listed already, and may list twice at one revision.
func TestEachGapHasItsID(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		run := func(shards int, of ...int) {
			for _, i := range of {
				p.start(func(o *sink.Options) { o.Scope.Shard, o.Scope.Shards = i, shards })
				p.pass(time.Minute)
				p.stop()
				<-p.ended
			}
		}
		for i := range 30 {
			p.Put(fmt.Sprint("n-", i), "web", "1")
		}
		run(3, 0, 1, 2)
		p.change("2")
		p.Expire()
		run(3, 0)
		for _, shards := range []int{2, 3} {
			if err := p.db.Reshard(t.Context(), "c", sinktest.Resource, shards); err != nil {
				t.Fatal(err)
			}
			run(shards, 0)
		}
		run(3, 1, 2)
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
