package simulate_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

var controllerRevisions = kube.Resource{Group: "apps", Version: "v1", Plural: "controllerrevisions", Kind: "ControllerRevision", Namespaced: true}

// revisions returns the images of the ControllerRevisions by number, and checks the rest of them.
func (w *world) revisions(owner string) map[int]string {
	w.Helper()
	images := map[int]string{}
	for i, o := range w.list(controllerRevisions) {
		var r struct {
			Data struct {
				Spec struct {
					Template struct {
						Patch string `json:"$patch"`
						Spec  struct{ Containers []struct{ Image string } }
					}
				}
			}
			Revision int
		}
		bodies, _ := w.srv.List(controllerRevisions)
		if err := json.Unmarshal(bodies[i], &r); err != nil {
			w.Fatal(err)
		}
		m := o.Metadata
		if m.Name != owner+"-"+m.Labels["controller-revision-hash"] || m.Labels["app"] != owner || len(m.OwnerReferences) != 1 || m.OwnerReferences[0].Name != owner {
			w.Errorf("metadata of a revision of %s: %+v", owner, m)
		}
		t := r.Data.Spec.Template
		equal(w.T, "strategy of the patch", t.Patch, "replace")
		if images[r.Revision] != "" || len(t.Spec.Containers) != 1 {
			w.Fatalf("revision %d: %s and %+v", r.Revision, images[r.Revision], t)
		}
		images[r.Revision] = t.Spec.Containers[0].Image
	}
	return images
}

// undo patches a/NAME with the data of the revision that has this image, as kubectl rollout undo.
func (w *world) undo(r kube.Resource, name, image string) {
	w.Helper()
	bodies, _ := w.srv.List(controllerRevisions)
	for _, b := range bodies {
		var rev struct{ Data json.RawMessage }
		if err := json.Unmarshal(b, &rev); err != nil {
			w.Fatal(err)
		}
		if !strings.Contains(string(rev.Data), fmt.Sprintf(`"image":%q`, image)) {
			continue
		}
		req, err := http.NewRequestWithContext(w.Context(), http.MethodPatch, w.srv.URL+r.ObjectPath(kube.Key{Namespace: "a", Name: name}), strings.NewReader(string(rev.Data)))
		if err != nil {
			w.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/strategic-merge-patch+json")
		w.send(req)
		return
	}
	w.Fatalf("no revision has the image %s", image)
}

// TestRevisionsAreTheHistory of StatefulSets and DaemonSets: an equal template has its older
// revision again, and those beyond the limit go.
func TestRevisionsAreTheHistory(t *testing.T) {
	for _, r := range []kube.Resource{kube.StatefulSets, kube.DaemonSets} {
		for _, made := range []string{"PUT", "POST"} {
			t.Run(r.Kind+" "+made, func(t *testing.T) {
				play(t, simulate.Options{Nodes: 2}, func(w *world) {
					spec := `,"revisionHistoryLimit":2`
					if r == kube.StatefulSets {
						spec += `,"replicas":2,"serviceName":"x"`
					}
					if made == "POST" {
						w.create(r, workload("x", "1", spec))
					} else {
						w.srv.Put(r, workload("x", "1", spec))
					}
					<-time.After(20 * time.Second)
					equal(t, "revisions", w.revisions("x"), map[int]string{1: "1"})
					w.patch(r, "x", image(2))
					<-time.After(20 * time.Second)
					equal(t, "revisions of an update", w.revisions("x"), map[int]string{1: "1", 2: "2"})
					w.undo(r, "x", "1")
					<-time.After(20 * time.Second)
					equal(t, "revisions after undo", w.revisions("x"), map[int]string{2: "2", 3: "1"})
					equal(t, "images after undo", w.images(), map[string]int{"1": 2})
					for n := 3; n < 6; n++ {
						w.patch(r, "x", image(n))
						<-time.After(20 * time.Second)
					}
					equal(t, "revisions within the limit", w.revisions("x"), map[int]string{4: "3", 5: "4", 6: "5"})
					w.srv.Delete(controllerRevisions, kube.Key{Namespace: "a", Name: w.list(controllerRevisions)[0].Metadata.Name})
					<-time.After(5 * time.Second)
					if w.revisions("x")[6]+w.revisions("x")[7] == "" {
						t.Errorf("the template has no revision: %v", w.revisions("x"))
					}
					w.delete(r, "x")
					<-time.After(20 * time.Second)
					equal(t, "revisions of no owner", len(w.revisions("x")), 0)
				})
			})
		}
	}
}

// TestUnusedRevisionsGoAlone: pods that are not updated keep theirs, whatever the limit.
func TestUnusedRevisionsGoAlone(t *testing.T) {
	for _, r := range []kube.Resource{kube.StatefulSets, kube.DaemonSets} {
		t.Run(r.Kind, func(t *testing.T) {
			play(t, simulate.Options{Nodes: 1}, func(w *world) {
				spec := `,"revisionHistoryLimit":0,"updateStrategy":{"type":"OnDelete"}`
				if r == kube.StatefulSets {
					spec += `,"replicas":1,"serviceName":"x"`
				}
				w.create(r, workload("x", "1", spec))
				<-time.After(10 * time.Second)
				for n := 2; n < 5; n++ {
					w.patch(r, "x", image(n))
					<-time.After(10 * time.Second)
				}
				equal(t, "revisions", w.revisions("x"), map[int]string{1: "1", 4: "4"})
				equal(t, "images", w.images(), map[string]int{"1": 1})
			})
		})
	}
}

// TestPartitionOutlivesARestart: a pod below it is made again of the older template.
func TestPartitionOutlivesARestart(t *testing.T) {
	lives(t, func(w *world) {
		w.create(kube.StatefulSets, workload("db", "1", `,"replicas":3,"serviceName":"db","updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}}`))
		w.live(simulate.Options{}, 20*time.Second)
		w.patch(kube.StatefulSets, "db", image(2))
		w.live(simulate.Options{Seed: 1}, 20*time.Second)
		equal(t, "images", w.images(), map[string]int{"1": 2, "2": 1})
		w.delete(kube.Pods, "db-0")
		w.live(simulate.Options{Seed: 2}, 20*time.Second)
		equal(t, "images after a restart", w.images(), map[string]int{"1": 2, "2": 1})
		w.patch(kube.StatefulSets, "db", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`)
		w.live(simulate.Options{Seed: 3}, 30*time.Second)
		equal(t, "images without a partition", w.images(), map[string]int{"2": 3})
		equal(t, "revisions", w.revisions("db"), map[int]string{1: "1", 2: "2"})
	})
}
