package apitest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// TestManagedFieldsAreLeftOut: a client may ask for objects without them
// (https://github.com/kubernetes/enhancements/issues/5958), in each form of each kind.
func TestManagedFieldsAreLeftOut(t *testing.T) {
	const drop = ";drop=metadata.managedFields"
	const partial = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	gizmos := kube.Resource{Group: "g.io", Version: "v1", Plural: "gizmos", Kind: "Gizmo", Namespaced: true}
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, NoValidation: true})
		srv.AddResource(apitest.ResourceInfo{Resource: gizmos})
		const cms, custom, watch = "/api/v1/namespaces/d/configmaps", "/apis/g.io/v1/namespaces/d/gizmos", "?watch=1&resourceVersion=0&timeoutSeconds=1"
		for path, body := range map[string]string{
			cms:    `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"managedFields":"m"}},"data":{"k":"v"}}`,
			custom: `{"apiVersion":"g.io/v1","kind":"Gizmo","metadata":{"name":"a"},"spec":{"managedFields":[1]}}`,
		} {
			if code, answer := ask(t, srv, "POST", path, body, http.Header{"Content-Type": {"application/json"}}); code != "201" {
				t.Fatalf("%s: %v", code, answer)
			}
		}
		for _, c := range []struct {
			path, accept string
			kept         bool
			also         string // is in the answer too
		}{
			{cms, "application/json", true, `"k":"v"`},
			{cms, "application/json" + drop, false, `"labels":{"managedFields":"m"}`},
			{cms + "/a", "application/json" + drop, false, `"k":"v"`},
			{cms + watch, "application/json" + drop, false, `"k":"v"`},
			{cms + watch, "application/json", true, `"k":"v"`},
			{cms, "application/vnd.kubernetes.protobuf", true, "k"},
			{cms, "application/vnd.kubernetes.protobuf" + drop, false, "k"},
			{cms + watch, "application/vnd.kubernetes.protobuf" + drop, false, "k"},
			{cms + "/a", "application/json" + drop + partial, false, `"name":"a"`},
			{custom + "/a", "application/json" + drop + partial, false, `"name":"a"`},
			{custom, "application/json" + drop, false, `"spec":{"managedFields":[1]}`},
			{custom, "application/json;drop=spec.x+metadata.managedFields", false, `"name":"a"`},
			{custom, "application/json;drop=spec.x", true, `"name":"a"`},
		} {
			r, err := http.NewRequestWithContext(t.Context(), "GET", srv.URL+c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept", c.accept)
			resp, err := srv.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if kept := strings.Contains(string(b), "FieldsV1"); err != nil || resp.StatusCode != 200 || kept != c.kept || !strings.Contains(string(b), c.also) {
				t.Errorf("%s as %s: %s, %v: %q", c.path, c.accept, resp.Status, err, b)
			}
		}
	})
}
