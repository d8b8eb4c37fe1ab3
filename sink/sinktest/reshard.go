package sinktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// shards starts a process for each shard, and returns them once they are live.
func (s *story) shards(n int) []*process {
	s.t.Helper()
	var all []*process
	for i := range n {
		all = append(all, s.start(func(o *sink.Options) { o.Scope.Shard, o.Scope.Shards = i, n }))
	}
	for _, p := range all {
		p.live()
	}
	return all
}

// storyOfReshard divides a table again and again, of which the last shards stood at several
// revisions, and once in the presence of processes.
func storyOfReshard(t *testing.T, store Store) {
	s := newStory(t, store)
	r, ok := s.connect().(sink.Resharder)
	if !ok {
		return
	}
	s.churn("first")
	running := s.shards(1)
	for round, n := range []int{3, 2, 4, 1} {
		for i, p := range running {
			if i%2 == 0 && round < 2 {
				p.end()
			}
			s.Put(fmt.Sprint("between-", round, "-", i), "web", "")
			s.Delete("n-3")
			s.Delete("n-4")
			s.Put("n-4", "web", fmt.Sprint("another ", round))
		}
		s.reshard(r, n)
		for _, p := range running {
			s.churn(fmt.Sprint("round-", round)) // whereupon a process that runs commits
			// One that connects again meanwhile is refused at its Open.
			if <-p.ended; !errors.Is(p.err, sink.ErrFenced) && !errors.Is(p.err, sink.ErrRefused) && !errors.Is(p.err, context.Canceled) {
				t.Errorf("a process of the former shards ended with %v", p.err)
			}
		}
		if _, _, err := s.connect().Open(t.Context(), shardOf(len(running))); !errors.Is(err, sink.ErrRefused) {
			t.Errorf("the former number of shards: error %v, want ErrRefused", err)
		}
		running = s.shards(n)
		if err := s.checkTable(t.Context(), store.read(t), cluster); err != nil {
			t.Error(err)
		}
	}
	s.replayed()
}

// storyOfReshardAndRestore restores the server to a state between those of two shards, whose
// table has one shard by then: what the one shard saw deleted is there again.
func storyOfReshardAndRestore(t *testing.T, store Store) {
	s := newStory(t, store)
	r, ok := s.connect().(sink.Resharder)
	if !ok {
		return
	}
	s.churn("first")
	running := s.shards(2)
	running[0].end()
	s.Put("between", "web", "")
	for i := range 6 {
		s.Delete(fmt.Sprint("n-", i))
	}
	running[1].live()
	running[1].end()
	s.reshard(r, 1)
	s.Restore(5)
	s.shards(1)
	s.replayed()
	if !slices.ContainsFunc(s.history(), func(r sink.Record) bool { return r.Type == sink.Gap && r.Reason == sink.CauseRestored && r.Epoch == 3 }) { // the reshard has begun the second
		t.Error("no GAP names the restore")
	}
}

// replayed requires the history to lead to the cluster, object by object: between shards there
// is no order.
func (s *story) replayed() {
	s.t.Helper()
	ids, left := map[string]bool{}, map[string]object{}
	for _, r := range s.history() {
		if ids[r.ID] {
			s.t.Errorf("id %s comes twice, the second time in %s", r.ID, line(&r))
		}
		ids[r.ID] = true
		switch r.Type {
		case sink.Deleted:
			if _, ok := left[r.UID]; !ok {
				s.t.Errorf("%s, but the object was not there", line(&r))
			}
			delete(left, r.UID)
		case sink.Added, sink.Modified:
			if _, ok := left[r.UID]; ok == (r.Type == sink.Added) {
				s.t.Errorf("%s, but that the object was there before is %v", line(&r), ok)
			}
			left[r.UID] = object{r.UID, r.Revision}
		}
	}
	for _, o := range s.state {
		if left[o.uid] != o {
			s.t.Errorf("the history leads to %+v, the cluster has %+v", left[o.uid], o)
		}
		delete(left, o.uid)
	}
	if len(left) > 0 {
		s.t.Errorf("the history leaves %v, which the cluster does not have", left)
	}
}

func shardOf(n int) sink.Scope {
	s := configMaps()
	s.Shards = n
	return s
}

func (s *story) reshard(r sink.Resharder, n int) {
	s.t.Helper()
	if err := r.Reshard(s.t.Context(), cluster, kube.ConfigMaps, n); err != nil {
		s.t.Fatal(err)
	}
}

// storyOfInterruptedReshard interrupts it, until it succeeds: in between the table is as it
// was, or cannot be opened. It was paused, and remains so.
func storyOfInterruptedReshard(t *testing.T, store Store) {
	connection := store.Connect(t)
	r, ok := connection.(sink.Resharder)
	if !ok {
		return
	}
	var all [2]*possession
	for i := range all {
		scope := shardOf(2)
		scope.Shard = i
		all[i] = possess(t, connection, scope)
		all[i].pos.Epoch = 2
	}
	want := map[string]sink.Held{}
	for i := range 3000 {
		uid := sink.RecordID("", int64(i), "", "")
		p := all[sink.ShardOf(uid, 2)]
		rec := record(sink.Added, p.pos.Scope, fmt.Sprintf("n-%04d", i), uid, kube.Revision(fmt.Sprint(i+1)))
		rec.Epoch = int64(1 + i%2)
		want[uid] = heldOf(rec)
		if p.batch = append(p.batch, rec); len(p.batch) == 500 {
			p.commit(sink.Live, "3000", p.batch...)
			p.batch = nil
		}
	}
	for _, p := range all {
		p.commit(sink.Live, "3000", p.batch...)
		if err := sink.Pause(t.Context(), connection, p.pos.Scope); err != nil {
			t.Fatal(err)
		}
	}
	interrupted := 0
	for patience := time.Millisecond; ; patience *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := r.Reshard(ctx, cluster, kube.ConfigMaps, 3)
		cancel()
		if err == nil {
			break
		}
		interrupted++
		connection = store.Connect(t) // as another process
		r = connection.(sink.Resharder)
		if _, _, err := connection.Open(t.Context(), shardOf(3)); err == nil {
			break // its end was not heard of
		} else if !errors.Is(err, sink.ErrRefused) {
			t.Errorf("open an unfinished table: %v", err)
		}
	}
	t.Logf("interrupted %d times", interrupted)
	got := 0
	for i := range 3 {
		scope := shardOf(3)
		scope.Shard = i
		p := possess(t, connection, scope)
		if p.pos.Revision != "3000" || p.pos.Phase != sink.Live || p.pos.Control != sink.Paused {
			t.Errorf("shard %d stands at %+v", i, p.pos)
		}
		for _, h := range p.held() {
			if got++; want[h.UID] != h || sink.ShardOf(h.UID, 3) != i {
				t.Errorf("shard %d knows %+v", i, h)
			}
		}
	}
	if n := len(rows(t, connection, cluster, kube.ConfigMaps)); got != len(want) || n != len(want) {
		t.Errorf("%d objects known and %d rows, want %d", got, n, len(want))
	}
}
