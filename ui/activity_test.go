package ui

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/rates"
)

type changes struct {
	Changes []struct {
		Pos            int64
		Op, Type, Name string
	}
	More bool
}

// names returns the objects of changes, and GAP for gaps of pods, once.
func (c *changes) names() []string {
	list := []string{}
	for _, e := range c.Changes {
		if e.Op != "GAP" {
			list = append(list, e.Name)
		} else if e.Type == "pods" && !slices.Contains(list, "GAP") {
			list = append(list, "GAP")
		}
	}
	return list
}

// TestChangesThatAFilterLeavesOut: -word leaves changes out, as in a list, of the changes
// and of their histogram. A gap stays unless its type is left out: what is not known may
// match.
func TestChangesThatAFilterLeavesOut(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		w.pod("web", "Pending")
		w.pass(time.Second)
		w.pod("gone", "Running")
		w.pass(time.Second)
		w.missed(now(), w.srv.CloseWatches)
		w.srv.Put(kube.Nodes, `{"metadata":{"name":"node-1"}}`)
		w.pass(time.Second)
		for text, want := range map[string][]string{
			"":              {"node-1", "GAP", "web", "gone", "web"},
			"-nodes":        {"GAP", "web", "gone", "web"},
			"shop -gone":    {"GAP", "web", "web"},
			"-pods":         {"node-1"},
			"node":          {"node-1", "GAP"},
			"-pods -NODE-1": {},
			"-nod -po -web": {"node-1", "GAP", "gone"}, // whole words
		} {
			var c changes
			p.get("api/changes?types=pods,nodes&text="+url.QueryEscape(text), &c)
			if diff := cmp.Diff(want, c.names()); diff != "" {
				t.Errorf("%q (-want +got):\n%s", text, diff)
			}
		}
		var a struct{ Buckets []rates.Counts }
		p.get(fmt.Sprintf("api/activity?types=pods,nodes&buckets=1&text=-nodes&to=%d", now()+1), &a)
		if diff := cmp.Diff([]rates.Counts{{2, 1, 0}}, a.Buckets); diff != "" {
			t.Errorf("histogram (-want +got):\n%s", diff)
		}
	})
}

// TestAllThatChangedIsSearched, also what finds no place in a row; the row names it then.
func TestAllThatChangedIsSearched(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		for n := range 2 {
			w.srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"web"},"data":{"a":"%d","b":"%d","c":"%d","pool":"%d","size":"%d"}}`, n, n, n, n, n))
		}
		w.pass(time.Second)
		for query, want := range map[string]string{
			"":          "Data changed: a 0 → 1, b 0 → 1, c 0 → 1, and 2 more",
			"&text=c":   "Data changed: a 0 → 1, b 0 → 1, c 0 → 1, and 2 more: pool 0 → 1, size 0 → 1",
			"&text=poo": "Data changed: a 0 → 1, b 0 → 1, c 0 → 1, and 2 more: pool 0 → 1, size 0 → 1",
		} {
			var c struct{ Changes []wireChange }
			if p.get("api/changes?types=configmaps&limit=1"+query, &c); len(c.Changes) != 1 || c.Changes[0].What != want {
				t.Errorf("%q: %+v, want %q", query, c.Changes, want)
			}
		}
	})
}

// TestEarlierChangesOfOneMoment: a page of changes goes on before a position, so that more
// changes of one millisecond than a page has are all shown.
func TestEarlierChangesOfOneMoment(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		want := []string{}
		for n := range 25 {
			w.pod(fmt.Sprint("pod-", n), "Running")
			want = append([]string{fmt.Sprint("pod-", n)}, want...)
		}
		w.pass(time.Second)
		at, got, before := now(), []string{}, int64(0)
		for range 4 {
			var c changes
			p.get(fmt.Sprintf("api/changes?types=pods&limit=10&at=%d&before=%d", at, before), &c)
			if got = append(got, c.names()...); !c.More {
				break
			}
			before = c.Changes[len(c.Changes)-1].Pos
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestLeasesAreForWhoNamesThem: they are renewed all the time, and would be all that Activity
// shows.
func TestLeasesAreForWhoNamesThem(t *testing.T) {
	inWorld(t, Options{Keep: []string{kube.Leases.GroupResource(), "pods"}}, func(w *world) {
		w.pod("web", "Pending")
		w.srv.Put(kube.Leases, `{"metadata":{"namespace":"shop","name":"held"}}`)
		w.pass(time.Second)
		p := w.open()
		for query, want := range map[string][]string{
			"":                                 {"web"},
			"text=-nothing":                    {"web"},
			"text=lease":                       {"held"},
			"types=leases.coordination.k8s.io": {"held"},
		} {
			var c changes
			p.get("api/changes?"+query, &c)
			if diff := cmp.Diff(want, c.names()); diff != "" {
				t.Errorf("%q (-want +got):\n%s", query, diff)
			}
		}
		for query, want := range map[string]int64{"": 1, "ns=shop": 1, "types=leases.coordination.k8s.io": 1, "text=held": 0, "text=lease": 1} {
			var a struct{ Buckets [][3]int64 }
			p.get(fmt.Sprintf("api/activity?buckets=1&from=%d&to=%d&%s", now()-60_000, now()+10_000, query), &a)
			if a.Buckets[0][0] != want {
				t.Errorf("the bars of %q have %d additions, want %d", query, a.Buckets[0][0], want)
			}
		}
	})
}
