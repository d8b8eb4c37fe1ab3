package setup

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/e2e/cluster"
)

// Send makes one request straight to the apiserver. A status of 300 or more is an error.
func Send(ctx context.Context, c *cluster.Cluster, method, path, contentType, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.URL()+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.HTTPClient().Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: HTTP %d: %s", method, path, resp.StatusCode, data)
	}
	return data, nil
}

// MustSend is Send; an error ends the test.
func MustSend(t *testing.T, c *cluster.Cluster, method, path, contentType, body string) []byte {
	t.Helper()
	data, err := Send(t.Context(), c, method, path, contentType, body)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// CreateNamespace creates a namespace; an error ends the test.
func CreateNamespace(t *testing.T, c *cluster.Cluster, name string) {
	t.Helper()
	MustSend(t, c, http.MethodPost, "/api/v1/namespaces", "application/json",
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+name+`"}}`)
}

// Metadata is what the tests read of an object's metadata.
type Metadata struct {
	Namespace         string `json:"namespace"`
	Name              string `json:"name"`
	UID               string `json:"uid"`
	ResourceVersion   string `json:"resourceVersion"`
	DeletionTimestamp string `json:"deletionTimestamp"`
}

// Patience bounds each wait for the program: a lost connection is found after 45 s.
const Patience = 90 * time.Second

// Refusing returns the URL of a port that refuses connections.
func Refusing(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	p, err := cluster.NewProxy(c.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	p.Refuse()
	return p.URL()
}

// Pod returns a Pod in JSON that no node runs.
func Pod(name string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"labels":{"app":"web"}},"spec":{
		"automountServiceAccountToken":false,"containers":[{"name":"main","image":"registry.invalid/none"}]}}`, name)
}

// ConfigMap returns a ConfigMap in JSON with one key, named key.
func ConfigMap(name, value string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"key":%q}}`, name, value)
}

// Revision returns a resourceVersion as a number, for comparisons.
func Revision(t *testing.T, rv string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(rv, 10, 64)
	if err != nil {
		t.Fatalf("a resource version: %v", err)
	}
	return n
}
