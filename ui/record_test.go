package ui

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
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
		want := []string{"Status Running → Failed", "Annotations changed: note added", "Labels changed: app web → shop", ""}
		if diff := cmp.Diff(want, what); diff != "" {
			t.Error(diff)
		}
	})
}

// TestDataThatChangedIsSaid also where the number of keys changes, and where it is too much.
func TestDataThatChangedIsSaid(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		for _, data := range []string{`"a":"2"`, `"a":"3","b":"1"`, `"a":"` + strings.Repeat("x", 70<<10) + `","b":"1"`} {
			w.srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"shop","name":"web"},"data":{`+data+`}}`)
			w.pass(time.Second)
		}
		var got struct{ Changes []struct{ What string } }
		p.get("api/changes?types=configmaps", &got)
		want := []struct{ What string }{{"changed: too large to be compared here"}, {"Data changed: a 2 → 3, b added"}, {""}}
		if diff := cmp.Diff(want, got.Changes); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	})
}

// TestWhoWrote: the manager whose entry is new or changed, also within a second; and nobody,
// where an object is deleted.
func TestWhoWrote(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		key := kube.Key{Namespace: "shop", Name: "a"}
		pods := client.Of[codec.RawFull](w.client, kube.Pods).With(client.WriteOptions{FieldManager: "creator"})
		pod, err := codec.ParseRawFull([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"a"},"spec":{"containers":[{"name":"app","image":"web:1"}]}}`))
		if err == nil {
			_, err = pods.Create(w.Context(), pod)
		}
		if err != nil {
			t.Fatal(err)
		}
		patch := func(by, subresource, change string) {
			pods.Write = client.WriteOptions{FieldManager: by}
			var err error
			if subresource == "status" {
				_, err = pods.PatchStatus(w.Context(), key, json.RawMessage(change))
			} else {
				_, err = pods.Patch(w.Context(), key, client.MergePatch, json.RawMessage(change))
			}
			if err != nil {
				t.Fatal(err)
			}
			w.pass(0)
		}
		patch("editor", "", `{"metadata":{"labels":{"tier":"front"}}}`)
		patch("kubelet", "status", `{"phase":"Running"}`)
		patch("editor", "", `{"metadata":{"labels":{"tier":"back","team":"a"}}}`)
		patch("kubelet", "status", `{"phase":"Running","reason":"b"}`)
		w.delete("a")
		w.pass(time.Second)
		var got struct{ Changes []struct{ Op, By string } }
		w.open().get("api/changes?types=pods", &got)
		want := []struct{ Op, By string }{{"DELETED", ""}, {"MODIFIED", "kubelet"}, {"MODIFIED", "editor"}, {"MODIFIED", "kubelet"}, {"MODIFIED", "editor"}}
		if diff := cmp.Diff(want, got.Changes[:min(len(got.Changes), len(want))]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestWhoAskedToDeleteIsNotKnown: a request changes no managed fields, also within the second
// of the last write.
func TestWhoAskedToDeleteIsNotKnown(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		pods := client.Of[codec.RawFull](w.client, kube.Pods).With(client.WriteOptions{FieldManager: "creator"})
		pod, err := codec.ParseRawFull([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"a","finalizers":["example.com/keep"]},"spec":{"containers":[{"name":"app","image":"web:1"}]}}`))
		if err == nil {
			_, err = pods.Create(w.Context(), pod)
		}
		if err == nil {
			w.pass(0)
			err = pods.Delete(w.Context(), kube.Key{Namespace: "shop", Name: "a"}, client.DeleteOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		var got struct{ Changes []struct{ Op, By string } }
		w.open().get("api/changes?types=pods", &got)
		want := []struct{ Op, By string }{{"MODIFIED", ""}, {"ADDED", "creator"}}
		if diff := cmp.Diff(want, got.Changes[:min(len(got.Changes), len(want))]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestAnEventSaysWhatItIsAbout in the activity, whether it is new or repeated; of one that is
// gone, nobody knows whether it was deleted.
func TestAnEventSaysWhatItIsAbout(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		for _, count := range []string{"1", "2"} {
			w.srv.Put(kube.Events, `{"metadata":{"namespace":"shop","name":"web.1"},"involvedObject":{"apiVersion":"v1","kind":"Pod","namespace":"shop","name":"web"},
				"type":"Warning","reason":"BackOff","message":"Back-off restarting failed container","count":`+count+`}`)
			w.pass(time.Second)
		}
		w.srv.Delete(kube.Events, kube.Key{Namespace: "shop", Name: "web.1"})
		w.pass(time.Second)
		var got struct{ Changes []struct{ Op, What string } }
		w.open().get("api/changes?types=events", &got)
		const what = "Warning BackOff, pod/web: Back-off restarting failed container"
		want := []struct{ Op, What string }{{"DELETED", "Events expire: by default an hour after their last change"}, {"MODIFIED", what}, {"ADDED", what}}
		if diff := cmp.Diff(want, got.Changes); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestWhatIsWantedIsSaidBeforeWhatFollows: of an update that changes both.
func TestWhatIsWantedIsSaidBeforeWhatFollows(t *testing.T) {
	inWorld(t, Options{Keep: []string{kube.Deployments.GroupResource()}}, func(w *world) {
		for n, replicas := range []int{2, 0, 0} {
			ready := []int{2, 2, 0}[n]
			w.srv.Put(kube.Deployments, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"web","generation":%d},"spec":{"replicas":%d},"status":{"replicas":2,"readyReplicas":%d}}`, min(n, 1)+1, replicas, ready))
			w.pass(time.Second)
		}
		var got struct{ Changes []struct{ What string } }
		w.open().get("api/changes?types=deployments.apps", &got)
		want := []struct{ What string }{{"Ready 2/0 → 0/0"}, {"Scaled 2 → 0"}, {""}}
		if diff := cmp.Diff(want, got.Changes); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestAConditionIsSaidWithTheCells: no column of a Deployment has ReplicaFailure.
func TestAConditionIsSaidWithTheCells(t *testing.T) {
	inWorld(t, Options{Keep: []string{kube.Deployments.GroupResource()}}, func(w *world) {
		for _, status := range []string{`"readyReplicas":4`, `"readyReplicas":3,"conditions":[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate"}]`} {
			w.srv.Put(kube.Deployments, `{"metadata":{"namespace":"shop","name":"web","generation":1},"spec":{"replicas":4},"status":{"replicas":4,`+status+`}}`)
			w.pass(time.Second)
		}
		var got struct{ Changes []struct{ What string } }
		w.open().get("api/changes?types=deployments.apps&text=replicafailure", &got)
		want := []struct{ What string }{{"Ready 4/4 → 3/4, ReplicaFailure True: FailedCreate"}}
		if diff := cmp.Diff(want, got.Changes); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
