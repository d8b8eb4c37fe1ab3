package crd_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
)

// TestCheckReadsWhatIsStored: the server drops what a version lacks when it reads in that
// version. If another version is stored from now on, the objects are read in both.
func TestCheckReadsWhatIsStored(t *testing.T) {
	type narrow struct {
		kube.Meta `json:"metadata"`
		Spec      struct {
			B string `json:"b,omitempty" crd:"max=1"`
		} `json:"spec"`
	}
	type wide struct {
		kube.Meta `json:"metadata"`
		Spec      struct {
			A string `json:"a,omitempty"`
			B string `json:"b,omitempty" crd:"max=1"`
		} `json:"spec"`
	}
	boxes := func(version string) kube.Resource {
		return kube.Resource{Group: "example.com", Version: version, Plural: "boxes", Kind: "Box", Namespaced: true}
	}
	before, err := crd.Of[wide](boxes("v1"), crd.Options{Also: []crd.Version{crd.VersionOf[narrow]("v2", crd.VersionOptions{})}})
	if err != nil {
		t.Fatal(err)
	}
	after, err := crd.Of[narrow](boxes("v2"), crd.Options{Also: []crd.Version{crd.VersionOf[wide]("v1", crd.VersionOptions{})}})
	if err != nil {
		t.Fatal(err)
	}
	lost := crd.Fault{Path: "spec.a", Message: "is not in the version v2, which is stored, and no webhook converts", Pruned: true}
	long := crd.Fault{Path: "spec.b", Message: "has 2 characters: want at most 1"}
	want := []crd.Invalid{{Key: kube.Key{Namespace: "default", Name: "x"}, Faults: []crd.Fault{long, lost}}}
	for _, tt := range []struct {
		name           string
		old            *crd.Definition
		storedVersions string
	}{
		{"the storage version changes", before, `["v1"]`},
		{"it changed before", after, `["v1","v2"]`},
	} {
		old, err := tt.old.JSON()
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			object := func(version, spec string) {
				fmt.Fprintf(w, `{"apiVersion":"example.com/%[1]s","kind":"BoxList","metadata":{"resourceVersion":"1"},"items":[{"apiVersion":"example.com/%[1]s","kind":"Box","metadata":{"name":"x","namespace":"default"},"spec":%[2]s}]}`, version, spec)
			}
			switch {
			case strings.Contains(r.URL.Path, "/v1/boxes"):
				object("v1", `{"a":"precious","b":"yy"}`)
			case strings.Contains(r.URL.Path, "/v2/boxes"):
				object("v2", `{"b":"yy"}`)
			default:
				fmt.Fprintf(w, `%s,"status":{"storedVersions":%s}}`, strings.TrimSuffix(strings.TrimSpace(string(old)), "}"), tt.storedVersions)
			}
		}))
		c, err := client.New(client.Config{Server: srv.URL})
		if err != nil {
			t.Fatal(err)
		}
		got, err := crd.Check(t.Context(), c, after)
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		c.CloseIdleConnections()
		srv.Close()
	}
}
