package ui

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// TestARecordingIsShownAsItWas: lists of each time, gaps, changes and the end.
func TestARecordingIsShownAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now().Add(-time.Hour).Truncate(time.Second)
		event := func(second int, op watch.Type, name, phase string) Recorded {
			r := Recorded{At: start.Add(time.Duration(second) * time.Second), Resource: kube.Pods, Event: watch.Event[codec.RawFull]{Type: op, Revision: kube.Revision(fmt.Sprint(100 + second))}}
			if name != "" {
				o, err := codec.ParseRawFull(fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":%q,"uid":"u-%s","resourceVersion":"%d"},"status":{"phase":%q}}`, name, name, 100+second, phase))
				if err != nil {
					t.Fatal(err)
				}
				r.Event.Object, r.Event.Key, r.Event.UID = o, kube.Key{Namespace: "shop", Name: name}, "u-"+name
			}
			return r
		}
		again := event(40, watch.Restart, "", "")
		again.Event.Cause = errors.New("the history expired")
		events := []Recorded{
			event(0, watch.Restart, "", ""), event(0, watch.Added, "a", "Pending"), event(0, watch.Synced, "", ""),
			event(10, watch.Modified, "a", "Running"), event(20, watch.Added, "b", "Pending"),
			again, event(40, watch.Added, "b", "Running"), event(41, watch.Synced, "", ""),
		}
		u, err := New(Options{Name: "incident", Recording: func(yield func(Recorded, error) bool) {
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
		synctest.Wait()
		p := w.open()
		at := func(second int) []string {
			var l wireWindow
			p.get(fmt.Sprintf("api/list?type=pods&at=%d", start.Add(time.Duration(second)*time.Second).UnixMilli()), &l)
			return rowsOf(l, 1)
		}
		want := map[int][]string{5: {"a Pending"}, 15: {"a Running"}, 25: {"a Running", "b Pending"}, 50: {"b Running"}}
		for second, rows := range want {
			if diff := cmp.Diff(rows, at(second)); diff != "" {
				t.Errorf("at %d (-want +got):\n%s", second, diff)
			}
		}
		var st wireState
		p.get("api/state", &st)
		if st.Mode != "recording" || st.From != start.UnixMilli() || st.To != start.Add(41*time.Second).UnixMilli() {
			t.Errorf("%+v", st)
		}
		var l wireWindow
		p.get("api/list?type=pods", &l)
		if diff := cmp.Diff([]string{"b Running"}, rowsOf(l, 1)); diff != "" || len(l.Gaps) != 1 || l.Gaps[0].Deleted != 1 || l.Gaps[0].From != start.Add(20*time.Second).UnixMilli() {
			t.Errorf("%+v (-want +got):\n%s", l.Gaps, diff)
		}
		w.cancel()
		w.wg.Wait()
	})
}
