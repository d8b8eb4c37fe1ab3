package ui

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/jq"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// TestARecordingIsServedAsAClusterIs: its objects are filtered by jq, and subscriptions
// are forgotten after their streams.
func TestARecordingIsServedAsAClusterIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		event := func(op watch.Type, name, phase string) Recorded {
			r := Recorded{At: time.Now(), Resource: kube.Pods, Event: watch.Event[codec.RawFull]{Type: op, Revision: "7"}}
			if name != "" {
				o, err := codec.ParseRawFull(fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":%q,"uid":%[1]q,"resourceVersion":"7"},"status":{"phase":%q}}`, name, phase))
				if err != nil {
					t.Fatal(err)
				}
				r.Event.Object, r.Event.Key, r.Event.UID = o, kube.Key{Namespace: "shop", Name: name}, name
			}
			return r
		}
		events := []Recorded{event(watch.Restart, "", ""), event(watch.Added, "a", "Running"), event(watch.Added, "b", "Pending"), event(watch.Synced, "", "")}
		u, err := New(Options{Filter: jq.Condition, Recording: func(yield func(Recorded, error) bool) {
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{T: t, ui: u}
		w.ctx, w.cancel = context.WithCancel(t.Context())
		w.wg.Go(func() { _ = u.Run(w.ctx) }) // the end of the test is its error
		w.pass(time.Second)
		p := w.open()
		p.post("api/subscribe", `{"client":"client-0","windows":[{"id":"w","type":"pods","jq":".status.phase == \"Running\""}]}`)
		s := p.stream("client-0", "")
		s.read(time.Second)
		if diff := cmp.Diff([]string{"a"}, s.names("w", -1)); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		for n := range maxClients - 1 {
			p.post("api/subscribe", fmt.Sprintf(`{"client":"client-%d"}`, n+1))
		}
		if rec := p.do("POST", "api/subscribe", `{"client":"another-1"}`); rec.Code != 429 {
			t.Errorf("at the limit: %d %s", rec.Code, rec.Body)
		}
		w.pass(2 * patience)
		p.post("api/subscribe", `{"client":"another-1"}`)
		w.cancel()
		w.wg.Wait()
	})
}
