package ui

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
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
		want := []gap{{Type: kube.Pods.GroupResource(), From: from, Modified: 50, Deleted: 1}}
		if diff := cmp.Diff(want, l.Gaps, cmpopts.IgnoreFields(gap{}, "To", "Reason")); diff != "" || l.State != stateLive {
			t.Errorf("state %s, gaps (-want +got):\n%s", l.State, diff)
		}
	})
}
