package ui

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/describe"
	"github.com/listwatch/listwatch/ui/internal/gaps"
)

// TestAGapBeginsWithTheLastContact: also when the listing after it breaks off, more than
// once; and it counts what all of these listings found.
func TestAGapBeginsWithTheLastContact(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		for n := range 100 {
			w.pod(fmt.Sprint("pod-", 100+n), "Pending")
		}
		w.pass(time.Minute)
		w.pod("pod-100", "Running")
		w.pass(0)
		from := now()
		for n := range 3 {
			w.srv.On(apitest.Match{Verb: "watch", Resource: "pods", Query: "sendInitialEvents", AfterEvent: 30, Nth: n + 1}, faults.Reset())
		}
		if err := w.srv.SetDoor(apitest.Refusing); err != nil {
			t.Fatal(err)
		}
		w.srv.CutWatches()
		w.pass(0)
		for n := range 50 {
			w.pod(fmt.Sprint("pod-", 100+n), "Failed")
		}
		w.delete("pod-199")
		w.srv.Expire()
		w.pass(20 * time.Second)
		if err := w.srv.SetDoor(apitest.Open); err != nil {
			t.Fatal(err)
		}
		w.pass(3 * time.Minute)
		var l wireWindow
		w.open().get("api/list?type=pods", &l)
		want := gaps.List{{Type: kube.Pods.GroupResource(), From: from, Modified: 50, Deleted: 1}}
		if diff := cmp.Diff(want, l.Gaps, cmpopts.IgnoreFields(gaps.Gap{}, "To", "Reason")); diff != "" || l.State != stateLive {
			t.Errorf("state %s, gaps (-want +got):\n%s", l.State, diff)
		}
	})
}

// TestAGapBeginsWithTheEndOfTheStream: a server that ends a stream in order has sent all
// changes until then.
func TestAGapBeginsWithTheEndOfTheStream(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.pod("web", "Pending")
		w.pass(30 * time.Second) // without an event
		from := now()
		w.missed(from, w.srv.CloseWatches)
	})
}

// TestAGapBeginsBeforeAStreamWithoutEvents: a connection that delivers nothing does not
// show that nothing happened before it.
func TestAGapBeginsBeforeAStreamWithoutEvents(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.srv.On(apitest.Match{Verb: "watch", Resource: "pods", Query: "sendInitialEvents"}, faults.Answer(&kube.Status{Code: 400, Reason: "BadRequest"}))
		w.pod("web", "Pending")
		w.pass(0)
		from := now()
		w.pass(10 * time.Second)
		w.srv.On(apitest.Match{Verb: "watch", Resource: "pods"}, func(rw http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(rw).Flush() // the answer begins, and breaks off
			<-time.After(10 * time.Second)
			panic(http.ErrAbortHandler)
		}).Times(1)
		w.srv.DropWatches()
		w.pass(5 * time.Second)
		w.srv.On(apitest.Match{Verb: "watch", Resource: "pods"}, faults.Answer(&kube.Status{Code: 410, Reason: "Expired"})).Times(1)
		w.missed(from, func() {})
	})
}

// missed refuses requests for pods until one has changed and the history is lost, and
// checks the gap that this makes.
func (w *world) missed(from int64, lose func()) {
	w.Helper()
	f := w.srv.On(apitest.Match{Resource: "pods"}, faults.Answer(&kube.Status{Code: 503, Reason: "ServiceUnavailable"}))
	lose()
	w.pass(30 * time.Second)
	w.pod("web", "Running")
	w.srv.Expire()
	f.Remove()
	w.pass(3 * time.Minute)
	var l wireWindow
	w.open().get("api/list?type=pods", &l)
	want := gaps.List{{Type: kube.Pods.GroupResource(), From: from, Modified: 1}}
	if diff := cmp.Diff(want, l.Gaps, cmpopts.IgnoreFields(gaps.Gap{}, "To", "Reason")); diff != "" || l.State != stateLive {
		w.Errorf("state %s, gaps (-want +got):\n%s", l.State, diff)
	}
}

// TestTheProcessStoodStill: what changed then has a later time, and a gap says so.
func TestTheProcessStoodStill(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.pod("web", "Pending")
		w.pass(time.Minute)
		from := now()
		w.pass(25 * time.Second)
		to := now() - 1
		w.pod("web", "Running")
		w.pass(700 * time.Millisecond)
		w.ui.stood(from, now())
		var got struct{ States []describe.State }
		w.open().get("api/history?type=pods&ns=shop&name=web", &got)
		if g := got.States; len(g) != 3 || g[1].Op != "GAP" || !g[1].Idle || g[1].From != from || g[1].To != to {
			t.Errorf("%+v", g)
		}
	})
}
