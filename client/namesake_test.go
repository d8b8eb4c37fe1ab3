package client_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// An object is deleted, and another one of its name is created, between read and write:
// what was computed from the first one is not written into the second.
func TestWritesMissANamesake(t *testing.T) {
	web := kube.Key{Namespace: "a", Name: "web"}
	for name, write := range map[string]func(client.Collection[configMap], func(*configMap) error) error{
		"CreateOrPatch": func(c client.Collection[configMap], f func(*configMap) error) error {
			_, _, err := c.CreateOrPatch(t.Context(), web, f)
			return err
		},
		"CreateOrUpdate": func(c client.Collection[configMap], f func(*configMap) error) error {
			_, _, err := c.CreateOrUpdate(t.Context(), web, f)
			return err
		},
		"Edit": func(c client.Collection[configMap], f func(*configMap) error) error {
			_, err := c.Edit(t.Context(), web, f)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := apitest.New(t)
			c, err := client.New(client.Config{Server: srv.URL})
			if err != nil {
				t.Fatal(err)
			}
			srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"web"},"data":{"owner":"first"}}`)
			replace := func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPatch || r.Method == http.MethodPut {
					srv.Delete(kube.ConfigMaps, web)
					srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"web"},"data":{"owner":"second"}}`)
				}
				apitest.Continue(w, r)
			}
			srv.On(apitest.Match{Verb: "patch", Resource: "configmaps"}, replace).Times(1)
			srv.On(apitest.Match{Verb: "update", Resource: "configmaps"}, replace).Times(1)
			err = write(client.Of[configMap](c, kube.ConfigMaps), func(m *configMap) error {
				m.Data = map[string]string{"owner": m.Data["owner"], "of": m.Data["owner"]}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := client.Of[configMap](c, kube.ConfigMaps).Get(t.Context(), web)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]string{"owner": "second", "of": "second"}, got.Data); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
		})
	}
}

type shop struct {
	kube.Meta `json:"metadata"`
	Status    struct {
		ID string `json:"id,omitempty"`
	} `json:"status,omitzero"`
}

// Servers ignore the UID in a patch of the status of a custom resource.
func TestPatchStatusFromMissesANamesake(t *testing.T) {
	shops := kube.Resource{Group: "example.com", Version: "v1", Plural: "shops", Kind: "Shop", Namespaced: true}
	for name, again := range map[string]bool{"created again": true, "changed": false} {
		t.Run(name, func(t *testing.T) {
			srv := apitest.New(t)
			c, err := client.New(client.Config{Server: srv.URL})
			if err != nil {
				t.Fatal(err)
			}
			srv.AddResource(apitest.ResourceInfo{Resource: shops, Status: true})
			k := kube.Key{Namespace: "a", Name: "x"}
			srv.Put(shops, `{"metadata":{"namespace":"a","name":"x"},"spec":{}}`)
			all := client.Of[shop](c, shops)
			before, err := all.Get(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			if again {
				srv.Delete(shops, k)
				srv.Put(shops, `{"metadata":{"namespace":"a","name":"x"},"spec":{}}`)
			} else if _, err := all.Patch(t.Context(), k, client.MergePatch, `{"metadata":{"labels":{"a":"b"}}}`); err != nil {
				t.Fatal(err)
			}
			after := before
			after.Status.ID = "of the first"
			if _, err = all.PatchStatusFrom(t.Context(), before, after, client.PatchOptions{}); errors.Is(err, kube.ErrConflict) != again {
				t.Error(err)
			}
			now, err := all.Get(t.Context(), k)
			if err != nil || (now.Status.ID == "") != again {
				t.Errorf("%v: the status is %+v", err, now.Status)
			}
		})
	}
}
