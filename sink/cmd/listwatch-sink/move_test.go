package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
)

// TestIDOfTheClusterIsAUID: it is a part of all that the sink stores.
func TestIDOfTheClusterIsAUID(t *testing.T) {
	for _, uid := range []string{"", strings.Repeat("a", 64), "a/b", "a b", "-é"} {
		s := newStage(t)
		s.server.On(apitest.Match{Path: "/api/v1/namespaces/kube-system"}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"kube-system","resourceVersion":"1","uid":"`+uid+`"}}`)
		}))
		if code, _, errs := s.run("pods"); code != exitFailed || !strings.Contains(errs, "set --cluster-id") {
			t.Errorf("%q: exit code %d\n%s", uid, code, errs)
		}
	}
}
