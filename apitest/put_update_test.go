package apitest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// TestObjectsThatWerePutWithoutDefaultsCanBeChanged: kube-apiserver fills in what it
// reads from etcd, too, so that a default is no change of what may not change, and
// nobody's but the server's.
func TestObjectsThatWerePutWithoutDefaultsCanBeChanged(t *testing.T) {
	const template = `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","serviceAccountName":"s","containers":[{"name":"c","image":"i","ports":[{"containerPort":80}]}]}}`
	for _, c := range []struct {
		res    kube.Resource
		fields string
	}{
		{kube.Pods, `"spec":{"serviceAccountName":"s","containers":[{"name":"c","image":"i","ports":[{"containerPort":80}],"livenessProbe":{"exec":{"command":["x"]}}}],"volumes":[{"name":"v","secret":{"secretName":"s"}}]}`},
		{kube.Jobs, `"spec":{"selector":{"matchLabels":{"a":"b"}},` + template + `}`},
		{kube.StatefulSets, `"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},` + strings.ReplaceAll(template, "Never", "Always") + `}`},
		{kube.Deployments, `"spec":{"selector":{"matchLabels":{"a":"b"}},` + strings.ReplaceAll(template, "Never", "Always") + `}`},
		{kube.Services, `"spec":{"ports":[{"port":80}]}`},
		{kube.Secrets, `"immutable":true,"data":{"a":"Yg=="}`},
		{kube.ConfigMaps, `"immutable":true,"data":{"a":"b"}`},
		{kube.Resource{Group: "storage.k8s.io", Version: "v1", Plural: "storageclasses", Kind: "StorageClass"}, `"provisioner":"p"`},
		{kube.Resource{Group: "scheduling.k8s.io", Version: "v1", Plural: "priorityclasses", Kind: "PriorityClass"}, `"value":7`},
		{kube.Resource{Group: "discovery.k8s.io", Version: "v1", Plural: "endpointslices", Kind: "EndpointSlice", Namespaced: true}, `"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"]}],"ports":[{"port":80}]`},
	} {
		t.Run(c.res.Plural, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, namespace := apitest.NewInMemory(t), ""
				if c.res.Namespaced {
					namespace = "d"
				}
				srv.Put(c.res, `{"metadata":{"namespace":"`+namespace+`","name":"x"},`+c.fields+`}`)
				path := c.res.Path(namespace) + "/x"
				owners := took(t, srv, "PATCH", path, "application/merge-patch+json", `{"metadata":{"labels":{"seen":"yes"}}}`)
				for _, entry := range owners {
					want := map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{".": map[string]any{}, "f:seen": map[string]any{}}}}
					if diff := cmp.Diff(want, entry.FieldsV1); entry.Operation == "Update" && diff != "" {
						t.Errorf("who set a label owns more: %s", diff)
					}
				}
				srv.Put(c.res, `{"metadata":{"namespace":"`+namespace+`","name":"x"},`+c.fields+`}`)
				took(t, srv, "PUT", path, "application/json", string(srv.Get(c.res, kube.Key{Namespace: namespace, Name: "x"})))
			})
		})
	}
}

type ownedFields struct {
	Operation string
	FieldsV1  map[string]any
}

// took makes a request that must be answered 200, and returns who owns what then.
func took(t *testing.T, srv *apitest.Server, method, path, typ, body string) (owners []ownedFields) {
	t.Helper()
	resp, err := send(t.Context(), srv, method, path, body, "Content-Type", typ)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", method, resp.StatusCode, b, err)
	}
	var o struct {
		Metadata struct{ ManagedFields []ownedFields }
	}
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	return o.Metadata.ManagedFields
}

// TestMirrorInventsNoGeneration: pods of older servers have none.
func TestMirrorInventsNoGeneration(t *testing.T) {
	srv := apitest.NewInMemory(t)
	for _, meta := range []string{
		`{"name":"p","namespace":"d","uid":"u","creationTimestamp":"2026-01-02T03:04:05Z"}`,
		`{"name":"p","namespace":"d","uid":"u","generation":5,"creationTimestamp":"2026-01-02T03:04:05Z"}`,
		`{"name":"p","namespace":"d","uid":"u","creationTimestamp":"2026-01-02T03:04:05Z"}`,
	} {
		rev, err := srv.Mirror(apitest.ResourceInfo{Resource: kube.Pods}, kube.Key{Namespace: "d", Name: "p"}, []byte(`{"metadata":`+meta+`,"spec":{"containers":[]}}`))
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Metadata map[string]any }
		var want map[string]any
		if err := json.Unmarshal(srv.Get(kube.Pods, kube.Key{Namespace: "d", Name: "p"}), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(meta), &want); err != nil {
			t.Fatal(err)
		}
		want["resourceVersion"] = string(rev)
		if d := cmp.Diff(want, got.Metadata); d != "" {
			t.Error(d)
		}
	}
}

