package cluster_test

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/cluster"
)

// One cluster serves the tests in order: each leaves a running apiserver.
func TestCluster(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	t.Run("ReadyAfterStart", func(t *testing.T) { testReady(t, c) })
	t.Run("UserMayDoNothing", func(t *testing.T) { testUser(t, c) })
	t.Run("KubeconfigIsPrivate", func(t *testing.T) { testKubeconfig(t, c) })
	t.Run("KillAndStartKeepsData", func(t *testing.T) { testKill(t, c) })
	t.Run("StopEndsWatchesInGoodOrder", func(t *testing.T) { testStop(t, c) })
	t.Run("CompactAndRestartExpiresOldWatch", func(t *testing.T) { testExpired(t, c) })
	t.Run("AdvanceExpiresEveryWatch", func(t *testing.T) { testAdvance(t, c) })
	t.Run("Proxy", func(t *testing.T) { testProxy(t, c) })
}

func TestStopRemovesFolder(t *testing.T) {
	c, err := cluster.Start(t.Context(), cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.Dir()); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	if err := c.Stop(); err != nil {
		t.Errorf("second Stop: %v", err)
	}
}

func testReady(t *testing.T, c *cluster.Cluster) {
	a := request(t.Context(), t, c.HTTPClient(), http.MethodGet, c.URL()+"/readyz", "")
	if diff := cmp.Diff(answer{200, []byte("ok")}, a, cmp.AllowUnexported(answer{})); diff != "" {
		t.Errorf("/readyz (-want +got):\n%s", diff)
	}
}

func testUser(t *testing.T, c *cluster.Cluster) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL()+configMaps, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.UserToken())
	resp, err := c.Transport().RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("LIST with the user's token: HTTP %d, want 403", resp.StatusCode)
	}
}

func testKubeconfig(t *testing.T, c *cluster.Cluster) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := c.Kubeconfig(path, c.URL()); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fs.FileMode(0o600), info.Mode()); diff != "" {
		t.Errorf("mode (-want +got):\n%s", diff)
	}
}

func testKill(t *testing.T, c *cluster.Cluster) {
	rv := createConfigMap(t, c, "survivor")
	url := c.URL()
	_, next := watch(t.Context(), t, c.HTTPClient(), url+configMaps+"?watch=1&resourceVersion="+rv)
	if err := c.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	if f, err := next(); err == nil {
		t.Errorf("a watch outlived its apiserver: %+v", f)
	}
	if err := c.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(url, c.URL()); diff != "" {
		t.Errorf("URL after a restart (-want +got):\n%s", diff)
	}
	a := request(t.Context(), t, c.HTTPClient(), http.MethodGet, c.URL()+configMaps+"/survivor", "")
	if a.code != http.StatusOK {
		t.Errorf("the object is gone: HTTP %d: %s", a.code, a.body)
	}
}

func testStop(t *testing.T, c *cluster.Cluster) {
	rv := createConfigMap(t, c, "stopped")
	_, next := watch(t.Context(), t, c.HTTPClient(), c.URL()+configMaps+"?watch=1&resourceVersion="+rv)
	if err := c.StopAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f, err := next(); err != io.EOF {
		t.Errorf("the watch ended with %+v, %v; want the end of its body", f, err)
	}
	if err := errors.Join(c.StopAPIServer(t.Context()), c.StartAPIServer(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// kube-apiserver 1.37 answers a too old watch with 200 and one ERROR frame.
func testExpired(t *testing.T, c *cluster.Cluster) {
	old := createConfigMap(t, c, "old")
	for _, name := range []string{"newer", "newest"} {
		createConfigMap(t, c, name)
	}
	url := c.URL() + configMaps + "?watch=1&timeoutSeconds=5&resourceVersion=" + old
	if _, err := c.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, next := watch(t.Context(), t, c.HTTPClient(), url)
	if f, err := next(); err != nil || f.Type != "ADDED" {
		t.Errorf("after Compact alone: frame %+v, error %v; want ADDED from the watch cache", f, err)
	}
	if err := c.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	code, next := watch(t.Context(), t, c.HTTPClient(), url)
	f, err := next()
	if err != nil {
		t.Fatalf("after the restart: %v", err)
	}
	type outcome struct {
		HTTP   int
		Type   string
		Code   int
		Reason string
	}
	want := outcome{200, "ERROR", 410, "Expired"}
	if diff := cmp.Diff(want, outcome{code, f.Type, f.Object.Code, f.Object.Reason}); diff != "" {
		t.Errorf("old watch after Compact and restart (-want +got):\n%s", diff)
	}
	if f, err := next(); err == nil {
		t.Errorf("a frame after the ERROR: %+v", f)
	}
}

// A watch from the newest object's version expires though nothing changed.
func testAdvance(t *testing.T, c *cluster.Cluster) {
	newest := createConfigMap(t, c, "last")
	if err := c.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Advance(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, next := watch(t.Context(), t, c.HTTPClient(), c.URL()+configMaps+"?watch=1&timeoutSeconds=5&resourceVersion="+newest)
	if f, err := next(); err != nil || f.Type != "ERROR" || f.Object.Code != http.StatusGone {
		t.Errorf("frame %+v, error %v; want an ERROR with 410", f, err)
	}
}
