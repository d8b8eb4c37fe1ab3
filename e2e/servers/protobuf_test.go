package servers_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/protobuf"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
)

// TestProtobuf: objects of every kind of the tables' fixture are the same in protobuf
// and in JSON, in lists and in watches; so are the metadata of custom resources, errors
// and the end of the history.
func TestProtobuf(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 60*time.Second, errors.New("not within a minute"))
	defer cancel()
	paths := playFixture(ctx, t, c)
	t.Run("Kinds", func(t *testing.T) { testProtobufKinds(ctx, t, c, paths) })
	t.Run("Metadata", func(t *testing.T) { testProtobufMetadata(ctx, t, c, paths) })
	t.Run("Engine", func(t *testing.T) { testProtobufEngine(ctx, t, c) })
	t.Run("Drop", func(t *testing.T) { testDropIsIgnored(ctx, t, c) })
}

// playFixture makes the objects of the fixture and returns the collections.
func playFixture(ctx context.Context, t *testing.T, c *cluster.Cluster) (paths []string) {
	t.Helper()
	script, err := os.ReadFile(setup.Tables + "objects.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(script))
	seen := map[string]bool{}
	for lines.Scan() {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		method, rest, _ := strings.Cut(line, " ")
		path, body, _ := strings.Cut(rest, " ")
		if method == http.MethodGet {
			if path, _, _ = strings.Cut(path, "?"); !seen[path] {
				seen[path] = true
				paths = append(paths, path)
			}
		} else if _, err := setup.SendTable(ctx, c, method, path, body); err != nil {
			t.Errorf("%s %s: %v", method, path, err)
		}
	}
	if len(paths) < 40 {
		t.Fatalf("%d collections", len(paths))
	}
	return paths
}

const partialList = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
const partialObject = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// ask sends a GET and returns its answer, which the caller closes.
func ask(ctx context.Context, t *testing.T, c *cluster.Cluster, path, accept string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	resp, err := c.HTTPClient().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func isBinary(resp *http.Response) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Type"), protobuf.MediaType)
}

// objects are the items of a list as trees, by namespace and name.
func objects(t *testing.T, resp *http.Response) map[string]any {
	t.Helper()
	_, items := codec.Items(resp.Body, 0)
	if isBinary(resp) {
		_, items = protobuf.Items(resp.Body, 0)
	}
	all := map[string]any{}
	for b, err := range items {
		if err != nil {
			t.Fatal(err)
		}
		name, tree := tree(t, b)
		all[name] = tree
	}
	return all
}

// tree returns an object in either form as a tree, and its name.
func tree(t *testing.T, b []byte) (name string, v map[string]any) {
	t.Helper()
	id, err := codec.Skim(b)
	if err != nil {
		t.Fatal(err)
	}
	if protobuf.Is(b) {
		if b, err = protobuf.JSON(b); err != nil {
			t.Fatalf("%s: %v", id.Name, err)
		}
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return id.Namespace + "/" + id.Name, v
}

// initial are the objects of a watch that begins with them.
func initial(ctx context.Context, t *testing.T, c *cluster.Cluster, path, accept string) map[string]any {
	t.Helper()
	resp := ask(ctx, t, c, path+"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=20", accept)
	defer resp.Body.Close()
	read := func(f codec.Frame) (codec.Frame, error) { return f, nil }
	frames := codec.Frames(resp.Body, 0, read)
	if isBinary(resp) {
		frames = protobuf.Frames(resp.Body, 0, read)
	}
	all := map[string]any{}
	for f, err := range frames {
		if err != nil {
			t.Fatal(err)
		}
		if _, end, err := codec.ResourceVersion(f.Object); err != nil {
			t.Fatal(err)
		} else if end {
			return all
		}
		if f.Type == "ADDED" {
			name, tree := tree(t, f.Object)
			all[name] = tree
		}
	}
	t.Fatal("no mark")
	return nil
}

// inTable reports whether the kind of objects is in the table of field numbers.
func inTable(objects map[string]any) bool {
	for _, o := range objects {
		o := o.(map[string]any)
		_, ok := protobuf.DecoderOf[kube.Partial](o["apiVersion"].(string), o["kind"].(string))
		return ok
	}
	return false
}

func testProtobufKinds(ctx context.Context, t *testing.T, c *cluster.Cluster, paths []string) {
	kinds, count := 0, 0
	for _, path := range paths {
		plain := ask(ctx, t, c, path, "application/json")
		want := objects(t, plain)
		plain.Body.Close()
		if !inTable(want) {
			t.Logf("%s: %d objects of an unknown kind", path, len(want))
			continue
		}
		resp := ask(ctx, t, c, path, protobuf.MediaType+",application/json")
		if !isBinary(resp) {
			t.Errorf("%s: %s, %s", path, resp.Status, resp.Header.Get("Content-Type"))
		}
		got := objects(t, resp)
		resp.Body.Close()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: list (-JSON +protobuf):\n%s", path, diff)
		}
		if diff := cmp.Diff(want, initial(ctx, t, c, path, protobuf.MediaType)); diff != "" {
			t.Errorf("%s: watch (-JSON list +protobuf):\n%s", path, diff)
		}
		kinds++
		count += len(want)
	}
	if t.Logf("%d objects of %d kinds", count, kinds); kinds < 30 || count < 60 {
		t.Error("too few")
	}
}

func testProtobufMetadata(ctx context.Context, t *testing.T, c *cluster.Cluster, paths []string) {
	for _, path := range paths {
		resp := ask(ctx, t, c, path, protobuf.MediaType+partialList)
		if resp.StatusCode != http.StatusOK || !isBinary(resp) {
			t.Errorf("%s: %s, %s", path, resp.Status, resp.Header.Get("Content-Type"))
			resp.Body.Close()
			continue
		}
		got := objects(t, resp)
		resp.Body.Close()
		plain := ask(ctx, t, c, path, "application/json"+partialList)
		want := objects(t, plain)
		plain.Body.Close()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: list (-JSON +protobuf):\n%s", path, diff)
		}
		if diff := cmp.Diff(want, initial(ctx, t, c, path, protobuf.MediaType+partialObject)); diff != "" {
			t.Errorf("%s: watch (-JSON list +protobuf):\n%s", path, diff)
		}
	}
}

