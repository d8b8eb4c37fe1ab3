package ui

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// TestViewIsKeptUpToDate: after random changes the rows of a view are those of one that is
// built again, with those besides that were shown and went less than ten seconds ago.
func TestViewIsKeptUpToDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := client.New(client.Config{Server: "http://127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(20) {
			testView(t, c, rand.New(rand.NewPCG(seed, 1)))
		}
	})
}

func testView(t *testing.T, c *client.Client, rng *rand.Rand) {
	u, err := New(Options{Client: c})
	if err != nil {
		t.Fatal(err)
	}
	k := newKind(u, discovery.Resource{Resource: kube.Pods})
	var views []*view
	for _, f := range []filter{{by: -1}, {by: -1, reverse: true}, {by: 1}, {by: 1, reverse: true}, {by: byChanged, reverse: true}, {by: byCreated},
		{by: -1, words: []string{"5"}}, {by: byChanged, without: []string{"3", "5"}}} {
		v := &view{kind: k, filter: f}
		k.views[v] = true
		views = append(views, v)
	}
	exists, revision := map[string]string{}, 0 // UIDs by name
	for range 400 {
		switch name := fmt.Sprintf("p%d", rng.IntN(12)); {
		case rng.IntN(3) == 0:
			<-time.After(time.Duration(rng.IntN(3000)) * time.Millisecond)
		case rng.IntN(4) == 0:
			for _, v := range views {
				if rng.IntN(2) == 0 {
					v.refresh()
				}
			}
		default:
			revision++
			op := watch.Modified
			if exists[name] == "" {
				exists[name], op = fmt.Sprint("u", revision), watch.Added
			} else if rng.IntN(3) == 0 {
				op = watch.Deleted
			}
			raw, err := codec.ParseRawFull(fmt.Appendf(nil, `{"kind":"Table","rows":[{"cells":[%q,"%d"],"object":{"metadata":{"name":%[1]q,"namespace":"a","uid":%[3]q,"resourceVersion":"%[4]d","creationTimestamp":"2026-11-22T08:00:%02[5]dZ"}}}]}`,
				name, rng.IntN(8), exists[name], revision, len(exists[name])))
			if err != nil {
				t.Fatal(err)
			}
			ev := watch.Event[codec.RawFull]{Type: op, Key: kube.Key{Namespace: "a", Name: name}, UID: exists[name], Revision: kube.Revision(fmt.Sprint(revision)), Object: raw}
			if err := k.take(ev, nil); err != nil {
				t.Fatal(err)
			}
			if op == watch.Deleted {
				delete(exists, name)
			}
		}
	}
	for _, v := range views {
		for _, settled := range []bool{false, true} {
			if settled {
				<-time.After(linger * time.Millisecond)
			}
			v.refresh()
			rebuilt := &view{kind: k, filter: v.filter}
			rebuilt.build()
			var live []*item
			for _, i := range v.rows {
				if i.gone == 0 {
					live = append(live, i)
				} else if settled || i.gone+linger <= u.now() {
					t.Errorf("%+v: a row of an object that went %d ms ago", v.filter, u.now()-i.gone)
				}
			}
			if !slices.Equal(live, rebuilt.rows) || v.matched != rebuilt.matched || !slices.IsSortedFunc(v.rows, v.order) {
				t.Errorf("%+v: the rows are %v, want %v; %d matched, want %d", v.filter, names(v.rows), names(rebuilt.rows), v.matched, rebuilt.matched)
			}
		}
	}
}

func names(rows []*item) (list []string) {
	for _, i := range rows {
		list = append(list, i.key.Name+"="+i.cells.Cell(1))
	}
	return list
}
