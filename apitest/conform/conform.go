// Package conform is the suite of list, watch and write semantics that both the fake
// server of package apitest and a real kube-apiserver pass. It keeps the fake server
// correct, and documents the behaviour on which a client may rely.
//
// It uses plain HTTP and mostly ConfigMaps, in its own namespaces with new names,
// because a server without a controller manager keeps deleted namespaces Terminating.
// Where the Kubernetes API permits several responses, the suite does too.
//
//	func TestConform(t *testing.T) {
//		srv := apitest.NewWith(t, apitest.Options{Namespaces: true})
//		conform.Run(t, srv.URL, srv.Client())
//	}
package conform

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// patience limits one request, streams included. No check takes as long with a correct
// server.
const patience = 30 * time.Second

// Run runs the suite against the server at url, without a final slash. c must have all
// permissions for namespaces, ConfigMaps, PodTemplates, Deployments and
// CustomResourceDefinitions. The fake server needs Options.Namespaces of package
// apitest.
//
// The checks run in parallel, as subtests of t, by category: list, watch, mutation,
// view. They take 6 to 30 seconds of waiting, depending on the flag -parallel.
func Run(t *testing.T, url string, c *http.Client) {
	for _, category := range categories() {
		t.Run(category.name, func(t *testing.T) {
			t.Parallel()
			for _, check := range category.checks {
				t.Run(check.name, func(t *testing.T) {
					t.Parallel()
					check.run(newEnv(t, url, c))
				})
			}
		})
	}
}

type category struct {
	name   string
	checks []check
}

type check struct {
	name string
	run  func(*env)
}

func categories() []category {
	return []category{
		{"list", slices.Concat(listChecks(), shardChecks())},
		{"watch", watchChecks()},
		{"mutation", slices.Concat(writeChecks(), patchChecks(), applyChecks(), deleteChecks(), subresourceChecks(), validateChecks())},
		{"view", viewChecks()},
	}
}

// env is the environment of a check: a server and a namespace.
type env struct {
	testing.TB
	url    string
	client *http.Client
	ns     string
}

func newEnv(t testing.TB, url string, c *http.Client) *env {
	e := &env{t, url, c, "conform-" + strings.ToLower(rand.Text()[:12])}
	e.namespace(e.ns)
	return e
}

