package discovery

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/wire"
)

// checks are the parts of the server's health.
var checks = []string{"ping", "log", "etcd"}

// Healthy handles the health checks, which need no credentials. It returns false
// for other requests.
func Healthy(w http.ResponseWriter, r *http.Request) bool {
	what, one, single := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case what != "healthz" && what != "livez" && what != "readyz":
		return false
	case single && !slices.Contains(checks, one):
		wire.PageNotFound(w)
		return true
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if single || !r.URL.Query().Has("verbose") {
		fmt.Fprint(w, "ok")
		return true
	}
	for _, name := range checks {
		fmt.Fprintf(w, "[+]%s ok\n", name)
	}
	fmt.Fprintf(w, "%s check passed\n", what)
	return true
}
