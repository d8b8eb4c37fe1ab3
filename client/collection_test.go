package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/internal/protojson"
	"github.com/listwatch/listwatch/kube"
)

type pod struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
}

func TestCollectionGet(t *testing.T) {
	var asked []string
	url := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.RequestURI)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"Pod","metadata":{"name":"web","namespace":"a","resourceVersion":"7"},"spec":{"nodeName":"n"}}`)
	})
	pods := client.Of[pod](newClient(t, client.Config{Server: url}), kube.Pods)
	want := pod{Meta: kube.Meta{Name: "web", Namespace: "a", ResourceVersion: "7"}}
	want.Spec.NodeName = "n"
	for _, k := range []struct {
		col client.Collection[pod]
		key kube.Key
	}{
		{pods, kube.Key{Namespace: "a", Name: "web"}},
		{pods.In("a"), kube.Key{Name: "web"}},
		{pods.In("a"), kube.Key{Namespace: "a", Name: "web"}},
	} {
		got, err := k.col.Get(t.Context(), k.key)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("Get(%v): %v (-want +got):\n%s", k.key, err, diff)
		}
	}
	wantAsked := []string{"/api/v1/namespaces/a/pods/web", "/api/v1/namespaces/a/pods/web", "/api/v1/namespaces/a/pods/web"}
	if diff := cmp.Diff(wantAsked, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestCollectionGetRefusesWhatIsNoName(t *testing.T) {
	url := newServer(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked for %s", r.RequestURI) })
	c := newClient(t, client.Config{Server: url})
	for _, name := range []string{"", ".", "..", "a/b", "a%2fb"} {
		if _, err := client.Of[pod](c, kube.Pods).Get(t.Context(), kube.Key{Namespace: "a", Name: name}); err == nil || !strings.Contains(err.Error(), "not the name") {
			t.Errorf("Get(%q): %v", name, err)
		}
	}
	if _, err := client.Of[pod](c, kube.Pods).Get(t.Context(), kube.Key{Name: "web"}); err == nil || !strings.Contains(err.Error(), "has no namespace") {
		t.Errorf("Get without a namespace: %v", err)
	}
}

func TestCollectionGetErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    http.HandlerFunc
		want string
	}{
		{"not found", http.NotFound, "does not serve this path"},
		{"not JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "sesame") }, "get nodes.v1 n: "},
		{"wrong type", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"spec":{"nodeName":["sesame"]}}`)
		}, "spec.nodeName"},
		{"cut off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		}, "unexpected EOF"},
		{"too large", func(w http.ResponseWriter, _ *http.Request) {
			var err error
			for b := make([]byte, 1<<20); err == nil; {
				_, err = w.Write(b)
			}
		}, "larger than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, client.Config{Server: newServer(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				tt.h(w, r)
			})})
			got, err := client.Of[pod](c, kube.Nodes).Get(t.Context(), kube.Key{Name: "n"})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "sesame") {
				t.Errorf("Get: %v; want an error with %q", err, tt.want)
			}
			if diff := cmp.Diff(pod{}, got); diff != "" {
				t.Errorf("an object beside an error:\n%s", diff)
			}
			if tt.name == "not found" && !errors.Is(err, kube.ErrNotFound) {
				t.Errorf("%v is not ErrNotFound", err)
			}
		})
	}
}

func TestCollectionAccept(t *testing.T) {
	c := newClient(t, client.Config{Server: "http://h"})
	partial := client.Accept{
		Object: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
		List:   "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
	}
	if diff := cmp.Diff(client.Accept{}, client.Of[pod](c, kube.Pods).Accept); diff != "" {
		t.Errorf("of a struct (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(partial, client.Of[kube.Partial](c, kube.Pods).Accept); diff != "" {
		t.Errorf("of Partial (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(partial, client.Of[*kube.Partial](c, kube.Pods).Accept); diff != "" {
		t.Errorf("of *Partial (-want +got):\n%s", diff)
	}
}

func TestCollectionQueryIsAddedToReads(t *testing.T) {
	var asked string
	url := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.RequestURI
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"metadata":{"name":"n"}}`)
	})
	nodes := client.Of[pod](newClient(t, client.Config{Server: url}), kube.Nodes)
	nodes.Query = map[string][]string{"includeObject": {"Object"}, "limit": {"1"}}
	if _, err := nodes.Get(t.Context(), kube.Key{Name: "n"}); err != nil || asked != "/api/v1/nodes/n?includeObject=Object&limit=1" {
		t.Errorf("asked for %s, %v", asked, err)
	}
	if got := nodes.Ask(map[string][]string{"limit": {"500"}}).Encode(); got != "includeObject=Object&limit=500" {
		t.Errorf("beside a query of its own: %s", got)
	}
}

func TestCollectionWhereSelectsListsAndWatches(t *testing.T) {
	var asked string
	url := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.RequestURI
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"metadata":{"name":"n"}}`)
	})
	fields, err := kube.ParseFieldSelector("metadata.name!=a")
	if err != nil {
		t.Fatal(err)
	}
	all := client.Of[pod](newClient(t, client.Config{Server: url}), kube.Nodes)
	some := all.Where(kube.LabelsSelector(map[string]string{"app": "web"}), fields)
	some.Query = map[string][]string{"limit": {"1"}}
	got := []string{all.Ask(nil).Encode(), some.Ask(nil).Encode(), some.Where(kube.Selector{}, fields).Ask(nil).Encode()}
	want := []string{"", "fieldSelector=metadata.name%21%3Da&labelSelector=app%3Dweb&limit=1", "fieldSelector=metadata.name%21%3Da&limit=1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
	if _, err := some.Get(t.Context(), kube.Key{Name: "n"}); err != nil || asked != "/api/v1/nodes/n?limit=1" {
		t.Errorf("a get sent %s, %v; want no selector", asked, err)
	}
}

