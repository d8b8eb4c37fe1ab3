package apitest

import (
	"errors"
	"net/http"
	"strings"

	"github.com/listwatch/listwatch/apitest/schema"
)

// openAPI answers /openapi/v3 and below: the types of kube-apiserver without
// their texts, and those of custom resources. See
// https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-interface-definition.
func (s *Server) openAPI(w http.ResponseWriter, path string) {
	var custom []*schema.Type
	for _, r := range s.store.resources() {
		if !r.builtIn {
			custom = append(custom, r.typ())
		}
	}
	var body []byte
	var err error
	name := strings.Trim(strings.TrimPrefix(path, "openapi/v3"), "/")
	if name == "" {
		body, err = builtInTypes().Index(custom...)
	} else {
		body, err = builtInTypes().Document(name, custom...)
	}
	switch {
	case errors.Is(err, schema.ErrUnknown):
		notFound(w)
	case err != nil:
		WriteStatus(w, statusRaw("%v", err))
	default:
		writeJSON(w, http.StatusOK, "application/json", body)
	}
}
