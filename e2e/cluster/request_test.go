package cluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/e2e/cluster"
)

// answer is one response, read whole.
type answer struct {
	code int
	body []byte
}

func request(ctx context.Context, t *testing.T, client *http.Client, method, url, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return answer{resp.StatusCode, data}
}

const configMaps = "/api/v1/namespaces/default/configmaps"

// createConfigMap returns the new object's resource version.
func createConfigMap(t *testing.T, c *cluster.Cluster, name string) string {
	t.Helper()
	a := request(t.Context(), t, c.HTTPClient(), http.MethodPost, c.URL()+configMaps,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`"}}`)
	if a.code != http.StatusCreated {
		t.Fatalf("create %s: HTTP %d: %s", name, a.code, a.body)
	}
	var o struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(a.body, &o); err != nil {
		t.Fatal(err)
	}
	return o.Metadata.ResourceVersion
}

// frame is one line of a watch.
type frame struct {
	Type   string `json:"type"`
	Object struct {
		Metadata struct {
			Name            string            `json:"name"`
			UID             string            `json:"uid"`
			ResourceVersion string            `json:"resourceVersion"`
			Annotations     map[string]string `json:"annotations"`
		} `json:"metadata"`
		Code   int    `json:"code"`
		Reason string `json:"reason"`
	} `json:"object"`
}

// watch opens a watch; next reads a frame and fails as the body does.
func watch(ctx context.Context, t *testing.T, client *http.Client, url string) (code int, next func() (frame, error)) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("watch %s: %v", url, err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	lines := json.NewDecoder(bufio.NewReader(resp.Body))
	return resp.StatusCode, func() (frame, error) {
		var f frame
		err := lines.Decode(&f)
		return f, err
	}
}