// namespace creates a namespace for the duration of the check.
func (e *env) namespace(name string) {
	e.Helper()
	e.send("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+name+`"}}`).want(201)
	e.Cleanup(func() { e.cleanup("/api/v1/namespaces/" + name) })
}

// cleanup deletes the object at path after the check.
func (e *env) cleanup(path string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own context has ended
	defer cancel()
	resp, err := e.open(ctx, "DELETE", path, "")
	if err != nil {
		e.Error(err)
		return
	}
	resp.Body.Close()
}

// path returns the path of the ConfigMaps, or of a part of them.
func (e *env) path(more string) string { return "/api/v1/namespaces/" + e.ns + "/configmaps" + more }

// answer is a response that has been read.
type answer struct {
	e       *env
	request string
	code    int
	header  http.Header
	body    []byte
}

// send sends a request and reads the response. header alternates names and values.
func (e *env) send(method, path, body string, header ...string) *answer {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), patience)
	defer cancel()
	resp, err := e.open(ctx, method, path, body, header...)
	if err != nil {
		e.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		e.Fatalf("%s %s: %v", method, path, err)
	}
	return &answer{e, method + " " + path, resp.StatusCode, resp.Header, b}
}

func (e *env) open(ctx context.Context, method, path, body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, e.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "listwatch-conform")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return e.client.Do(req)
}

// want fails the check unless the response has the code.
func (a *answer) want(code int) *answer {
	a.e.Helper()
	if a.code != code {
		a.e.Fatalf("%s: got %d, want %d: %.1000s", a.request, a.code, code, a.body)
	}
	return a
}

// decode decodes the response into v.
func (a *answer) decode(v any) {
	a.e.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		a.e.Fatalf("%s: %v: %.1000s", a.request, err, a.body)
	}
}

// object has the fields of an object that the checks compare.
type object struct {
	Kind       string            `json:"kind"`
	APIVersion string            `json:"apiVersion"`
	Metadata   metadata          `json:"metadata"`
	Data       map[string]string `json:"data"`
}

type metadata struct {
	Name               string            `json:"name"`
	Namespace          string            `json:"namespace"`
	UID                string            `json:"uid"`
	ResourceVersion    string            `json:"resourceVersion"`
	CreationTimestamp  string            `json:"creationTimestamp"`
	Labels             map[string]string `json:"labels"`
	Annotations        map[string]string `json:"annotations"`
	Continue           string            `json:"continue"`
	RemainingItemCount *int              `json:"remainingItemCount"`
}

// list has the fields of a list that the checks compare.
type list struct {
	Kind       string   `json:"kind"`
	APIVersion string   `json:"apiVersion"`
	Metadata   metadata `json:"metadata"`
	Items      []object `json:"items"`
}

func (l *list) names() []string {
	names := []string{}
	for _, o := range l.Items {
		names = append(names, o.Metadata.Name)
	}
	return names
}

// list lists the ConfigMaps of the namespace.
func (e *env) list(query string) *list {
	e.Helper()
	l := &list{}
	e.send("GET", e.path("?"+query), "").want(200).decode(l)
	return l
}

// same fails the check unless got equals want.
func same[T any](e *env, what string, got, want T) {
	e.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// configMap returns a ConfigMap as JSON: labels are given as "a=b,c=d".
func configMap(name, labels, value string) string {
	o := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]string{"k": value}}
	meta := map[string]any{"name": name}
	if labels != "" {
		m := map[string]string{}
		for pair := range strings.SplitSeq(labels, ",") {
			k, v, _ := strings.Cut(pair, "=")
			m[k] = v
		}
		meta["labels"] = m
	}
	o["metadata"] = meta
	b, err := json.Marshal(o)
	if err != nil {
		panic(err) // maps of strings
	}
	return string(b)
}

// create creates a ConfigMap and returns it as stored.
func (e *env) create(name, labels, value string) *object {
	e.Helper()
	o := &object{}
	e.send("POST", e.path(""), configMap(name, labels, value)).want(201).decode(o)
	return o
}

// update replaces a ConfigMap, whatever its state.
func (e *env) update(name, labels, value string) *object {
	e.Helper()
	o := &object{}
	e.send("PUT", e.path("/"+name), configMap(name, labels, value)).want(200).decode(o)
	return o
}

func (e *env) delete(name string) {
	e.Helper()
	e.send("DELETE", e.path("/"+name), "").want(200)
}

// status has the fields of an error response that the checks compare.
type status struct {
	Kind, APIVersion, Status, Reason string
	Message                          string
	Code                             int
	Details                          struct {
		Name, Group, Kind string
		Causes            []cause
		RetryAfterSeconds int
	}
	Metadata metadata
}

type cause struct{ Reason, Message, Field string }

// refused checks that the response is a Status with the code and reason, and returns
// it.
func (a *answer) refused(code int, reason string) *status {
	a.e.Helper()
	st := &status{}
	a.want(code).decode(st)
	if st.Kind != "Status" || st.APIVersion != "v1" || st.Status != "Failure" || st.Code != code || st.Reason != reason {
		a.e.Errorf("%s: want a Status %d %s, got %s", a.request, code, reason, bytes.TrimSpace(a.body))
	}
	return st
}

// newer reports whether revision a is after b; they are decimal since
// Kubernetes 1.35.
func newer(a, b string) bool {
	return len(a) > len(b) || len(a) == len(b) && a > b
}

func sprint(format string, args ...any) string { return fmt.Sprintf(format, args...) }
