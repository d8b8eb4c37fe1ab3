package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/node"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// pod is what the tests look at.
type pod struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase      string `json:"phase"`
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

func (o pod) text() string {
	ready := ""
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" {
			ready = " ready"
		}
	}
	ending := ""
	if o.DeletionTimestamp != nil {
		ending = " ending"
	}
	return fmt.Sprintf("%s on %s%s%s", o.Status.Phase, o.Spec.NodeName, ready, ending)
}

// TestNodes plays on a cluster without controllers: what a Pod says is from here.
func TestNodes(t *testing.T) {
	cl := cluster.ForTest(t, cluster.Options{})
	c, err := client.New(client.Config{Server: cl.URL(), TLS: client.TLS{CAData: cl.CAPEM()}, Token: cl.Token()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	ctx, cancel := context.WithCancel(t.Context())
	var playing sync.WaitGroup
	playing.Go(func() {
		err := node.Run(ctx, c, node.Options{Names: []string{"a", "b"}, Trouble: func(err error) { t.Log(err) }})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		playing.Wait()
	})
	w := &world{t, c}

	// Two Pods are spread over two Nodes, and become ready.
	lives := w.lives("x", "y")
	w.send(http.MethodPost, kube.Pods.Path("default"), newPod("x", "Always"))
	w.send(http.MethodPost, kube.Pods.Path("default"), newPod("y", "Always"))
	placed := lives(func(seen map[string][]string) bool {
		return last(seen["x"], " ready") && last(seen["y"], " ready")
	})
	if on, other := nodeOf(placed["x"]), nodeOf(placed["y"]); on == other {
		t.Errorf("both are on %q", on)
	}

	// One that is deleted is told to have ended before it goes; one that is
	// evicted goes too.
	lives = w.lives("x", "y")
	w.send(http.MethodDelete, kube.Pods.ObjectPath(kube.Key{Namespace: "default", Name: "x"}), "")
	w.send(http.MethodPost, kube.Pods.ObjectPath(kube.Key{Namespace: "default", Name: "y"}, "eviction"),
		`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"y"}}`)
	seen := lives(func(seen map[string][]string) bool { return last(seen["x"], "gone") && last(seen["y"], "gone") })
	for name, on := range map[string]string{"x": nodeOf(placed["x"]), "y": nodeOf(placed["y"])} {
		if !slices.Contains(seen[name], "Succeeded on "+on+" ending") {
			t.Errorf("%s: it never ended: %q", name, seen[name])
		}
	}

	// A Node that is cordoned gets none; one that need not be restarted ends.
	lives = w.lives("z")
	w.send(http.MethodPatch, kube.Nodes.ObjectPath(kube.Key{Name: "a"}), `{"spec":{"unschedulable":true}}`)
	w.send(http.MethodPatch, kube.Nodes.ObjectPath(kube.Key{Name: "b"}), `{"spec":{"unschedulable":true}}`)
	w.send(http.MethodPost, kube.Pods.Path("default"), newPod("z", "Never"))
	w.send(http.MethodPatch, kube.Nodes.ObjectPath(kube.Key{Name: "b"}), `{"spec":{"unschedulable":null}}`)
	got := lives(func(seen map[string][]string) bool { return last(seen["z"], "Succeeded on b") })["z"]
	want := []string{"Pending on ", "Pending on b", "Running on b ready", "Succeeded on b"}
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("life of a pod (-want +got):\n%s", diff)
	}
}

func newPod(name, restart string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"restartPolicy":%q,"containers":[{"name":"c","image":"example.com/c:1"}]}}`, name, restart)
}

func last(texts []string, end string) bool {
	return len(texts) > 0 && strings.HasSuffix(texts[len(texts)-1], end)
}

// nodeOf returns the Node that the last text names.
func nodeOf(texts []string) string {
	_, after, _ := strings.Cut(texts[len(texts)-1], " on ")
	name, _, _ := strings.Cut(after, " ")
	return name
}

// world is the cluster as the test sees it.
type world struct {
	*testing.T
	client *client.Client
}

func (w *world) send(method, path, body string) {
	w.Helper()
	contentType := "application/json"
	if method == http.MethodPatch {
		contentType = "application/merge-patch+json"
	}
	resp, err := w.client.Do(w.Context(), &client.Request{Method: method, Path: path, Body: []byte(body), ContentType: contentType})
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		w.Fatal(err)
	}
}

// lives begins to follow Pods from now on; until returns their states, in order,
// once they are as it wants.
func (w *world) lives(names ...string) (until func(enough func(map[string][]string) bool) map[string][]string) {
	w.Helper()
	var now struct {
		Metadata struct{ ResourceVersion kube.Revision }
	}
	if err := get(w.Context(), w.client, kube.Pods.Path("default"), &now); err != nil {
		w.Fatal(err)
	}
	return func(enough func(map[string][]string) bool) map[string][]string {
		w.Helper()
		ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
		defer cancel()
		seen := map[string][]string{}
		col := client.Of[pod](w.client, kube.Pods).In("default")
		for ev, err := range watch.New(col, watch.Options{Revision: now.Metadata.ResourceVersion}).Events(ctx) {
			if err != nil {
				w.Fatalf("%v; seen %q", err, seen)
			}
			if name := ev.Key.Name; slices.Contains(names, name) {
				text := ev.Object.text()
				if ev.Type == watch.Deleted {
					text = "gone"
				}
				seen[name] = append(seen[name], text)
			}
			if enough(seen) {
				break
			}
		}
		return seen
	}
}

func get(ctx context.Context, c *client.Client, path string, into any) error {
	resp, err := c.Do(ctx, &client.Request{Path: path})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(into)
}
