package live

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/kube"
)

// The Events of an object are read once, with a limit, and watched while it is shown.
func TestEventsAreWatchedWhileAnObjectIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, Seed: 1})
		c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		event := func(name, about string, after int) {
			srv.Put(kube.Events, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q},"involvedObject":{"kind":"Pod","namespace":"shop","name":%q},"type":"Normal","reason":"Pulled\u001b","message":"an\nimage","count":%d,"lastTimestamp":%q}`,
				name, about, after, boardStart.Add(time.Duration(after)*time.Second).Format(time.RFC3339)))
		}
		event("one", "web", 2)
		event("other", "db", 3)
		forbidden := srv.On(apitest.Match{Resource: "events"}, faults.Answer(apitest.StatusForbidden("jane", "list", kube.Events, "shop")))

		d := &detail{events: map[kube.Key]happening{}}
		var mu sync.Mutex
		r := &record.Record{Resource: kube.Pods, ID: codec.Identity{Namespace: "shop", Name: "web"}}
		col, err := eventsOf(c, r)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var reading sync.WaitGroup
		reading.Go(func() {
			followEvents(ctx, col, func(n news) {
				mu.Lock()
				defer mu.Unlock()
				d.hear(n)
			})
		})
		expect := func(when, problem string, want map[string]happening) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			got := map[string]happening{}
			for k, e := range d.events {
				got[k.String()] = e
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(happening{})); diff != "" || d.problem != problem {
				t.Errorf("%s: problem %q, want %q (-want +got):\n%s", when, d.problem, problem, diff)
			}
		}
		h := func(after int) happening {
			return happening{"Normal", "Pulled^[", "an image", int64(after), boardStart.Add(time.Duration(after) * time.Second)}
		}
		none := map[string]happening{}
		expect("while it is forbidden", `server: events is forbidden: User "jane" cannot list resource "events" in API group "" in the namespace "shop" (403 Forbidden)`, none)
		forbidden.Remove()
		<-time.After(2 * eventsAgain)
		expect("when it is allowed", "", map[string]happening{"shop/one": h(2)})
		event("two", "web", 4)
		event("three", "db", 4)
		event("one", "web", 5)
		expect("after two more", "", map[string]happening{"shop/one": h(5), "shop/two": h(4)})
		srv.Delete(kube.Events, kube.Key{Namespace: "shop", Name: "one"})
		expect("after a deletion", "", map[string]happening{"shop/two": h(4)})
		srv.DropWatches()
		<-time.After(time.Minute)
		event("four", "web", 6)
		expect("after a lost connection", "", map[string]happening{"shop/two": h(4), "shop/four": h(6)})
		cancel()
		reading.Wait()
		synctest.Wait()
		lists := 0
		for _, q := range srv.Requests() {
			if q.Verb == "list" && q.Code == 200 {
				lists++
			}
			if q.Verb == "watch" && q.End.IsZero() {
				t.Error("Events are still watched")
			}
			if q.Verb == "list" && q.Query.Get("limit") != fmt.Sprint(maxEvents) {
				t.Errorf("limit %q", q.Query.Get("limit"))
			}
		}
		if lists != 1 {
			t.Errorf("%d lists, want 1", lists)
		}
	})
}

// Of many Events the latest are kept.
func TestEventsAreBounded(t *testing.T) {
	d := &detail{events: map[kube.Key]happening{}}
	all := map[kube.Key]happening{}
	for i := range maxEvents {
		all[kube.Key{Name: fmt.Sprint(i)}] = happening{last: boardStart.Add(time.Duration(i) * time.Second)}
	}
	d.hear(news{events: all})
	if d.more {
		t.Error("all Events are kept, and others are reported")
	}
	d.hear(news{events: map[kube.Key]happening{{Name: "new"}: {last: boardStart.Add(time.Hour)}}})
	keys := d.sorted()
	if len(keys) != maxEvents || keys[0].Name != "new" || keys[len(keys)-1].Name != "1" || !d.more {
		t.Errorf("%d Events, from %v to %v, more %v", len(keys), keys[0], keys[len(keys)-1], d.more)
	}
}
