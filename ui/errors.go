package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/review"
)

// refusal is an error as PROTOCOL.md has it.
type refusal struct {
	code   int
	reason string
	text   string
}

func (e *refusal) Error() string { return e.text }

func invalid(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, "invalid", printable.Cut(printable.Line(fmt.Sprintf(format, args...)), 1000)}
}

func notFound(format string, args ...any) error {
	return &refusal{http.StatusNotFound, "notfound", printable.Cut(printable.Line(fmt.Sprintf(format, args...)), 1000)}
}

var (
	errSession   = &refusal{http.StatusUnauthorized, "unauthorized", "this page has no session, or it has ended: open the link that the program prints"}
	errSite      = &refusal{http.StatusForbidden, "forbidden", "this is for the page itself: open it in a browser that sends Sec-Fetch-Site"}
	errBusy      = &refusal{http.StatusTooManyRequests, "busy", "too many at a time: close other tabs, or try again later"}
	errNotKept   = &refusal{http.StatusGone, "gone", "this state is not kept any more: the history's budget is used"}
	errForbidden = &refusal{http.StatusForbidden, "forbidden", "you may not see this: ask for permission to get, list and watch it"}
)

// refusalOf says what err is to the page.
func refusalOf(err error) *refusal {
	var r *refusal
	var rights *review.RightsError
	switch {
	case errors.As(err, &r):
		return r
	case errors.Is(err, review.ErrToken):
		return errLogin
	case errors.As(err, &rights):
		return &refusal{http.StatusServiceUnavailable, "unavailable", rights.Error()}
	case errors.Is(err, kube.ErrForbidden):
		return &refusal{http.StatusForbidden, "forbidden", printable.Line(err.Error())}
	case errors.Is(err, kube.ErrNotFound):
		return &refusal{http.StatusNotFound, "notfound", printable.Line(err.Error())}
	}
	return &refusal{http.StatusServiceUnavailable, "unavailable", printable.Cut(printable.Line(err.Error()), 1000)}
}

func fail(w http.ResponseWriter, err error) {
	r := refusalOf(err)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Del("ETag")
	w.WriteHeader(r.code)
	answer(w, map[string]string{"error": r.text, "reason": r.reason})
}

// answer writes v. An error means that the client has left.
func answer(w http.ResponseWriter, v any) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}
