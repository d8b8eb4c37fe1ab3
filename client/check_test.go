package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// untagged has forgotten the tag of its metadata.
type untagged struct {
	kube.Meta
	Data map[string]string `json:"data"`
}

// misnamed has another name in it.
type misnamed struct {
	kube.Meta `json:"meta"`
}

// wrapped shows something else than its bytes.
type wrapped struct {
	Object configMap `json:"object"`
}

func (w *wrapped) GetName() string            { return w.Object.Name }
func (w *wrapped) GetNamespace() string       { return w.Object.Namespace }
func (w *wrapped) GetResourceVersion() string { return w.Object.ResourceVersion }

func TestTypesWithoutMetadataAreAnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"web"}}`})
		tag := "its field Meta needs the tag `json:\"metadata\"`"
		refused(t, client.Of[untagged](c, kube.ConfigMaps), tag)
		refused(t, client.Of[*untagged](c, kube.ConfigMaps), tag)
		refused(t, client.Of[misnamed](c, kube.ConfigMaps), tag)
		refused(t, client.Of[*wrapped](c, kube.ConfigMaps), "embed kube.Meta with the tag `json:\"metadata\"`")
		if n := len(srv.Requests()); n > 0 {
			t.Errorf("%d requests were sent", n)
		}
		if err := client.Of[*configMap](c, kube.ConfigMaps).Check(); err != nil {
			t.Error(err)
		}
		if err := client.Of[codec.RawFull](c, kube.ConfigMaps).Check(); err != nil {
			t.Error(err)
		}
	})
}

// pointed has a metadata that an object without one leaves nil.
type pointed struct {
	*kube.Meta `json:"metadata"`
}

