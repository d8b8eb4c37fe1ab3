package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

var budgets = kube.Resource{Group: "policy", Version: "v1", Plural: "poddisruptionbudgets", Kind: "PodDisruptionBudget", Namespaced: true}

// budget is a PodDisruptionBudget of the Pods with app=web.
func budget(allowed int) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"a","name":"web","generation":1},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"web"}}},
		"status":{"observedGeneration":1,"disruptionsAllowed":%d,"currentHealthy":1,"desiredHealthy":1,"expectedPods":1}}`, allowed)
}

func putPod(srv *apitest.Server) {
	srv.Put(kube.Pods, `{"metadata":{"namespace":"a","name":"web","uid":"1","labels":{"app":"web"}},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]},
		"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)
}

func TestEvict(t *testing.T) {
	now := time.Duration(0)
	for name, c := range map[string]struct {
		allowed int
		o       client.DeleteOptions
		with    client.WriteOptions
		want    error
		gone    bool
	}{
		"allowed":        {allowed: 1, o: client.DeleteOptions{GracePeriod: &now}, gone: true},
		"not allowed":    {o: client.DeleteOptions{GracePeriod: &now}, want: kube.ErrThrottled},
		"another object": {allowed: 1, o: client.DeleteOptions{GracePeriod: &now, UID: "2"}, want: kube.ErrConflict},
		"a dry run":      {allowed: 1, o: client.DeleteOptions{GracePeriod: &now}, with: client.WriteOptions{DryRun: true}},
	} {
		t.Run(name, func(t *testing.T) {
			srv, cl := fake(t)
			srv.Put(budgets, budget(c.allowed))
			putPod(srv)
			err := client.Of[kube.Partial](cl, kube.Pods).In("a").With(c.with).Evict(t.Context(), kube.Key{Name: "web"}, c.o)
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if gone := srv.Get(kube.Pods, web) == nil; gone != c.gone {
				t.Errorf("the Pod is gone: %v, want %v", gone, c.gone)
			}
		})
	}
}

// A budget refuses an eviction, not the flow control of the server.
func TestRefusedEvictionNamesNoFlow(t *testing.T) {
	url := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		identify(w.Header())
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"kind":"Status","reason":"TooManyRequests","message":"Cannot evict pod"}`)
	})
	err := client.Of[kube.Partial](newClient(t, client.Config{Server: url}), kube.Pods).Evict(t.Context(), web, client.DeleteOptions{})
	want := "evict pods.v1 a/web: POST " + url + "/api/v1/namespaces/a/pods/web/eviction: server: Cannot evict pod (429 TooManyRequests)"
	if fmt.Sprint(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestOnlyPodsAreEvicted(t *testing.T) {
	_, c := fake(t)
	maps := client.Of[configMap](c, kube.ConfigMaps)
	_, logs := maps.Logs(t.Context(), web, client.LogOptions{})
	_, token := maps.RequestToken(t.Context(), web, client.TokenOptions{})
	got := []string{fmt.Sprint(maps.Evict(t.Context(), web, client.DeleteOptions{})), fmt.Sprint(logs), fmt.Sprint(token)}
	want := []string{
		`evict configmaps.v1 a/web: only pods have the subresource "eviction"`,
		`read configmaps.v1 a/web (log): only pods have the subresource "log"`,
		`request configmaps.v1 a/web (token): only serviceaccounts have the subresource "token"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestLogsAsksForLines(t *testing.T) {
	srv, c := fake(t)
	putPod(srv)
	var got []string
	srv.On(apitest.Match{Verb: "get"}, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.RequestURI())
		w.Header().Set("Content-Type", "text/plain")
	})
	pods := client.Of[kube.Partial](c, kube.Pods).In("a")
	for _, o := range []client.LogOptions{{}, {Container: "c", Previous: true, Timestamps: true, Since: 1500 * time.Millisecond, Tail: new(0), Limit: 10}, {Follow: true}} {
		body, err := pods.Logs(t.Context(), kube.Key{Name: "web"}, o)
		if err != nil {
			t.Fatal(err)
		}
		body.Close()
	}
	path := "/api/v1/namespaces/a/pods/web/log"
	_, negative := pods.Logs(t.Context(), kube.Key{Name: "web"}, client.LogOptions{Since: -time.Hour, Limit: -1})
	if negative != nil {
		t.Error(negative)
	}
	want := []string{path, path + "?container=c&limitBytes=10&previous=true&sinceSeconds=2&tailLines=0&timestamps=true", path + "?follow=true",
		path + "?limitBytes=-1&sinceSeconds=-3600"} // the server refuses these, and all lines are not what was meant
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	_, err := pods.Logs(t.Context(), kube.Key{Name: "nobody"}, client.LogOptions{})
	if err != nil {
		t.Errorf("the handler serves all: %v", err)
	}
}

// A log that is followed may be silent for hours; another one may not.
func TestLogsFollowsThroughSilence(t *testing.T) {
	for _, follow := range []bool{true, false} {
		t.Run(fmt.Sprint("follow ", follow), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				srv, c := fake(t)
				putPod(srv)
				srv.On(apitest.Match{Verb: "get"}, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/plain")
					fmt.Fprintln(w, "first")
					w.(http.Flusher).Flush()
					select {
					case <-time.After(3 * time.Hour):
						fmt.Fprintln(w, "second")
					case <-r.Context().Done():
					}
				})
				body, err := client.Of[kube.Partial](c, kube.Pods).Logs(t.Context(), web, client.LogOptions{Follow: follow})
				if err != nil {
					t.Fatal(err)
				}
				defer body.Close()
				lines := bufio.NewScanner(body)
				var got []string
				for lines.Scan() {
					got = append(got, lines.Text())
				}
				want, wantErr := []string{"first", "second"}, error(nil)
				if !follow {
					want, wantErr = want[:1], client.ErrIdle
				}
				if diff := cmp.Diff(want, got); diff != "" || !errors.Is(lines.Err(), wantErr) {
					t.Errorf("%v (-want +got):\n%s", lines.Err(), diff)
				}
			})
		})
	}
}

