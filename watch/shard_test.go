package watch_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// members returns the names of the ConfigMaps in s as the server has them.
func (s *story) members(shard kube.Shard) []string {
	var names []string
	objects, _ := s.srv.List(kube.ConfigMaps)
	for _, b := range objects {
		o, err := codec.Decode[kube.Partial](b)
		if err != nil {
			s.t.Fatal(err)
		}
		if shard.Has(o.UID) {
			names = append(names, o.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (s *story) stored() []string {
	var names []string
	for k := range s.store.All() {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return names
}

// TestWatcherShard watches a third of the objects on servers that know shardSelector,
// do not, refuse it, and forget it amid a watch: the events are the same. Objects of other
// shards, their changes and deletions are not seen, and do not hold up the revision.
func TestWatcherShard(t *testing.T) {
	asked := apitest.Match{Resource: "configmaps", Query: "shardSelector"}
	for _, server := range []struct {
		name      string
		gate      bool
		match     apitest.Match
		fault     http.HandlerFunc
		unsharded int
	}{
		{name: "gate on", gate: true},
		{name: "gate off"},
		{name: "refused", gate: true, match: asked, fault: faults.RejectShard(), unsharded: 1},
		{name: "refused as invalid", gate: true, match: asked, fault: faults.Answer(&kube.Status{Code: 400, Reason: "BadRequest"}), unsharded: 1},
		{name: "switched off amid a watch", gate: true, match: apitest.Match{Verb: "watch", Resource: "configmaps", AfterEvent: 2}, fault: faults.IgnoreShard()},
	} {
		for _, initial := range []watch.Initial{watch.Auto, watch.Paged} {
			t.Run(server.name+"/"+string(initial), func(t *testing.T) {
				third, unsharded := kube.EqualShard(1, 3), 0
				o := watch.Options{Initial: initial, Limit: 2, Shard: third}
				o.Trace.Unsharded = func(why error) { unsharded++ }
				playOn(t, apitest.Options{ShardedListAndWatch: server.gate}, o, func(t *testing.T, s *story) {
					unsharded = 0
					if server.fault != nil {
						s.srv.On(server.match, server.fault)
					}
					for i := range 40 {
						s.put(fmt.Sprint("early-", i), "0")
					}
					s.start()
					check := func() {
						t.Helper()
						if diff := cmp.Diff(s.members(third), s.stored()); diff != "" {
							t.Errorf("stored (-want +got):\n%s", diff)
						}
					}
					check()
					for i := range 40 {
						s.put(fmt.Sprint("late-", i), "0")
						s.put(fmt.Sprint("late-", i), "1")
						s.delete(fmt.Sprint("early-", i))
					}
					synctest.Wait()
					check()
					if server.unsharded > 0 || !server.gate {
						if got := s.w.Revision(); got != s.srv.Revision() {
							t.Errorf("at revision %s, the server is at %s: events of other shards count", got, s.srv.Revision())
						}
					}
					s.srv.DropWatches() // it resumes, and asks no more for what was refused
					s.srv.ForgetRequests()
					s.pass(time.Minute)
					s.stop() // the next loop of the watcher knows it too
					<-s.done
					s.start()
					s.put("last", "0")
					synctest.Wait()
					check()
					for _, q := range s.srv.Requests() {
						if q.Verb != "watch" || q.Query.Has("shardSelector") == (server.unsharded > 0) {
							t.Errorf("%s %s", q.Path, q.Query)
						}
					}
					if s.counts.restarts != 1 || s.counts.fallbacks != 0 || unsharded != server.unsharded || len(s.errs) > 2 {
						t.Errorf("%d restarts, %d fallbacks, %d times unsharded, errors %v", s.counts.restarts, s.counts.fallbacks, unsharded, s.errs)
					}
				})
			})
		}
	}
}

// TestWatcherShardIsNotDecoded: an object of another shard that T cannot hold is no error.
func TestWatcherShardIsNotDecoded(t *testing.T) {
	const uid = "u-1"
	mine, others := kube.EqualShard(0, 2), kube.EqualShard(1, 2)
	if !mine.Has(uid) {
		mine, others = others, mine
	}
	for shard, errs := range map[string]int{mine.String(): 1, others.String(): 0} {
		o := watch.Options{Shard: mine}
		if shard == others.String() {
			o.Shard = others
		}
		play(t, o, func(t *testing.T, s *story) {
			s.srv.On(apitest.Match{Verb: "watch", AfterEvent: 1}, faults.Inject(`{"type":"ADDED","object":{"kind":"ConfigMap","metadata":{"name":"bad","namespace":"d","uid":"u-1","resourceVersion":"1","labels":7}}}`+"\n"))
			s.start()
			n := 0
			for _, err := range s.errs {
				if codec.IsItem(err) {
					n++
				}
			}
			if n < errs || errs == 0 && n > 0 {
				t.Errorf("%d objects could not be decoded, want %d: %v", n, errs, s.errs)
			}
		})
	}
}
