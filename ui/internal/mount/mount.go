// Package mount serves a handler below a path.
package mount

import (
	"errors"
	"net/http"
	"path"
	"strings"
)

// Below returns next without base, such as /live, in front of the paths of its requests.
// Requests that do not have it, as a proxy has removed it, are passed on as they are. A
// request for base itself is redirected: the relative links of a page need the slash. The
// empty base is none.
func Below(base string, next http.Handler) (http.Handler, error) {
	if base == "" {
		return next, nil
	}
	if base[0] != '/' || base == "/" || path.Clean(base) != base || strings.ContainsAny(base, "?#;%\\ ") {
		return nil, errors.New(`want a path such as "/live", without a slash at its end`)
	}
	stripped := http.StripPrefix(base, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == base:
			w.Header().Set("Location", base+"/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		case strings.HasPrefix(r.URL.Path, base+"/"):
			stripped.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	}), nil
}
