package library_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest/conform"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"

	"github.com/listwatch/listwatch/e2e/cluster"
)

// withShards are the arguments of kube-apiserver for server-side sharding (KEP-5866).
var withShards = []string{"--feature-gates=ShardedListAndWatch=true"}

// TestConformSharded is TestConform with the feature gate for shards on.
func TestConformSharded(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{APIServerArgs: withShards})
	conform.Run(t, c.URL(), c.HTTPClient())
}

// TestShards lists and watches the ConfigMaps of a namespace in thirds, with the feature
// gate of kube-apiserver on and off: each object, each change and each deletion is seen in
// one of them.
func TestShards(t *testing.T) {
	for _, gate := range []bool{true, false} {
		t.Run(fmt.Sprint("gate ", gate), func(t *testing.T) {
			o := cluster.Options{}
			if gate {
				o.APIServerArgs = withShards
			}
			c := cluster.ForTest(t, o)
			cl, err := client.New(client.Config{Server: c.URL(), Token: c.Token(), TLS: client.TLS{CAFile: c.CAFile()}})
			if err != nil {
				t.Fatal(err)
			}
			maps := client.Of[codec.Raw](cl, kube.ConfigMaps).In("default")
			want := map[string]int{}
			for i := range 30 {
				name := fmt.Sprint("shard-", i)
				for _, what := range []string{"LISTED", "ADDED", "DELETED"} {
					want[what+" "+name] = 1
				}
				raw, err := codec.ParseRaw(fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default"}}`, name))
				if err == nil {
					_, err = maps.Create(t.Context(), raw)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			got := map[string]int{}
			note := func(what, name string) {
				if _, ours := want[what+" "+name]; ours {
					got[what+" "+name]++
				}
			}
			deleted := false
			for i := range 3 {
				shard, progress := kube.EqualShard(i, 3), list.Progress{}
				l := list.New(maps, list.Options{Shard: shard, Limit: 4, Progress: func(p list.Progress) { progress = p }})
				for o, err := range l.All(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					note("LISTED", o.GetName())
				}
				if progress.Sharded != gate {
					t.Errorf("the server says that it filters: %v", progress.Sharded)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var at kube.Revision // of the first shard's list: the others replay what happened since
			for i := range 3 {
				w := watch.New(maps, watch.Options{Shard: kube.EqualShard(i, 3), Revision: at})
				if i > 0 { // what exists was deleted: it is listed as of before
					for o, err := range list.New(maps, list.Options{Shard: kube.EqualShard(i, 3), Revision: at, Match: list.Exact}).All(ctx) {
						if err != nil {
							t.Fatal(err)
						}
						note("ADDED", o.GetName())
					}
				}
				for ev, err := range w.Events(ctx) {
					if err != nil {
						t.Fatal(err)
					}
					note(string(ev.Type), ev.Key.Name)
					if ev.Type == watch.Synced {
						at = ev.Revision
					}
					if ev.Type == watch.Synced && !deleted {
						deleted = true
						for n := range 30 {
							if err := maps.Delete(ctx, kube.Key{Namespace: "default", Name: fmt.Sprint("shard-", n)}, client.DeleteOptions{}); err != nil {
								t.Fatal(err)
							}
						}
					}
					if all := len(shardOf(got, "ADDED")); deleted && len(shardOf(got, "DELETED")) == all {
						break
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("how often each was seen (-want +got):\n%s", diff)
			}
		})
	}
}

// shardOf returns the names that were noted for what.
func shardOf(got map[string]int, what string) (names []string) {
	for k := range got {
		if len(k) > len(what) && k[:len(what)+1] == what+" " {
			names = append(names, k)
		}
	}
	return names
}
