package cluster_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/e2e/cluster"
)

const deployments = "/apis/apps/v1/namespaces/default/deployments"

const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":2,
	"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
	"spec":{"containers":[{"name":"web","image":"example.com/web:1"}]}}}}`

// TestControllerManager: a Deployment becomes Pods, which are collected with it,
// also after the apiserver was restarted.
func TestControllerManager(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{ControllerManager: true})
	if err := c.StartControllerManager(t.Context()); err == nil {
		t.Error("it was started twice")
	}
	for _, round := range []struct {
		name  string
		begin func() error
	}{
		{"as started", func() error { return nil }},
		{"after a restart of the apiserver", func() error { return c.RestartAPIServer(t.Context()) }},
		{"after its own", func() error {
			if err := c.KillControllerManager(); err != nil {
				return err
			}
			return c.StartControllerManager(t.Context())
		}},
	} {
		if err := round.begin(); err != nil {
			t.Fatalf("%s: %v", round.name, err)
		}
		if a := request(t.Context(), t, c.HTTPClient(), http.MethodPost, c.URL()+deployments, deployment); a.code != http.StatusCreated {
			t.Fatalf("%s: create: HTTP %d: %s", round.name, a.code, a.body)
		}
		waitForPods(t, c, 2)
		a := request(t.Context(), t, c.HTTPClient(), http.MethodDelete, c.URL()+deployments+"/web", `{"propagationPolicy":"Background"}`)
		if a.code != http.StatusOK {
			t.Fatalf("%s: delete: HTTP %d: %s", round.name, a.code, a.body)
		}
		waitForPods(t, c, 0)
	}
}

// waitForPods reads a watch until there are n Pods.
func waitForPods(t *testing.T, c *cluster.Cluster, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, next := watch(ctx, t, c.HTTPClient(), c.URL()+"/api/v1/namespaces/default/pods?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan")
	pods := map[string]bool{}
	for synced := false; !synced || len(pods) != n; {
		f, err := next()
		if err != nil {
			t.Fatalf("%d pods, want %d: %v", len(pods), n, err)
		}
		switch f.Type {
		case "BOOKMARK":
			synced = true
		case "DELETED":
			delete(pods, f.Object.Metadata.Name)
		default:
			pods[f.Object.Metadata.Name] = true
		}
	}
}

// TestControllerManagerThatCannotStart: the error says why.
func TestControllerManagerThatCannotStart(t *testing.T) {
	_, err := cluster.Start(t.Context(), cluster.Options{ControllerManager: true, ControllerManagerArgs: []string{"--no-such-flag"}})
	if err == nil || !strings.Contains(err.Error(), "kube-controller-manager") || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("got %v, want an error with the end of its log", err)
	}
}