// A selector in Query would select objects without the knowledge of informers: Await would
// wait for an object that is not selected.
func TestCollectionCheckRefusesSelectorsInQuery(t *testing.T) {
	for _, name := range []string{"labelSelector", "fieldSelector"} {
		pods := client.Of[pod](newClient(t, client.Config{Server: "http://h"}), kube.Pods)
		pods.Query = map[string][]string{name: {"a=b"}}
		if err := pods.Check(); err == nil || !strings.Contains(err.Error(), "use Where") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCollectionIsAValue(t *testing.T) {
	all := client.Of[pod](newClient(t, client.Config{Server: "http://h"}), kube.Pods)
	one := all.In("a")
	got := []string{all.String(), all.Path(), one.String(), one.Path(), one.In("").String()}
	want := []string{"pods.v1", "/api/v1/pods", "pods.v1 in a", "/api/v1/namespaces/a/pods", "pods.v1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names and paths (-want +got):\n%s", diff)
	}
}

// TestGetInProtobuf: an object is read in the form that the server chose, and again in
// JSON if it refuses protobuf, or says protobuf and sends something else.
func TestGetInProtobuf(t *testing.T) {
	const plain = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"d"},"data":{"k":"v"}}`
	type configMap struct {
		kube.Meta `json:"metadata"`
		Data      map[string]string `json:"data"`
	}
	binary, err := protojson.Encode([]byte(plain), "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		code     int
		body     string
		encoding client.Encoding
		requests int
	}{
		{"protobuf", 200, string(binary), client.EncodingAuto, 2},
		{"406", 406, "", client.EncodingAuto, 3},
		{"garbage", 200, "<html>", client.EncodingAuto, 3},
		{"JSON", 500, "", client.EncodingJSON, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			requests := 0
			url := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				requests++
				if strings.Contains(r.Header.Get("Accept"), protojson.MediaType) {
					w.Header().Set("Content-Type", protojson.MediaType)
					w.WriteHeader(c.code)
					fmt.Fprint(w, c.body)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, plain)
			})
			cl := newClient(t, client.Config{Server: url, Encoding: c.encoding})
			col := client.Of[configMap](cl, kube.ConfigMaps)
			want := configMap{Meta: kube.Meta{Name: "a", Namespace: "d"}, Data: map[string]string{"k": "v"}}
			for range 2 {
				if requests > 0 {
					col.Client = cl.Isolated() // which knows what cl knows
					defer col.Client.CloseIdleConnections()
				}
				got, err := col.Get(t.Context(), kube.Key{Namespace: "d", Name: "a"})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			if requests != c.requests {
				t.Errorf("%d requests, want %d", requests, c.requests)
			}
		})
	}
}

// TestWritesInProtobuf: the response to a write is read in the form that the server
// chose. A server that refuses protobuf gets the write again, one that sends something
// else does not: the object is written.
func TestWritesInProtobuf(t *testing.T) {
	const plain = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"d","resourceVersion":"2"},"data":{"k":"v"}}`
	binary, err := protojson.Encode([]byte(plain), "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		code int
		body string
		want []string // the requests
		fail bool     // the first write reports an error
	}{
		{"protobuf", 201, string(binary), []string{"POST protobuf", "PATCH protobuf", "PATCH protobuf /status"}, false},
		{"406", 406, "", []string{"POST protobuf", "POST json", "PATCH json", "PATCH json /status"}, false},
		{"garbage", 201, "<html>", []string{"POST protobuf", "PATCH json", "PATCH json /status"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			var got []string
			url := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				form := "json"
				if strings.Contains(r.Header.Get("Accept"), protojson.MediaType) {
					form = "protobuf"
				}
				mu.Lock()
				got = append(got, strings.TrimSpace(r.Method+" "+form+" "+strings.TrimPrefix(r.URL.Path[len("/api/v1/namespaces/d/configmaps"):], "/a")))
				mu.Unlock()
				if form == "json" {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, plain)
					return
				}
				w.Header().Set("Content-Type", protojson.MediaType)
				w.WriteHeader(c.code)
				fmt.Fprint(w, c.body)
			})
			col := client.Of[configMap](newClient(t, client.Config{Server: url}), kube.ConfigMaps).In("d")
			want := configMap{Meta: kube.Meta{Name: "a", Namespace: "d", ResourceVersion: "2"}, Data: map[string]string{"k": "v"}}
			created, err := col.Create(t.Context(), configMapOf("d", "a", nil))
			if (err != nil) != c.fail || c.fail && !strings.Contains(err.Error(), "the write succeeded") {
				t.Errorf("Create: %v", err)
			}
			patched, err1 := col.Patch(t.Context(), kube.Key{Name: "a"}, client.MergePatch, "{}")
			status, err2 := col.PatchStatus(t.Context(), kube.Key{Name: "a"}, "{}")
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			if c.fail {
				created = want
			}
			if diff := cmp.Diff([]configMap{want, want, want}, []configMap{created, patched, status}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			mu.Lock()
			defer mu.Unlock()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}
