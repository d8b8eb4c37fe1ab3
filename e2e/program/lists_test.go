package program_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
)

const listObjects = 2000

// testLists: however a collection is fetched, it is the same.
func testLists(t *testing.T, c *cluster.Cluster, p *setup.Program) {
	const ns = "lists"
	setup.CreateNamespace(t, c, ns)
	path := "/api/v1/namespaces/" + ns + "/configmaps"
	createMany(t, c, path, listObjects)
	want := listed(t, c, "configmaps", path)
	if len(want) != listObjects {
		t.Fatalf("%d objects, want %d", len(want), listObjects)
	}
	flags := []string{"configmaps", "-n", ns, "-o", "ndjson", "--kubeconfig", setup.Kubeconfig(t, c, c.URL())}
	for _, command := range []string{
		"list", "list --chunk-size=100", "list --chunk-size=0", "list --chunk-size=1999",
		"watch --once", "watch --once --initial-list=auto", "watch --once --initial-list=stream",
		"watch --once --initial-list=paged", "watch --once --initial-list=paged --chunk-size=100",
	} {
		t.Run(command, func(t *testing.T) {
			s := newStory()
			s.read(strings.NewReader(p.Output(t, p.Path, append(strings.Fields(command), flags...)...)))
			checkSequence(t, s.records)
			if diff := cmp.Diff(want, s.state); diff != "" {
				t.Errorf("(-server +program):\n%s", diff)
			}
			counts := map[string]map[string]int{"configmaps": {"ADDED": listObjects, "SYNCED": 1}}
			if diff := cmp.Diff(counts, s.counts); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			for _, r := range s.records {
				if r.isObject() && (!r.Initial || r.Synthetic != "") {
					t.Fatalf("seq %d: initial %t, synthetic %q", r.Seq, r.Initial, r.Synthetic)
				}
			}
			if end := s.records[len(s.records)-1]; end.Type != "SYNCED" || end.RV == "" {
				t.Errorf("the last record is %+v, want SYNCED at a revision", end)
			}
		})
	}
}

// createMany makes n ConfigMaps, with several requests under way at once.
func createMany(t *testing.T, c *cluster.Cluster, path string, n int) {
	t.Helper()
	const workers = 8
	errs := make([]error, workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for i := w; i < n && errs[w] == nil; i += workers {
				_, errs[w] = setup.Send(t.Context(), c, http.MethodPost, path, "application/json",
					setup.ConfigMap(fmt.Sprintf("object-%04d", i), strings.Repeat("x", 200)))
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}
