package load_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/load"
)

// One cluster serves all runs; each has namespaces of its own.
func TestLoad(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	p, err := cluster.NewProxy(c.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	setup := load.Config{URL: c.URL(), HTTP: c.HTTPClient(), Namespaces: []string{"calm", "fault-a", "fault-b", "told", "crash"}}
	if err := load.Setup(t.Context(), setup); err != nil {
		t.Fatal(err)
	}
	t.Run("RecordAgreesWithWatchAndList", func(t *testing.T) {
		before := revision(t, c)
		config := load.Config{URL: c.URL(), HTTP: c.HTTPClient(), Seed: 1, Writes: 400, Namespaces: []string{"calm"}}
		record := run(t, config)
		checkFinal(t, c, config, record)
		checkHistory(t, c, before, record)
	})
	// Every cut leaves writes whose answer is lost, and each must be settled.
	t.Run("RecordIsExactUnderCuts", func(t *testing.T) {
		before := revision(t, c)
		p.CutEach(20_000)
		opened := p.Accepted()
		config := load.Config{URL: p.URL(), HTTP: c.HTTPClient(), Seed: 2, Writes: 400, Namespaces: []string{"fault-a", "fault-b"}}
		record := run(t, config)
		p.CutEach(0)
		if n := p.Accepted() - opened; n < 10 {
			t.Errorf("only %d connections: the cuts did not happen", n)
		}
		checkFinal(t, c, config, record)
		checkHistory(t, c, before, record)
	})
	t.Run("WroteTellsEachWriteInOrder", func(t *testing.T) {
		var wrote []load.Write
		config := load.Config{URL: c.URL(), HTTP: c.HTTPClient(), Seed: 4, Writes: 60, Workers: 1, Namespaces: []string{"told"},
			Resources: []string{"foos.example.com"}, Wrote: func(w load.Write) { wrote = append(wrote, w) }}
		record := run(t, config)
		last := int64(0)
		for _, w := range wrote {
			if w.RV == "" {
				continue
			}
			rv, err := strconv.ParseInt(w.RV, 10, 64)
			if err != nil || rv <= last {
				t.Errorf("%+v is reported after the version %d: %v", w, last, err)
			}
			last = rv
		}
		// The record sorts deletes otherwise: their versions are not known.
		order := func(a, b load.Write) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
		slices.SortFunc(wrote, order)
		slices.SortFunc(record.Writes, order)
		if diff := cmp.Diff(record.Writes, wrote); diff != "" {
			t.Errorf("writes (-recorded +reported):\n%s", diff)
		}
		if others := len(record.FinalOf("pods")) + len(record.FinalOf("configmaps")); others > 0 {
			t.Errorf("%d objects of other resources", others)
		}
	})
	// A restarted apiserver has no history, so only the end can be compared.
	t.Run("RecordIsExactOverRestart", func(t *testing.T) {
		config := load.Config{URL: c.URL(), HTTP: c.HTTPClient(), Seed: 3, Writes: 1500, Namespaces: []string{"crash"}}
		var restart error
		done := make(chan struct{})
		go func() {
			defer close(done)
			restart = c.RestartAPIServer(t.Context())
		}()
		record := run(t, config)
		<-done
		if restart != nil {
			t.Fatal(restart)
		}
		checkFinal(t, c, config, record)
	})
}

func run(t *testing.T, config load.Config) *load.Record {
	t.Helper()
	record, err := load.Run(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if len(record.Writes) != config.Writes {
		t.Errorf("recorded %d writes, want %d", len(record.Writes), config.Writes)
	}
	return record
}

func revision(t *testing.T, c *cluster.Cluster) int64 {
	t.Helper()
	revision, err := c.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

// object is what the checks read of an object.
type object struct {
	Metadata struct {
		Namespace       string `json:"namespace"`
		Name            string `json:"name"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
		Deletion        string `json:"deletionTimestamp"`
	} `json:"metadata"`
}

// checkFinal compares the record with a LIST straight from the apiserver.
func checkFinal(t *testing.T, c *cluster.Cluster, config load.Config, record *load.Record) {
	t.Helper()
	for _, resource := range load.Resources() {
		final := make(map[load.Ref]load.Version)
		var list struct {
			Items []object `json:"items"`
		}
		if err := json.NewDecoder(open(t, c, resource, "")).Decode(&list); err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			if slices.Contains(config.Namespaces, o.Metadata.Namespace) {
				final[load.Ref{Resource: resource, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}] =
					load.Version{UID: o.Metadata.UID, RV: o.Metadata.ResourceVersion}
			}
		}
		if diff := cmp.Diff(record.FinalOf(resource), final); diff != "" {
			t.Errorf("%s: the record and a LIST differ (-record +list):\n%s", resource, diff)
		}
	}
}

// checkHistory compares the record with a watch from before the run, straight
// from the apiserver: each write is one event, and there are no others.
func checkHistory(t *testing.T, c *cluster.Cluster, before int64, record *load.Record) {
	t.Helper()
	ops := map[string]load.Op{"ADDED": load.Created, "MODIFIED": load.Updated, "DELETED": load.Deleted}
	for _, resource := range load.Resources() {
		var events []load.Event
		frames := json.NewDecoder(open(t, c, resource, fmt.Sprintf("?watch=1&timeoutSeconds=1&resourceVersion=%d", before)))
		for {
			var frame struct {
				Type   string `json:"type"`
				Object object `json:"object"`
			}
			err := frames.Decode(&frame)
			if errors.Is(err, io.EOF) {
				break
			}
			op, known := ops[frame.Type]
			if err != nil || !known {
				t.Fatalf("%s: frame of type %q, error %v", resource, frame.Type, err)
			}
			m := frame.Object.Metadata
			if resource == "configmaps" && !strings.HasPrefix(m.Name, "load-") {
				continue // kube-root-ca.crt and the like
			}
			if op == load.Updated && m.Deletion != "" {
				continue // the first half of a pod's delete
			}
			events = append(events, load.Event{Op: op, Version: load.Version{UID: m.UID, RV: m.ResourceVersion}})
		}
		if missing := record.Missing(resource, events); len(missing) > 0 {
			t.Errorf("%s: %d recorded writes are in no event, first %+v", resource, len(missing), missing[0])
		}
		writes := 0
		for _, w := range record.Writes {
			if w.Resource == resource {
				writes++
			}
		}
		if len(events) != writes {
			t.Errorf("%s: %d events for %d recorded writes", resource, len(events), writes)
		}
	}
}

// open GETs a resource's collection over all namespaces.
func open(t *testing.T, c *cluster.Cluster, resource, query string) io.Reader {
	t.Helper()
	path, err := load.Path(resource)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL()+path+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.HTTPClient().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s%s: %s", path, query, resp.Status)
	}
	return resp.Body
}