// testProtobufEngine: a watcher sees the same in both encodings, and what the server
// says of a request that it refuses.
func testProtobufEngine(ctx context.Context, t *testing.T, c *cluster.Cluster) {
	traces := map[client.Encoding]string{}
	for _, encoding := range []client.Encoding{client.EncodingJSON, client.EncodingAuto} {
		cl, err := client.New(client.Config{Server: c.URL(), Token: c.Token(), TLS: client.TLS{CAData: c.CAPEM()}, Encoding: encoding})
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		type node struct {
			kube.Meta `json:"metadata"`
			Status    struct {
				Capacity   map[string]string `json:"capacity"`
				Conditions []struct {
					Type   string    `json:"type"`
					Status string    `json:"status"`
					Since  time.Time `json:"lastTransitionTime"`
				} `json:"conditions"`
			} `json:"status"`
		}
		for _, o := range []watch.Options{{}, {Initial: watch.Paged, Limit: 2}} {
			for ev, err := range watch.New(client.Of[node](cl, kube.Nodes), o).Events(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				if ev.Type == watch.Synced {
					break
				}
				fmt.Fprintf(&log, "%s %+v\n", ev.Type, ev.Object)
			}
		}
		_, err = client.Of[kube.Partial](cl, kube.Pods).In("default").Get(ctx, kube.Key{Name: "nobody"})
		fmt.Fprintln(&log, err)
		wrong, err := kube.ParseFieldSelector("no.such=x")
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range watch.Once(ctx, client.Of[kube.Partial](cl, kube.Pods).Where(kube.Selector{}, wrong), "1", watch.Options{}) {
			fmt.Fprintln(&log, err)
		}
		traces[encoding] = log.String()
	}
	if diff := cmp.Diff(traces[client.EncodingJSON], traces[client.EncodingAuto]); diff != "" || traces[client.EncodingAuto] == "" {
		t.Errorf("(-JSON +protobuf):\n%s", diff)
	}
}

// testDropIsIgnored: this version does not know KEP-5958, and a request for it is served
// as without it.
func testDropIsIgnored(ctx context.Context, t *testing.T, c *cluster.Cluster) {
	for _, accept := range []string{"application/json;drop=metadata.managedFields", protobuf.MediaType + ";drop=metadata.managedFields", "application/json" + partialList + ";drop=metadata.managedFields"} {
		resp := ask(ctx, t, c, "/api/v1/nodes", accept)
		kept := 0
		for _, o := range objects(t, resp) {
			if meta := o.(map[string]any)["metadata"].(map[string]any); meta["managedFields"] != nil {
				kept++
			}
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || kept == 0 {
			t.Errorf("%s: %s, %d objects with managedFields: the server knows the parameter now", accept, resp.Status, kept)
		}
	}
}