// TestTypesThatPanicWithoutMetadataAreAnError: else one object of a careless server would
// end the process, by the first getter that is called.
func TestTypesThatPanicWithoutMetadataAreAnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t)
		srv.On(apitest.Match{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{},{"metadata":null}]}`)
		})
		for _, err := range list.New(client.Of[pointed](c, kube.ConfigMaps), list.Options{}).All(t.Context()) {
			if want := "list configmaps.v1: type client_test.pointed panics for an object without metadata: embed kube.Meta, not a pointer to it"; err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
		n := 0
		for _, err := range list.New(client.Of[*configMap](c, kube.ConfigMaps), list.Options{}).All(t.Context()) {
			if n++; err != nil {
				t.Error(err)
			}
		}
		if n != 2 {
			t.Errorf("%d objects, want 2", n)
		}
	})
}

// refused checks that each request of a collection ends at once, with an error about its
// type.
func refused[T kube.Object](t *testing.T, c client.Collection[T], hint string) {
	t.Helper()
	requests := map[string]func(context.Context) error{
		"Get": func(ctx context.Context) error { _, err := c.Get(ctx, web); return err },
		"list": func(ctx context.Context) error {
			for _, err := range list.New(c, list.Options{}).All(ctx) {
				return err
			}
			return nil
		},
		"watch": func(ctx context.Context) (last error) {
			for _, err := range watch.New(c, watch.Options{}).Events(ctx) {
				last = err
			}
			return last
		},
		"DeleteAll": func(ctx context.Context) error {
			return c.In("a").DeleteAll(ctx, client.DeleteOptions{})
		},
		"Edit": func(ctx context.Context) error { _, err := c.Edit(ctx, web, func(*T) error { return nil }); return err },
	}
	for verb, request := range requests {
		if err := request(t.Context()); err == nil || !strings.Contains(err.Error(), "does not read the metadata of an object: GetName returned") || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s of %T: %v", verb, *new(T), err)
		}
	}
}

func TestMistakesOfACollectionAreClearErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"web"}}`},
			apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"b","name":"web"}}`})
		maps := client.Of[configMap](c, kube.ConfigMaps)
		nodes := client.Of[kube.Partial](c, kube.Nodes)
		pointers := client.Of[*configMap](c, kube.ConfigMaps)
		unplural := client.Of[configMap](c, kube.Resource{Version: "v1", Plural: "configmapz", Kind: "ConfigMap", Namespaced: true})
		cluster := client.Of[configMap](c, kube.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap"})
		other := kube.Key{Namespace: "b", Name: "web"}
		const confined = `it is in namespace "b", but the collection is in "a"`
		for name, tt := range map[string]struct {
			do   func(ctx context.Context) error
			want string
		}{
			"Create of nil":       {func(ctx context.Context) error { _, err := pointers.Create(ctx, nil); return err }, "create configmaps.v1: the object is nil"},
			"Update of nil":       {func(ctx context.Context) error { _, err := pointers.Update(ctx, nil); return err }, "update configmaps.v1: the object is nil"},
			"UpdateStatus of nil": {func(ctx context.Context) error { _, err := pointers.UpdateStatus(ctx, nil); return err }, "update configmaps.v1: the object is nil"},
			"zero Resource": {func(ctx context.Context) error {
				_, err := client.Of[configMap](c, kube.Resource{}).Get(ctx, web)
				return err
			}, "the resource is zero: give client.Of a kube.Resource with a version and a plural"},
			"no plural": {func(ctx context.Context) error {
				_, err := client.Of[configMap](c, kube.Resource{Version: "v1"}).Get(ctx, web)
				return err
			}, "has no version or no plural"},
			"no client": {func(ctx context.Context) error {
				_, err := client.Of[configMap](nil, kube.ConfigMaps).Get(ctx, web)
				return err
			}, "has no client"},
			"wrong plural":         {func(ctx context.Context) error { _, err := unplural.Get(ctx, web); return err }, "the server may not serve configmapz.v1 as a namespaced resource"},
			"wrong plural, list":   {func(ctx context.Context) error { return first(list.New(unplural, list.Options{}).All(ctx)) }, "the server may not serve configmapz.v1 as a namespaced resource"},
			"Namespaced forgotten": {func(ctx context.Context) error { _, err := cluster.Get(ctx, kube.Key{Name: "web"}); return err }, "the server may not serve configmaps.v1 as a cluster scoped resource"},
			"In of a cluster":      {func(ctx context.Context) error { return first(list.New(nodes.In("a"), list.Options{}).All(ctx)) }, `the collection has the namespace "a", but nodes.v1 is cluster scoped`},
			"key of a cluster":     {func(ctx context.Context) error { _, err := nodes.Get(ctx, web); return err }, `it has the namespace "a", but nodes.v1 is cluster scoped`},
			"object of a cluster": {func(ctx context.Context) error {
				_, err := nodes.Create(ctx, kube.Partial{Meta: kube.Meta{Namespace: "a", Name: "n"}})
				return err
			}, `it has the namespace "a", but nodes.v1 is cluster scoped`},
			"Get": {func(ctx context.Context) error { _, err := maps.In("a").Get(ctx, other); return err }, confined},
			"Create": {func(ctx context.Context) error {
				_, err := maps.In("a").Create(ctx, configMapOf("b", "x", nil))
				return err
			}, confined},
			"Update": {func(ctx context.Context) error {
				o, err := maps.Get(ctx, other)
				if err == nil {
					_, err = maps.In("a").Update(ctx, o)
				}
				return err
			}, confined},
			"Edit": {func(ctx context.Context) error {
				_, err := maps.In("a").Edit(ctx, other, func(*configMap) error { return nil })
				return err
			}, confined},
			"CreateOrUpdate": {func(ctx context.Context) error {
				_, _, err := maps.In("a").CreateOrUpdate(ctx, kube.Key{Namespace: "b", Name: "new"}, func(*configMap) error { return nil })
				return err
			}, confined},
			"Patch": {func(ctx context.Context) error {
				_, err := maps.In("a").Patch(ctx, other, client.MergePatch, `{}`)
				return err
			}, confined},
			"Apply": {func(ctx context.Context) error {
				_, err := maps.In("a").With(client.WriteOptions{FieldManager: "m"}).Apply(ctx, other, `{}`, client.ApplyOptions{})
				return err
			}, confined},
			"Delete": {func(ctx context.Context) error { return maps.In("a").Delete(ctx, other, client.DeleteOptions{}) }, confined},
			"object of Apply": {func(ctx context.Context) error {
				_, err := maps.With(client.WriteOptions{FieldManager: "m"}).Apply(ctx, web, `{"metadata":{"namespace":"b"}}`, client.ApplyOptions{})
				return err
			}, `the object has the namespace "b", and the key "a"`},
			"object of CreateOrUpdate": {func(ctx context.Context) error {
				_, _, err := maps.CreateOrUpdate(ctx, kube.Key{Namespace: "a", Name: "new"}, func(o *configMap) error { o.Name = "other"; return nil })
				return err
			}, `the object has the name "other", and the key "new"`},
		} {
			if err := tt.do(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %s", name, err, tt.want)
			}
		}
		for _, r := range srv.Requests() {
			if r.Verb != "get" && r.Verb != "list" {
				t.Errorf("request %s %s", r.Verb, r.Path)
			}
		}
	})
}

func first[T any](seq func(func(T, error) bool)) (err error) {
	for _, e := range seq {
		return e
	}
	return nil
}

// subject is what is sent to a subresource.
type subject struct {
	kube.Meta `json:"metadata"`
	Spec      map[string]any `json:"spec,omitempty"`
}

func TestSubresources(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var got []string
		c := recorder(t, &got, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
		pods := client.Of[subject](c, kube.Pods).In("a")
		o := subject{Meta: kube.Meta{Name: "web"}}
		for name, tt := range map[string]struct {
			do   func(ctx context.Context) error
			want string // the request, or the error
		}{
			"eviction": {func(ctx context.Context) error { _, err := pods.Sub("eviction").Create(ctx, o); return err }, `POST /api/v1/namespaces/a/pods/web/eviction {"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"web"}}`},
			"binding":  {func(ctx context.Context) error { _, err := pods.Sub("binding").Create(ctx, o); return err }, `POST /api/v1/namespaces/a/pods/web/binding {"apiVersion":"v1","kind":"Binding","metadata":{"name":"web"}}`},
			"token": {func(ctx context.Context) error {
				_, err := client.Of[subject](c, kube.ServiceAccounts).In("a").Sub("token").Create(ctx, o)
				return err
			},
				`POST /api/v1/namespaces/a/serviceaccounts/web/token {"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","metadata":{"name":"web"}}`},
			"of its own": {func(ctx context.Context) error { _, err := pods.Sub("restart").Create(ctx, o); return err }, `create pods.v1 a/web (restart): it has no apiVersion or kind, and a subresource does not use those of its resource: add them to the Go type`},
			"status":     {func(ctx context.Context) error { _, err := pods.Sub("status").Create(ctx, o); return err }, `create pods.v1 a/web (status): the subresource "status" exists with its object: use Update, Edit or Patch`},
			"containers": {func(ctx context.Context) error { _, err := pods.Sub("ephemeralcontainers").Create(ctx, o); return err }, `create pods.v1 a/web (ephemeralcontainers): the subresource "ephemeralcontainers" exists with its object: use Update, Edit or Patch`},
			"log":        {func(ctx context.Context) error { _, err := pods.Sub("log").Create(ctx, o); return err }, `create pods.v1 a/web (log): the subresource "log" is a stream: use Client.Do`},
			"no name":    {func(ctx context.Context) error { _, err := pods.Sub("eviction").Create(ctx, subject{}); return err }, `create pods.v1 a/ (eviction): it has no name: set the name of the object that has the subresource`},
			"namespace": {func(ctx context.Context) error {
				_, err := client.Of[subject](c, kube.Pods).Sub("eviction").Create(ctx, o)
				return err
			}, `create pods.v1 web (eviction): the key has no namespace, but the resource is namespaced`},
			"Delete": {func(ctx context.Context) error {
				return pods.Sub("status").Delete(ctx, kube.Key{Name: "web"}, client.DeleteOptions{})
			}, `delete pods.v1 a/web (status): the subresource "status" has no Delete: use the collection without Sub`},
			"DeleteAll": {func(ctx context.Context) error {
				return pods.Sub("status").DeleteAll(ctx, client.DeleteOptions{})
			}, `delete all pods.v1 in a: the subresource "status" has no DeleteAll: use the collection without Sub`},
			"CreateOr": {func(ctx context.Context) error {
				_, _, err := pods.Sub("status").CreateOrUpdate(ctx, kube.Key{Name: "web"}, nil)
				return err
			}, `create or change pods.v1 a/web (status): the subresource "status" has no CreateOrUpdate or CreateOrPatch: use the collection without Sub`},
			"list": {func(ctx context.Context) error { return first(list.New(pods.Sub("status"), list.Options{}).All(ctx)) }, `list pods.v1 in a: subresource "status" cannot be listed or watched: use the collection without Sub`},
			"watch": {func(ctx context.Context) error {
				return first(watch.New(pods.Sub("status"), watch.Options{}).Events(ctx))
			}, `watch pods.v1 in a: subresource "status" cannot be listed or watched: use the collection without Sub`},
			"Once": {func(ctx context.Context) error {
				return first(watch.Once(ctx, pods.Sub("status"), "1", watch.Options{}))
			}, `subresource "status" cannot be listed or watched: use the collection without Sub`},
		} {
			got = nil
			if err := tt.do(t.Context()); err != nil {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

// TestCreateOfASubresourceReturnsItsObject: a token, and not the account.
func TestCreateOfASubresourceReturnsItsObject(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var got []string
		c := recorder(t, &got, `{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","metadata":{"name":"web"},"spec":{"audiences":["x"]}}`)
		o, err := client.Of[subject](c, kube.ServiceAccounts).In("a").Sub("token").Create(t.Context(), subject{Meta: kube.Meta{Name: "web"}})
		if err != nil || o.Spec["audiences"] == nil {
			t.Errorf("%+v, %v", o, err)
		}
	})
}

