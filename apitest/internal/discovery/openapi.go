package discovery

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/apitest/internal/wire"
)

// openAPIv2 responds to /openapi/v2 with a document that has no types. kubectl requires
// the document for files that contain a List, and validates no object of unknown types:
// the server does that.
func openAPIv2(w http.ResponseWriter, r *http.Request) {
	const binary = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	w.Header().Set("Vary", "Accept")
	accepted := wire.Clauses(r)
	if wire.AcceptsNothing(r) {
		accepted = []wire.Clause{{Type: wire.TypeJSON}}
	}
	for _, c := range accepted {
		switch c.Type {
		case wire.TypeJSON, "*/*", "application/*":
			wire.WriteJSON(w, http.StatusOK, wire.TypeJSON, []byte(`{"swagger":"2.0","info":{"title":"Kubernetes","version":"1.37"},"paths":{}}`))
			return
		case binary, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf":
			wire.WriteJSON(w, http.StatusOK, binary, []byte("\n\x032.0\x12\x12\n\nKubernetes\x12\x041.37"))
			return
		}
	}
	w.WriteHeader(http.StatusNotAcceptable)
}

// openAPI responds to /openapi/v3 and below, for every method: the types of
// kube-apiserver without their descriptions, and those of custom resources. See
// https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-interface-definition.
//
// The index has a hash of the content of each document. A request with that hash may be
// cached permanently; one with another hash is redirected.
func (d *Documents) openAPI(w http.ResponseWriter, r *http.Request, resources []*object.Info) {
	var custom []*schema.Type
	for _, i := range resources {
		if !i.BuiltIn {
			custom = append(custom, i.Type())
		}
	}
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/openapi/v3"), "/")
	if r.URL.Path == "/openapi/v3" {
		index, err := d.list(custom)
		if err != nil {
			wire.WriteStatus(w, wire.Raw("%v", err))
			return
		}
		wire.WriteJSON(w, http.StatusOK, "text/plain; charset=utf-8", index)
		return
	}
	body, at, err := d.document(name, custom)
	switch {
	case errors.Is(err, schema.ErrUnknown):
		w.WriteHeader(http.StatusNotFound)
		return
	case err != nil:
		wire.WriteStatus(w, wire.Raw("%v", err))
		return
	}
	hash := ""
	if u, err := url.Parse(at); err == nil {
		hash = u.Query().Get("hash")
	}
	document(w, r, body, at, hash)
}

// document sends one document, at a URL with its hash.
func document(w http.ResponseWriter, r *http.Request, body []byte, at, hash string) {
	tag := `"` + hash + `"`
	h := w.Header()
	h.Set("Vary", "Accept")
	if !takesDocument(r) {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	h.Set("Etag", tag)
	asked := r.URL.Query()["hash"]
	switch {
	case len(asked) > 0 && !slices.Contains(asked, hash):
		h.Set("Location", at)
		h.Set("Content-Type", wire.TypeJSON)
		w.WriteHeader(http.StatusMovedPermanently)
		return
	case len(asked) > 0:
		h.Set("Cache-Control", "public, immutable")
		h.Set("Expires", time.Now().AddDate(1, 0, 0).UTC().Format(time.RFC1123))
	}
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", wire.TypeJSON)
	w.WriteHeader(http.StatusOK)
	w.Write(body) // an error means that the client has left
}

// takesDocument reports whether r accepts JSON, or the protobuf form of OpenAPI, in
// place of which it gets JSON.
func takesDocument(r *http.Request) bool {
	for _, c := range wire.Clauses(r) {
		switch c.Type {
		case wire.TypeJSON, "*/*", "application/*", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf":
			return true
		}
	}
	return wire.AcceptsNothing(r)
}