// A kubelet sends nothing, not even headers, before the first line of a log. A server
// that is not connected is not waited for.
func TestLogsWaitsForTheFirstLine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t)
		putPod(srv)
		srv.On(apitest.Match{Verb: "get"}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			select {
			case <-time.After(3 * time.Hour):
				fmt.Fprintln(w, "first")
			case <-r.Context().Done():
			}
		})
		pods := client.Of[kube.Partial](c, kube.Pods)
		body, err := pods.Logs(t.Context(), web, client.LogOptions{Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		if b, err := io.ReadAll(body); string(b) != "first\n" || err != nil {
			t.Errorf("log %q: %v", b, err)
		}
		if _, err := pods.Logs(t.Context(), web, client.LogOptions{}); !errors.Is(err, client.ErrIdle) {
			t.Errorf("without Follow: %v", err)
		}
		deaf, err := client.New(client.Config{Server: srv.URL, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Of[kube.Partial](deaf, kube.Pods).Logs(t.Context(), web, client.LogOptions{Follow: true}); !errors.Is(err, client.ErrIdle) {
			t.Errorf("no connection: %v", err)
		}
	})
}

func TestRequestToken(t *testing.T) {
	srv, c := fake(t)
	srv.Put(kube.ServiceAccounts, `{"metadata":{"namespace":"a","name":"web"}}`)
	accounts := client.Of[kube.Partial](c, kube.ServiceAccounts)
	began := time.Now()
	token, err := accounts.RequestToken(t.Context(), web, client.TokenOptions{Audiences: []string{"vault"}, Expiration: 20 * time.Minute})
	if err != nil || token.Token == "" || token.Expires.Before(began.Add(19*time.Minute)) || token.Expires.After(time.Now().Add(21*time.Minute)) {
		t.Errorf("token %q expires %v: %v", token.Token, token.Expires, err)
	}
	_, err = accounts.RequestToken(t.Context(), kube.Key{Namespace: "a", Name: "nobody"}, client.TokenOptions{})
	if !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("error %v, want not found", err)
	}

	_, err = accounts.RequestToken(t.Context(), web, client.TokenOptions{Expiration: -time.Hour})
	if !errors.Is(err, kube.ErrInvalid) {
		t.Errorf("error %v, want an invalid request", err)
	}

	var sent string
	srv.On(apitest.Match{Verb: "create"}, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		sent = string(b)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"status":{"token":4711}}`)
	})
	_, err = accounts.RequestToken(t.Context(), web, client.TokenOptions{BoundTo: &client.BoundObject{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "1"}})
	if err == nil || strings.Contains(err.Error(), "4711") || !strings.Contains(err.Error(), "contains no token") {
		t.Errorf("error %v", err)
	}
	var body struct{ Spec json.RawMessage }
	if err := json.Unmarshal([]byte(sent), &body); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(`{"audiences":null,"boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1"}}`, string(body.Spec)); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// An operator drains a node: it waits where a budget does not permit an eviction.
func ExampleCollection_Evict() {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	putPod(srv)
	srv.Put(budgets, budget(0))
	c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
	if err != nil {
		fmt.Println(err)
		return
	}
	pods := client.Of[kube.Partial](c, kube.Pods).In("a")
	for try := range 2 {
		err := pods.Evict(context.Background(), kube.Key{Name: "web"}, client.DeleteOptions{})
		fmt.Println(try, errors.Is(err, kube.ErrThrottled), err == nil)
		srv.Put(budgets, budget(1)) // another Pod is ready
	}
	// Output:
	// 0 true false
	// 1 false true
}

// A program shows the last line of a log, and what follows until the container ends.
func ExampleCollection_Logs() {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	putPod(srv)
	srv.WriteLog(web, "c", "starts\nis ready\n")
	c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
	if err != nil {
		fmt.Println(err)
		return
	}
	body, err := client.Of[kube.Partial](c, kube.Pods).Logs(context.Background(), web, client.LogOptions{Follow: true, Tail: new(1)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer body.Close()
	srv.WriteLog(web, "c", "serves")
	srv.EndLog(web, "c")
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		fmt.Println(lines.Text())
	}
	fmt.Println(lines.Err())
	// Output:
	// is ready
	// serves
	// <nil>
}

// A program gets a token by which another service recognizes it.
func ExampleCollection_RequestToken() {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.Put(kube.ServiceAccounts, `{"metadata":{"namespace":"a","name":"web"}}`)
	c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
	if err != nil {
		fmt.Println(err)
		return
	}
	accounts := client.Of[kube.Partial](c, kube.ServiceAccounts)
	token, err := accounts.RequestToken(context.Background(), web, client.TokenOptions{Audiences: []string{"vault"}, Expiration: time.Hour})
	fmt.Println(token.Token != "", time.Until(token.Expires).Round(time.Hour), err)
	fmt.Println(token) // a log does not show it
	// Output:
	// true 1h0m0s <nil>
	// client.ServiceAccountToken(...)
}
