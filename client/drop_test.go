package client_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// managed is a type with the managedFields of its objects.
type managed struct {
	Metadata struct {
		kube.Meta
		ManagedFields []struct {
			Manager string `json:"manager"`
		} `json:"managedFields"`
	} `json:"metadata"`
}

func (m managed) GetNamespace() string       { return m.Metadata.Namespace }
func (m managed) GetName() string            { return m.Metadata.Name }
func (m managed) GetResourceVersion() string { return m.Metadata.ResourceVersion }

// accepts returns the Accept headers of a list and a Get of a collection from a server
// that has no representation with parameters if refuse.
func accepts[T kube.Object](t *testing.T, res kube.Resource, encoding client.Encoding, refuse bool) (headers []string) {
	t.Helper()
	var mu sync.Mutex
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		headers = append(headers, r.Header.Get("Accept"))
		if refuse && r.Header.Get("Accept") != "application/json" {
			w.WriteHeader(http.StatusNotAcceptable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"ConfigMapList","metadata":{"name":"a","resourceVersion":"1"},"items":[]}`))
	}))
	t.Cleanup(srv.Close)
	c, err := client.New(client.Config{Server: srv.URL, Encoding: encoding})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	col := client.Of[T](c, res).In("d")
	a, err := col.Fetch(t.Context(), &client.Request{Path: col.Path(), Accept: col.Accept.List})
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
	if _, err := col.Get(t.Context(), kube.Key{Namespace: "d", Name: "a"}); err != nil {
		t.Fatal(err)
	}
	return headers
}

// TestManagedFieldsAreNotRequested: the server is asked to leave them out for types that
// have no use for them, and not after it refused the request.
func TestManagedFieldsAreNotRequested(t *testing.T) {
	const drop, plain = "application/json;drop=metadata.managedFields", "application/json"
	const binary = "application/vnd.kubernetes.protobuf;drop=metadata.managedFields,"
	const partial = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	const partialList = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	gadgets := kube.Resource{Group: "example.com", Version: "v1", Plural: "gadgets", Kind: "Gadget", Namespaced: true}
	type small struct {
		kube.Meta `json:"metadata"`
		Data      map[string]string `json:"data"`
	}
	for name, c := range map[string]struct{ got, want []string }{
		"Raw":                   {accepts[codec.Raw](t, kube.ConfigMaps, client.EncodingAuto, false), []string{drop, drop}},
		"RawFull":               {accepts[codec.RawFull](t, kube.ConfigMaps, client.EncodingAuto, false), []string{plain, plain}},
		"Partial":               {accepts[kube.Partial](t, kube.ConfigMaps, client.EncodingJSON, false), []string{plain + partialList + ";drop=metadata.managedFields", plain + partial + ";drop=metadata.managedFields"}},
		"a struct in protobuf":  {accepts[small](t, kube.ConfigMaps, client.EncodingAuto, false), []string{binary + drop, binary + drop}},
		"a struct in JSON":      {accepts[small](t, gadgets, client.EncodingAuto, false), []string{drop, drop}},
		"a type with them":      {accepts[managed](t, gadgets, client.EncodingAuto, false), []string{plain, plain}},
		"a pointer to a struct": {accepts[*small](t, gadgets, client.EncodingAuto, false), []string{drop, drop}},
		"a server that refuses": {accepts[codec.Raw](t, kube.ConfigMaps, client.EncodingAuto, true), []string{drop, plain, plain}},
		"protobuf it refuses":   {accepts[small](t, kube.ConfigMaps, client.EncodingAuto, true), []string{binary + drop, plain, plain}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestGarbledJSONIsRequestedOnce: only protobuf that cannot be decoded is requested again,
// in JSON.
func TestGarbledJSONIsRequestedOnce(t *testing.T) {
	var requests atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"metadata":`))
	}))
	t.Cleanup(srv.Close)
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	if _, err := client.Of[codec.Raw](c, kube.ConfigMaps).Get(t.Context(), kube.Key{Namespace: "d", Name: "a"}); err == nil || requests.Load() != 1 {
		t.Errorf("%v after %d requests", err, requests.Load())
	}
}