// recorder returns a client of a server that answers each request with answer.
func recorder(t *testing.T, got *[]string, answer string) *client.Client {
	srv := apitest.NewInMemory(t)
	srv.On(apitest.Match{}, func(w http.ResponseWriter, r *http.Request) {
		b := new(strings.Builder)
		if _, err := io.Copy(b, r.Body); err != nil {
			t.Error(err)
		}
		*got = append(*got, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+b.String()))
		w.Header().Set("Content-Type", "application/json")
		if _, err := w.Write([]byte(answer)); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return newClient(t, client.Config{Server: srv.URL, Dial: srv.Dial})
}

// TestNamespaceIsNoPath: proxies resolve such a path to that of all namespaces.
func TestNamespaceIsNoPath(t *testing.T) {
	srv := apitest.New(t)
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	all := client.Of[configMap](c, kube.ConfigMaps)
	for _, ns := range []string{".", "..", "a/b", "a%2fb"} {
		_, get := all.Get(t.Context(), kube.Key{Namespace: ns, Name: "a"})
		_, create := all.Create(t.Context(), configMap{Meta: kube.Meta{Namespace: ns, Name: "a"}})
		for verb, err := range map[string]error{
			"get": get, "create": create, "list": all.In(ns).Check(),
			"delete":     all.Delete(t.Context(), kube.Key{Namespace: ns, Name: "a"}, client.DeleteOptions{}),
			"delete all": all.In(ns).DeleteAll(t.Context(), client.DeleteOptions{}),
		} {
			if err == nil || !strings.Contains(err.Error(), "is not the name of a namespace") {
				t.Errorf("%s in %q: %v", verb, ns, err)
			}
		}
	}
	if n := len(srv.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// TestResourceIsNoPath: a proxy makes the path of all objects of that of "..".
func TestResourceIsNoPath(t *testing.T) {
	srv := apitest.New(t)
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	maps := client.Of[configMap](c, kube.ConfigMaps)
	parent, old := maps.Sub(".."), maps
	old.Resource.Version = "../v1"
	for _, col := range []client.Collection[configMap]{parent, old} {
		if _, err := col.Get(t.Context(), kube.Key{Namespace: "a", Name: "a"}); err == nil || !strings.Contains(err.Error(), "cannot be a part of a path") {
			t.Errorf("%s (%s): %v", col, col.Subresource, err)
		}
	}
	if n := len(srv.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