// TestMirrorReplacesAnObjectWithAnotherUID: watches see that it is deleted, and then created.
func TestMirrorReplacesAnObjectWithAnotherUID(t *testing.T) {
	synctest.Test(t, mirrorsAnotherUID)
}

func mirrorsAnotherUID(t *testing.T) {
	srv := apitest.NewInMemory(t)
	srv.Put(kube.CustomResourceDefinitions, stateCRD)
	widget := kube.Key{Namespace: "a", Name: "x"}
	for _, c := range []struct {
		r   kube.Resource
		key kube.Key
		obj string
	}{
		{kube.ConfigMaps, kube.Key{Namespace: "a", Name: "x"}, configMap("x", "1")},
		{widgetsV1, widget, `{"metadata":{"namespace":"a","name":"x"}}`},
		{kube.CustomResourceDefinitions, kube.Key{Name: "widgets.example.com"}, stateCRD},
	} {
		before := srv.Put(c.r, c.obj)
		recorded := strings.Replace(c.obj, `"metadata":{`, `"metadata":{"uid":"recorded",`, 1)
		var first, again kube.Revision
		for _, rev := range []*kube.Revision{&first, &again} { // the second one has the same UID
			var err error
			if *rev, err = srv.Mirror(apitest.ResourceInfo{Resource: c.r}, c.key, []byte(recorded)); err != nil {
				t.Fatal(err)
			}
		}
		_, events := do(t, srv, http.MethodGet, c.r.Path("")+"?watch=1&timeoutSeconds=1&resourceVersion="+string(before), "")
		var got []string
		for line := range strings.Lines(events) {
			var e struct {
				Type   string
				Object struct {
					Metadata struct{ UID, ResourceVersion string }
				}
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(e.Type, " ", e.Object.Metadata.UID == "recorded", " ", e.Object.Metadata.ResourceVersion))
		}
		added, err := strconv.Atoi(string(first))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{fmt.Sprint("DELETED false ", added-1), "ADDED true " + string(first), "MODIFIED true " + string(again)}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.r, diff)
		}
	}
	if srv.Get(widgetsV1, widget) == nil {
		t.Error("the object of a definition that was replaced is gone")
	}
}

// TestMirrorWantsANamespace, where the resource has them.
func TestMirrorWantsANamespace(t *testing.T) {
	srv := apitest.NewInMemory(t)
	obj := []byte(`{"metadata":{"name":"x"}}`)
	if rev, err := srv.Mirror(apitest.ResourceInfo{Resource: kube.ConfigMaps}, kube.Key{Name: "x"}, obj); err == nil || !strings.Contains(err.Error(), "namespace") || rev != "" {
		t.Errorf("a ConfigMap without a namespace: revision %q, error %v", rev, err)
	}
	if rev, err := srv.Mirror(apitest.ResourceInfo{Resource: kube.Nodes}, kube.Key{Name: "x"}, obj); err != nil || rev == "" {
		t.Errorf("a Node: revision %q, error %v", rev, err)
	}
}

// TestTryPutReturnsAnError where Put fails the test.
func TestTryPutReturnsAnError(t *testing.T) {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	for want, put := range map[string]func() (kube.Revision, error){
		`kind in the data ("Pod") does not match the expected kind (ConfigMap)`: func() (kube.Revision, error) {
			return srv.TryPut(kube.ConfigMaps, `{"kind":"Pod","metadata":{"name":"a","namespace":"b"}}`)
		},
		"it has no name": func() (kube.Revision, error) { return srv.TryPut(kube.ConfigMaps, `{}`) },
		"the server has no resource x.v1": func() (kube.Revision, error) {
			return srv.TryPut(kube.Resource{Version: "v1", Plural: "x"}, `{"metadata":{"name":"a"}}`)
		},
		"json: unsupported type: chan int": func() (kube.Revision, error) { return srv.TryPut(kube.ConfigMaps, make(chan int)) },
	} {
		if rv, err := put(); rv != "" || err == nil || err.Error() != want {
			t.Errorf("%q, %v, want %s", rv, err, want)
		}
	}
	if rv, err := srv.TryPut(kube.ConfigMaps, `{"metadata":{"name":"a","namespace":"b"}}`); rv == "" || err != nil || srv.Get(kube.ConfigMaps, kube.Key{Namespace: "b", Name: "a"}) == nil {
		t.Errorf("%q, %v, and the object is stored", rv, err)
	}
}
