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
	plant     string           // appended to every text that the protocol does not need
}

// start serves h, which does not change from then on.
func (h *hostile) start(t *testing.T) *hostile {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	h.URL = srv.URL
	return h
}

func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Add("Warning", `299 - "warned `+strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1 // which net/http refuses
		}
		return r
	}, h.plant)+`"`)
	reply := func(o any) { _ = json.NewEncoder(w).Encode(o) }
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	asTable := strings.Contains(r.Header.Get("Accept"), "as=Table")
	switch {
	case r.URL.Path == "/version":
		reply(map[string]any{"gitVersion": "v1.35.0" + h.plant})
	case r.URL.Path == "/api":
		reply(map[string]any{"kind": "APIVersions", "versions": []string{"v1"}})
	case r.URL.Path == "/apis":
		reply(map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{}})
	case r.URL.Path == "/api/v1":
		reply(map[string]any{"kind": "APIResourceList", "groupVersion": "v1", "resources": slices.Concat([]map[string]any{
			hostileResource("pods", "Pod", true), hostileResource("nodes", "Node", false), hostileResource("namespaces", "Namespace", false),
			hostileResource("secretless", "Secretless", true),
		}, h.resources)})
	case strings.Contains(r.URL.Path, "selfsubjectreviews"):
		reply(map[string]any{"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "status": map[string]any{"userInfo": map[string]any{
			"username": "jane" + h.plant, "uid": "1" + h.plant, "groups": []string{"g" + h.plant}, "extra": map[string][]string{"k" + h.plant: {"v" + h.plant}}}}})
	case strings.Contains(r.URL.Path, "selfsubjectaccessreviews"):
		reply(map[string]any{"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": map[string]any{"allowed": false,
			"reason": "no" + h.plant, "evaluationError": "bad" + h.plant}})
	case slices.Contains(parts, "nodes"):
		w.WriteHeader(http.StatusForbidden)
		reply(h.status(http.StatusForbidden, "Forbidden"))
	case r.URL.Query().Get("sendInitialEvents") != "":
		w.WriteHeader(http.StatusUnprocessableEntity)
		reply(h.status(http.StatusUnprocessableEntity, "Invalid"))
	case parts[0] == "api" && len(parts) > 2 && r.URL.Query().Get("watch") != "":
		event := func(kind string, o any) {
			reply(map[string]any{"type": kind, "object": o})
			_ = http.NewResponseController(w).Flush()
		}
		changed := h.object(0, h.names[0])
		changed["status"] = map[string]any{"phase": "Changed" + h.plant}
		changed["metadata"].(map[string]any)["resourceVersion"] = "8"
		if asTable {
			event("MODIFIED", h.table(changed))
		} else {
			event("MODIFIED", changed)
		}
		event("ERROR", h.status(http.StatusInternalServerError, "InternalError"+h.plant))
	case parts[0] == "api" && len(parts) > 2:
		var objects []map[string]any
		for i, name := range h.names {
			objects = append(objects, h.object(i, name))
		}
		if asTable {
			reply(h.table(objects...))
			return
		}
		reply(map[string]any{"kind": "PodList", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "7"}, "items": objects})
	default:
		w.WriteHeader(http.StatusNotFound)
		reply(h.status(http.StatusNotFound, "NotFound"))
	}
}

func (h *hostile) status(code int, reason string) map[string]any {
	return map[string]any{"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": "failed" + h.plant,
		"details": map[string]any{"name": "n" + h.plant, "kind": "k" + h.plant, "causes": []any{map[string]any{"reason": "r" + h.plant, "message": "m" + h.plant, "field": "f" + h.plant}}}}
}

func (h *hostile) object(i int, name string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": name, "namespace": "default", "uid": fmt.Sprint(i), "resourceVersion": "7",
			"labels": map[string]any{"app" + h.plant: "a" + h.plant, "tier": "t" + h.plant}, "annotations": map[string]any{"note": "n" + h.plant}},
		"spec":   map[string]any{"nodeName": "n" + h.plant, "text": h.plant, "k" + h.plant: "v"},
		"status": map[string]any{"phase": "Running" + h.plant, "reason": "r" + h.plant}}
}

func (h *hostile) table(objects ...map[string]any) map[string]any {
	rows := []any{}
	for _, o := range objects {
		rows = append(rows, map[string]any{"object": o, "cells": []any{o["metadata"].(map[string]any)["name"], "cell" + h.plant, map[string]any{"k" + h.plant: h.plant}}})
	}
	return map[string]any{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": map[string]any{"resourceVersion": "7"}, "rows": rows,
		"columnDefinitions": []any{map[string]any{"name": "Name", "type": "string", "format": "name"},
			map[string]any{"name": "Cell" + h.plant, "type": "string"}, map[string]any{"name": "Map" + h.plant, "type": "string", "format": h.plant}}}
}

func hostileResource(plural, kind string, namespaced bool) map[string]any {
	return map[string]any{"name": plural, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": []string{"list", "watch", "get"}}
}
