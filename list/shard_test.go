package list_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// TestListerShard lists each third by pages of two, on servers that filter, do not, and
// refuse to: together the thirds are all objects, each once.
func TestListerShard(t *testing.T) {
	asked := apitest.Match{Verb: "list", Query: "shardSelector"}
	for _, c := range []struct {
		name    string
		gate    bool
		fault   http.HandlerFunc
		sharded bool
		lists   int // requests with a shardSelector that were refused
	}{
		{"gate on", true, nil, true, 0},
		{"gate off", false, nil, false, 0},
		{"refused", true, faults.RejectShard(), false, 1},
		{"refused as invalid", true, faults.Answer(&kube.Status{Code: 400, Reason: "BadRequest"}), false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := apitest.NewWith(t, apitest.Options{ShardedListAndWatch: c.gate})
			want := map[string]int{}
			for i := range 30 {
				name := fmt.Sprintf("c%02d", i)
				want[name] = 1
				srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"d","name":%q}}`, name))
			}
			cl, err := client.New(client.Config{Server: srv.URL})
			if err != nil {
				t.Fatal(err)
			}
			var fault *apitest.Fault
			if c.fault != nil {
				fault = srv.On(asked, c.fault)
			}
			got := map[string]int{}
			for i := range 3 {
				shard, progress := kube.EqualShard(i, 3), list.Progress{}
				l := list.New(client.Of[codec.Raw](cl, kube.ConfigMaps), list.Options{Shard: shard, Limit: 2, Progress: func(p list.Progress) { progress = p }})
				n := 0
				for o, err := range l.All(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					if n++; !shard.Has(o.GetUID()) {
						t.Errorf("%s has %s, with the UID %s", shard, o.GetName(), o.GetUID())
					}
					got[o.GetName()]++
				}
				if !progress.Done || progress.Items != n || progress.Sharded != c.sharded {
					t.Errorf("%d objects, progress %+v", n, progress)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("how often each was listed (-want +got):\n%s", diff)
			}
			if fault != nil && fault.Hits() != 3*c.lists {
				t.Errorf("%d requests were refused, want %d", fault.Hits(), 3*c.lists)
			}
		})
	}
}

// TestListerShardIsNotWhatIsRefused: where the server refuses the list without a shard
// too, that is the error.
func TestListerShardIsNotWhatIsRefused(t *testing.T) {
	srv, col := cluster(t, 1)
	srv.On(apitest.Match{Verb: "list"}, faults.Answer(apitest.StatusInternal("etcd is down")))
	var errs []error
	for _, err := range list.New(col, list.Options{Shard: kube.EqualShard(0, 2)}).All(t.Context()) {
		errs = append(errs, err)
	}
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "etcd is down") || len(srv.Requests()) != 2 {
		t.Errorf("%d requests, errors %v", len(srv.Requests()), errs)
	}
}

// TestListerShardAfterAnError: an error 500 need not be the response to shardSelector, so
// the next list requests the shard again.
func TestListerShardAfterAnError(t *testing.T) {
	srv, col := cluster(t, 6)
	l := list.New(col, list.Options{Shard: kube.EqualShard(0, 2)})
	srv.On(apitest.Match{Verb: "list"}, faults.Answer(apitest.StatusInternal("etcd is down"))).Times(1)
	var got []bool
	for range 2 {
		srv.ForgetRequests()
		for _, err := range l.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range srv.Requests() {
			got = append(got, r.Query.Has("shardSelector"))
		}
	}
	if diff := cmp.Diff([]bool{true, false, true}, got); diff != "" {
		t.Errorf("requests with a shard (-want +got):\n%s", diff)
	}
}
