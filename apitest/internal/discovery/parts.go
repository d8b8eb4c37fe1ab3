package discovery

import (
	"crypto/sha512"
	"fmt"
	"net/http"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// root responds to /: the existing paths.
func root(w http.ResponseWriter, resources []*object.Info) {
	paths := []string{"/api", "/api/v1", "/apis", "/apis/"}
	seen := map[string]bool{}
	for _, r := range resources {
		if r.Group == "" {
			continue
		}
		for _, p := range [...]string{"/apis/" + r.Group, "/apis/" + r.APIVersion()} {
			if !seen[p] {
				paths = append(paths, p)
			}
			seen[p] = true
		}
	}
	paths = append(paths, "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/readyz", "/version")
	wire.WriteJSON(w, http.StatusOK, "application/json", wire.Indented(object.Marshal(struct {
		Paths []string `json:"paths"`
	}{columns.Sorted(paths)})))
}

// version responds to /version.
func version(w http.ResponseWriter) {
	wire.WriteJSON(w, http.StatusOK, "application/json", wire.Indented(object.Marshal(struct {
		Major                 string `json:"major"`
		Minor                 string `json:"minor"`
		EmulationMajor        string `json:"emulationMajor"`
		EmulationMinor        string `json:"emulationMinor"`
		MinCompatibilityMajor string `json:"minCompatibilityMajor"`
		MinCompatibilityMinor string `json:"minCompatibilityMinor"`
		GitVersion            string `json:"gitVersion"`
		GitCommit             string `json:"gitCommit"`
		GitTreeState          string `json:"gitTreeState"`
		BuildDate             string `json:"buildDate"`
		GoVersion             string `json:"goVersion"`
		Compiler              string `json:"compiler"`
		Platform              string `json:"platform"`
	}{"1", "37", "1", "37", "1", "36", Version, "", "clean", "1970-01-01T00:00:00Z", "go1.26", "gc", "linux/amd64"})))
}

// undiscoverable returns why discovery cannot respond to r: it only supports reads, and
// only JSON, and YAML that is converted from it. Groups are served by a part of the
// server that is less strict and has other texts.
func undiscoverable(r *http.Request, path string) *kube.Status {
	groups := path == "apis" || strings.HasPrefix(path, "apis/") && strings.Count(path, "/") == 1 // which take any method
	if r.Method != http.MethodGet && !groups {
		return wire.MethodNotAllowed()
	}
	if wire.TakesStatus(r) || wantsAggregated(r) != "" && (path == "api" || path == "apis") { // who would rather have protobuf gets JSON
		return nil
	}
	const all = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
	if groups || path == "api" {
		return wire.NotAcceptable("only the following media types are accepted: " + all)
	}
	st := wire.NotAcceptable("406: Not Acceptable\n\nAvailable representations: " + all)
	st.Details = &kube.StatusDetails{}
	return st
}

// cached sends a cacheable response: with an ETag, and with 304 if the client has it.
// control is the Cache-Control header.
func cached(w http.ResponseWriter, r *http.Request, contentType, control string, body []byte) {
	tag := fmt.Sprintf("%q", fmt.Sprintf("%X", sha512.Sum512(body)))
	h := w.Header()
	h.Set("Etag", tag)
	h.Set("Vary", "Accept")
	h.Set("Cache-Control", control)
	if asked := r.Header.Get("If-None-Match"); asked == "*" || asked != "" && strings.Contains(asked, tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	w.Write(body) // an error means that the client has left
}
