package library_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
	"github.com/listwatch/listwatch/kube"
)

// TestPods evicts a Pod, reads logs by way of a kubelet that this test plays, and
// requests tokens.
func TestPods(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	cl, err := client.New(client.Config{Server: c.URL(), Token: c.Token(), TLS: client.TLS{CAFile: c.CAFile()}, FieldManager: "e2e"})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.CloseIdleConnections()
	setup.CreateNamespace(t, c, "shop")
	asked := make(chan string, 10)
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.RequestURI()
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintln(w, "first")
		w.(http.Flusher).Flush()
		if r.URL.Query().Get("sinceSeconds") == "7" { // this kubelet dies
			panic(http.ErrAbortHandler)
		}
		if r.URL.Query().Get("follow") == "true" {
			<-r.Context().Done()
		}
	}))
	defer kubelet.Close()
	port := kubelet.Listener.Addr().(*net.TCPAddr).Port
	setup.MustSend(t, c, http.MethodPost, "/api/v1/nodes", "application/json", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-1"}}`)
	setup.MustSend(t, c, http.MethodPatch, "/api/v1/nodes/node-1/status", "application/merge-patch+json",
		fmt.Sprintf(`{"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":%d}}}}`, port))
	setup.MustSend(t, c, http.MethodPost, "/api/v1/namespaces/shop/pods", "application/json",
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"app":"web"}},"spec":{"nodeName":"node-1","containers":[{"name":"main","image":"i"}]}}`)
	web := kube.Key{Namespace: "shop", Name: "web"}
	pods := client.Of[codec.Raw](cl, kube.Pods)

	t.Run("logs", func(t *testing.T) {
		body, err := pods.Logs(t.Context(), web, client.LogOptions{Container: "main", Previous: true, Since: time.Minute, Tail: new(5), Limit: 100, Timestamps: true})
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(body)
		for lines.Scan() {
			if lines.Text() != "first" {
				t.Errorf("line %q", lines.Text())
			}
		}
		body.Close()
		want := "/containerLogs/shop/web/main?limitBytes=100&previous=true&sinceSeconds=60&tailLines=5&timestamps=true"
		if diff := cmp.Diff(want, <-asked); diff != "" || lines.Err() != nil {
			t.Errorf("%v, the kubelet was asked (-want +got):\n%s", lines.Err(), diff)
		}
		body, err = pods.Logs(t.Context(), web, client.LogOptions{Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		first, err := bufio.NewReader(body).ReadString('\n')
		body.Close()
		if err != nil || first != "first\n" || <-asked != "/containerLogs/shop/web/main?follow=true" {
			t.Errorf("line %q: %v", first, err)
		}
		body, err = pods.Logs(t.Context(), web, client.LogOptions{Follow: true, Since: 7 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(body)
		body.Close()
		if <-asked; string(all) != "first\n" || err != nil {
			t.Errorf("a kubelet that dies, which the server does not report: %q: %v", all, err)
		}
		_, err = pods.Logs(t.Context(), web, client.LogOptions{Container: "other"})
		if !errors.Is(err, kube.ErrInvalid) {
			t.Errorf("another container: %v", err)
		}
	})
	t.Run("eviction", func(t *testing.T) {
		setup.MustSend(t, c, http.MethodPatch, "/api/v1/namespaces/shop/pods/web/status", "application/merge-patch+json", `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)
		setup.MustSend(t, c, http.MethodPost, "/apis/policy/v1/namespaces/shop/poddisruptionbudgets", "application/json",
			`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"web"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"web"}}}}`)
		allow := func(n int) {
			setup.MustSend(t, c, http.MethodPatch, "/apis/policy/v1/namespaces/shop/poddisruptionbudgets/web/status", "application/merge-patch+json",
				fmt.Sprintf(`{"status":{"observedGeneration":1,"disruptionsAllowed":%d,"currentHealthy":1,"desiredHealthy":1,"expectedPods":1}}`, n))
		}
		now := time.Duration(0)
		allow(0)
		if err := pods.Evict(t.Context(), web, client.DeleteOptions{GracePeriod: &now}); !errors.Is(err, kube.ErrThrottled) {
			t.Errorf("not allowed: %v", err)
		}
		allow(1)
		if err := pods.With(client.WriteOptions{DryRun: true}).Evict(t.Context(), web, client.DeleteOptions{GracePeriod: &now}); err != nil {
			t.Errorf("dry run: %v", err)
		}
		if err := pods.Evict(t.Context(), web, client.DeleteOptions{GracePeriod: &now, UID: "other"}); !errors.Is(err, kube.ErrConflict) {
			t.Errorf("another UID: %v", err)
		}
		allow(1) // the refused one counts
		if err := pods.Evict(t.Context(), web, client.DeleteOptions{GracePeriod: &now}); err != nil {
			t.Errorf("allowed: %v", err)
		}
		if _, err := pods.Get(t.Context(), web); !errors.Is(err, kube.ErrNotFound) {
			t.Errorf("the Pod after its eviction: %v", err)
		}
	})
	t.Run("token", func(t *testing.T) {
		key := kube.Key{Namespace: "shop", Name: "clerk"}
		accounts := client.Of[codec.Raw](cl, kube.ServiceAccounts)
		setup.MustSend(t, c, http.MethodPost, "/api/v1/namespaces/shop/serviceaccounts", "application/json", `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"clerk"}}`)
		token, err := accounts.RequestToken(t.Context(), key, client.TokenOptions{Expiration: 20 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if left := time.Until(token.Expires); left < 10*time.Minute || left > 21*time.Minute {
			t.Errorf("it expires in %v", left)
		}
		clerk, err := client.New(client.Config{Server: c.URL(), Token: token.Token, TLS: client.TLS{CAFile: c.CAFile()}})
		if err != nil {
			t.Fatal(err)
		}
		defer clerk.CloseIdleConnections()
		_, err = client.Of[codec.Raw](clerk, kube.Pods).Get(t.Context(), web)
		if !errors.Is(err, kube.ErrForbidden) || !strings.Contains(err.Error(), "system:serviceaccount:shop:clerk") {
			t.Errorf("a request with the token: %v", err)
		}
		if _, err := accounts.RequestToken(t.Context(), key, client.TokenOptions{Expiration: time.Minute}); !errors.Is(err, kube.ErrInvalid) {
			t.Errorf("a minute: %v", err)
		}
	})
	t.Run("patch", func(t *testing.T) {
		patchFrom(t, cl)
	})
}

// patchFrom sends differences of a ConfigMap and of a Deployment.
func patchFrom(t *testing.T, cl *client.Client) {
	type container struct {
		Name  string `json:"name"`
		Image string `json:"image"`
	}
	type deployment struct {
		kube.Meta `json:"metadata"`
		Spec      struct {
			Template struct {
				Spec struct {
					Containers []container `json:"containers"`
				} `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
		Status struct {
			Conditions []kube.Condition `json:"conditions,omitempty"`
			Replicas   int              `json:"replicas,omitempty"`
		} `json:"status"`
	}
	raw, err := codec.ParseRaw([]byte(`{"metadata":{"namespace":"shop","name":"web","labels":{"old":"x"}},"spec":{"selector":{"matchLabels":{"app":"web"}},
		"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"a","image":"i:1","env":[{"name":"E","value":"1"}]}]}}}}`))
	if err == nil {
		_, err = client.Of[codec.Raw](cl, kube.Deployments).Create(t.Context(), raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	key := kube.Key{Namespace: "shop", Name: "web"}
	deployments := client.Of[deployment](cl, kube.Deployments)
	get := func() (before, after deployment) {
		t.Helper()
		before, err := deployments.Get(t.Context(), key)
		if err == nil {
			after, err = deployments.Get(t.Context(), key)
		}
		if err != nil {
			t.Fatal(err)
		}
		return before, after
	}
	before, after := get()
	delete(after.Labels, "old")
	after.Spec.Template.Spec.Containers[0].Image = "i:2"
	if _, err := deployments.PatchFrom(t.Context(), before, after, client.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := deployments.PatchFrom(t.Context(), before, after, client.PatchOptions{}); !errors.Is(err, kube.ErrConflict) {
		t.Errorf("the same patch again: %v", err)
	}
	before, after = get()
	after.Status.Replicas = 3
	if _, err := deployments.PatchStatusFrom(t.Context(), before, after, client.PatchOptions{OptimisticLock: true}); err != nil {
		t.Fatal(err)
	}
	before, after = get()
	after.Status.Replicas = 0
	if _, err := deployments.PatchStatusFrom(t.Context(), before, after, client.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	stored, err := client.Of[codec.Raw](cl, kube.Deployments).Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if _, has := stored.Text("status", "replicas"); has || len(stored.GetLabels()) > 0 || !strings.Contains(stored.JSON(), `"image":"i:2"`) || !strings.Contains(stored.JSON(), `"env":[{"name":"E","value":"1"}]`) {
		t.Errorf("stored: %s", stored.JSON())
	}
	if err := client.Of[codec.Raw](cl, kube.Deployments).Delete(t.Context(), key, client.DeleteOptions{UID: before.UID}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Of[codec.Raw](cl, kube.Deployments).Create(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	after.Status.Replicas = 5
	if _, err := deployments.PatchStatusFrom(t.Context(), before, after, client.PatchOptions{}); !errors.Is(err, kube.ErrConflict) {
		t.Errorf("the status of an object that was created again: %v", err)
	}
}
