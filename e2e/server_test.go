package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/load"
)

// send makes one request straight to the apiserver, which must succeed.
func send(ctx context.Context, c *cluster.Cluster, method, path, contentType, body string) ([]byte, error) {
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

func mustSend(t *testing.T, c *cluster.Cluster, method, path, contentType, body string) []byte {
	t.Helper()
	data, err := send(t.Context(), c, method, path, contentType, body)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func createNamespace(t *testing.T, c *cluster.Cluster, name string) {
	t.Helper()
	mustSend(t, c, http.MethodPost, "/api/v1/namespaces", "application/json",
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+name+`"}}`)
}

// listed returns what a collection holds, straight from the apiserver.
func listed(t *testing.T, c *cluster.Cluster, resource, path string) map[load.Ref]load.Version {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata metadata `json:"metadata"`
		} `json:"items"`
	}
	if err := json.Unmarshal(mustSend(t, c, http.MethodGet, path, "", ""), &list); err != nil {
		t.Fatal(err)
	}
	state := make(map[load.Ref]load.Version)
	for _, o := range list.Items {
		m := o.Metadata
		state[load.Ref{Resource: resource, Namespace: m.Namespace, Name: m.Name}] = load.Version{UID: m.UID, RV: m.ResourceVersion}
	}
	return state
}
