package simulate_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// TestDeletionInTheForegroundEnds: the owner goes when the last of its pods has gone,
// and nobody has to delete anything else for that: here a pod that was leaving before.
func TestDeletionInTheForegroundEnds(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		w.create(kube.Deployments, workload("web", "web:1", `,"replicas":2`))
		<-time.After(20 * time.Second)
		w.patch(kube.Deployments, "web", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"web:2"}]}}}}`)
		leaves := func(p thing) bool { return p.Metadata.DeletionTimestamp != "" }
		for !slices.ContainsFunc(w.list(kube.Pods), leaves) {
			<-time.After(10 * time.Millisecond)
		}
		req, err := http.NewRequestWithContext(w.Context(), http.MethodDelete, w.srv.URL+kube.Deployments.ObjectPath(kube.Key{Namespace: "a", Name: "web"}),
			strings.NewReader(`{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground"}`))
		if err != nil {
			w.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		w.send(req)
		<-time.After(time.Minute)
		equal(w.T, "what is left", []int{len(w.list(kube.Deployments)), len(w.list(kube.ReplicaSets)), len(w.list(kube.Pods))}, []int{0, 0, 0})
	})
}
