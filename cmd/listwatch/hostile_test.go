package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// hostile is an API server whose texts are planted: apitest refuses to serve such.
type hostile struct {
	URL       string
	resources []map[string]any // of core/v1, beside pods, nodes and namespaces
	names     []string         // of objects, of each type
}

func newHostile(t *testing.T, names ...string) *hostile {
	h := &hostile{names: names}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	h.URL = srv.URL
	return h
}

func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	reply := func(o any) { _ = json.NewEncoder(w).Encode(o) }
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/api":
		reply(map[string]any{"kind": "APIVersions", "versions": []string{"v1"}})
	case r.URL.Path == "/apis":
		reply(map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{}})
	case r.URL.Path == "/api/v1":
		reply(map[string]any{"kind": "APIResourceList", "groupVersion": "v1", "resources": slices.Concat([]map[string]any{
			hostileResource("pods", "Pod", true), hostileResource("nodes", "Node", false), hostileResource("namespaces", "Namespace", false),
		}, h.resources)})
	case parts[0] == "api" && len(parts) > 2:
		var items []any
		for i, name := range h.names {
			items = append(items, map[string]any{"metadata": map[string]any{"name": name, "namespace": "default", "uid": fmt.Sprint(i), "resourceVersion": "7"}})
		}
		reply(map[string]any{"kind": "List", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "7"}, "items": items})
	default:
		http.NotFound(w, r)
	}
}

func hostileResource(plural, kind string, namespaced bool) map[string]any {
	return map[string]any{"name": plural, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": []string{"list", "watch", "get"}}
}
