package library_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/manager"
)

// managed connects with a cluster.
func managed(t *testing.T, c *cluster.Cluster, token string) *client.Client {
	t.Helper()
	cl, err := client.New(client.Config{Server: c.URL(), Token: token, TLS: client.TLS{CAFile: c.CAFile()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.CloseIdleConnections)
	return cl
}

// await waits until f returns true.
func await(ctx context.Context, t *testing.T, what string, f func() bool) {
	t.Helper()
	for !f() {
		select {
		case <-ctx.Done():
			t.Fatalf("waiting for %s: %v", what, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestManagerSecure: a real server says who may read the metrics, also after the rights
// were changed.
func TestManagerSecure(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	c := cluster.ForTest(t, cluster.Options{})
	admin := managed(t, c, c.Token())
	m := manager.New(manager.Options{
		Listen: "127.0.0.1:0", Secure: &manager.Secure{Client: admin},
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics\n") }),
	})
	m.Add(cache.New(client.Of[kube.Partial](admin, kube.ConfigMaps).In("default"), cache.Options[kube.Partial]{}))
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	defer running.Wait()
	defer cancel()
	await(ctx, t, "the listener", func() bool { return m.Address() != "" })

	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	get := func(path, token string) int {
		r, err := http.NewRequestWithContext(ctx, "GET", "https://"+m.Address()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	for token, want := range map[string]int{c.Token(): 200, c.UserToken(): 403, "nobody": 401} {
		if got := get("/metrics", token); got != want {
			t.Errorf("the metrics: %d, want %d", got, want)
		}
	}
	await(ctx, t, "readiness without a token", func() bool { return get("/readyz", "") == 200 })

	const rbac = "rbac.authorization.k8s.io"
	roles := kube.Resource{Group: rbac, Version: "v1", Plural: "clusterroles", Kind: "ClusterRole"}
	bindings := kube.Resource{Group: rbac, Version: "v1", Plural: "clusterrolebindings", Kind: "ClusterRoleBinding"}
	for res, body := range map[kube.Resource]string{
		roles:    `{"rules":[{"nonResourceURLs":["/metrics"],"verbs":["get"]}]}`,
		bindings: `{"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"metrics"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"jane"}]}`,
	} {
		if _, err := client.Of[codec.Raw](admin, res).With(client.WriteOptions{FieldManager: "test"}).Apply(ctx, kube.Key{Name: "metrics"}, body, client.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	await(ctx, t, "a permission that was given", func() bool { return get("/metrics", c.UserToken()) == 200 })
	if err := c.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	if got := get("/metrics", c.UserToken()); got != 200 {
		t.Errorf("without a server, from memory: %d, want 200", got)
	}
	if got := get("/metrics", "another"); got != 503 {
		t.Errorf("without a server: %d, want 503", got)
	}
}

// TestClusters: a controller works on two real clusters; while one is killed it continues
// with the other, and later with both; then one is removed.
func TestClusters(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	servers := map[string]*cluster.Cluster{"eu": cluster.ForTest(t, cluster.Options{}), "us": cluster.ForTest(t, cluster.Options{})}
	type caches struct {
		maps *cache.SharedInformer[mapped]
	}
	clusters := controller.NewClusters(func(c *controller.Cluster) (caches, error) {
		return caches{cache.Shared(c.Group, client.Of[mapped](c.Client, kube.ConfigMaps).In("default"), cache.Options[mapped]{})}, nil
	})
	var mu sync.Mutex
	seen := make(map[string]string)
	ctl := controller.New("maps", func(_ context.Context, k controller.ClusterKey) (controller.Result, error) {
		if c, ok := clusters.Get(k.Cluster); ok {
			o, _ := c.maps.Store().Get(k.Key)
			mu.Lock()
			defer mu.Unlock()
			seen[k.String()] = o.Data["v"]
		}
		return controller.Result{}, nil
	}, controller.Options[controller.ClusterKey]{Workers: 2})
	controller.ForClusters(ctl, clusters, func(c caches) controller.Input[mapped] { return c.maps })
	m := manager.New(manager.Options{DetectMutations: true})
	m.Add(clusters)
	m.AddLed(ctl)
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	defer running.Wait()
	defer cancel()
	clients := make(map[string]*client.Client)
	write := func(name, value string) {
		t.Helper()
		o := mapped{Meta: kube.Meta{Namespace: "default", Name: "x"}, Data: map[string]string{"v": value}}
		if _, _, err := client.Of[mapped](clients[name], kube.ConfigMaps).CreateOrUpdate(ctx, kube.KeyOf(o), func(m *mapped) error { m.Data = o.Data; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	sees := func(name, value string) {
		t.Helper()
		await(ctx, t, fmt.Sprintf("%s in %s", value, name), func() bool {
			mu.Lock()
			defer mu.Unlock()
			return seen[name+":default/x"] == value
		})
	}
	for name, c := range servers {
		clients[name] = managed(t, c, c.Token())
		write(name, "1")
		if err := clusters.Engage(name, clients[name]); err != nil {
			t.Fatal(err)
		}
		sees(name, "1")
	}
	if err := servers["us"].KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	write("eu", "2")
	sees("eu", "2")
	if err := servers["us"].StartAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	write("us", "3")
	sees("us", "3")
	if err := clusters.Remove(ctx, "us"); err != nil {
		t.Error(err)
	}
	write("us", "4")
	write("eu", "4")
	sees("eu", "4")
	mu.Lock()
	defer mu.Unlock()
	if got := seen["us:default/x"]; got != "3" {
		t.Errorf("a run saw %q of a cluster that was removed", got)
	}
}

// mapped is a ConfigMap.
type mapped struct {
	kube.Meta `json:"metadata"`
	Data      map[string]string `json:"data,omitempty"`
}
