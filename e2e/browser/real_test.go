package browser

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/ui"
)

// TestRealCluster shows a kube-apiserver that is killed, and whose etcd is compacted
// meanwhile: what is stale says so, and the rows are right again afterwards.
func TestRealCluster(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	cl, err := client.New(client.Config{Server: c.URL(), Token: c.Token(), TLS: client.TLS{CAData: c.CAPEM()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.CloseIdleConnections)
	w := show(t, ui.Options{Client: cl, Name: "real"})
	config := func(method, name, value string) {
		t.Helper()
		url, body := c.URL()+"/api/v1/namespaces/default/configmaps", fmt.Sprintf(`{"metadata":{"name":%q},"data":{%q:""}}`, name, value)
		if method != http.MethodPost {
			url += "/" + name
		}
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := c.HTTPClient().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode >= 300 {
			b, _ := io.ReadAll(io.LimitReader(resp.Body, 4096)) // for the message only
			t.Fatalf("%s %s: %s: %s", method, url, resp.Status, b)
		}
	}
	config(http.MethodPost, "kept", "a")
	config(http.MethodPost, "lost", "a")
	p := w.open("type=configmaps&ns=default", look{})
	p.shows(`tr[data-key="default/kept"]`, "kept")
	p.shows(`tr[data-key="default/lost"]`, "lost")
	config(http.MethodPost, "new", "a")
	p.shows(`tr[data-key="default/new"].new`, "new")

	if err := c.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	p.shows("#notes", "Stale")
	p.shows("#rows", "kept")
	if _, err := c.Compact(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Advance(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	config(http.MethodDelete, "lost", "a")
	config(http.MethodPost, "after", "a")
	p.without("#notes", "Stale")
	p.shows(`tr[data-key="default/after"]`, "after")
	p.until(`!document.querySelector('tr[data-key="default/lost"]:not(.gone)')`)
	p.shows("#rows", "kept")
	p.without("#banner", "missing")
	p.sound()
}
