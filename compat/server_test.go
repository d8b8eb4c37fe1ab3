package compat_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/kube"
)

// The names of the servers, which are those of the sub-tests.
const (
	fake = "apitest"
	real = "kube-apiserver"
)

// server is one of the two servers that a story runs against. A story cannot see
// which, but for expire.
type server struct {
	name       string
	url        string
	kubeconfig string       // the path of a kubeconfig of a user who may do everything
	http       *http.Client // of that user
	expire     func(t *testing.T)
	put        func(r kube.Resource, object string) // of apitest only: past admission
}

// config returns what client-go connects with, through a tap if there is one,
// without a rate limit.
func (s *server) config(t *testing.T, tap *tap) *rest.Config {
	t.Helper()
	c, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c.QPS = -1
	c.UserAgent = "compat"
	if tap != nil {
		c.Wrap(tap.wrap)
	}
	return c
}

// startFake starts an apitest server for one story. It asks for TLS and a token,
// as the real one does.
func startFake(t *testing.T) *server {
	t.Helper()
	srv := apitest.NewWith(t, apitest.Options{TLS: true, Token: "compat-token", Namespaces: true})
	for range 1000 {
		srv.Tick() // so that a revision is not taken for another number
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, srv.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	return &server{name: fake, url: srv.URL, kubeconfig: path, http: srv.Client(),
		put: func(r kube.Resource, object string) { srv.Put(r, object) },
		expire: func(*testing.T) {
			srv.Tick()
			srv.Restart()
		}}
}

// realServer returns the cluster's server, which serves all stories in turn.
func realServer(t *testing.T, c *cluster.Cluster) *server {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := c.Kubeconfig(path, c.URL()); err != nil {
		t.Fatal(err)
	}
	return &server{name: real, url: c.URL(), kubeconfig: path, http: c.HTTPClient(),
		expire: func(t *testing.T) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			if _, err := c.Compact(ctx); err != nil {
				t.Fatal(err)
			}
			if err := c.KillAPIServer(); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Advance(ctx); err != nil {
				t.Fatal(err)
			}
			if err := c.StartAPIServer(ctx); err != nil {
				t.Fatal(err)
			}
		}}
}
