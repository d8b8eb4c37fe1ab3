package ui

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

// TestChangesThatNoCellShows are named in the log as in the history of their object.
func TestChangesThatNoCellShows(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		for _, labels := range []string{`"app":"web"`, `"app":"shop"`, `"app":"shop"}, "annotations":{"note":"x"`} {
			w.srv.Put(kube.Pods, `{"metadata":{"namespace":"shop","name":"a","labels":{`+labels+`}},"spec":{"containers":[{"name":"app","image":"web:1"}]},"status":{"phase":"Running"}}`)
			w.pass(time.Second)
		}
		w.pod("a", "Failed")
		w.pass(time.Second)
		var got struct{ Changes []struct{ Type, What string } }
		w.open().get("api/changes?types=pods", &got)
		var what []string
		for _, c := range got.Changes {
			what = append(what, c.What)
		}
		want := []string{"Status Running → Failed", "Changed metadata", "Labels changed", ""}
		if diff := cmp.Diff(want, what); diff != "" {
			t.Error(diff)
		}
	})
}
