// Package refusal has the errors that a page gets in place of an answer.
package refusal

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/review"
)

// Error is an error as PROTOCOL.md has it.
type Error struct {
	Code   int
	Reason string
	Text   string
}

func (e *Error) Error() string { return e.Text }

// Invalid refuses what the request says.
func Invalid(format string, args ...any) error {
	return &Error{http.StatusBadRequest, "invalid", printable.Cut(printable.Line(fmt.Sprintf(format, args...)), 1000)}
}

// NotFound refuses a request for what there is not.
func NotFound(format string, args ...any) error {
	return &Error{http.StatusNotFound, "notfound", printable.Cut(printable.Line(fmt.Sprintf(format, args...)), 1000)}
}

// Login refuses a token of a person that the server does not know.
var Login = &Error{http.StatusUnauthorized, "unauthorized", review.ErrToken.Error()}

// Of says what err is to the page.
func Of(err error) *Error {
	var r *Error
	var rights *review.RightsError
	switch {
	case errors.As(err, &r):
		return r
	case errors.Is(err, review.ErrToken):
		return Login
	case errors.As(err, &rights):
		return &Error{http.StatusServiceUnavailable, "unavailable", rights.Error()}
	case errors.Is(err, kube.ErrForbidden):
		return &Error{http.StatusForbidden, "forbidden", printable.Line(err.Error())}
	case errors.Is(err, kube.ErrNotFound):
		return &Error{http.StatusNotFound, "notfound", printable.Line(err.Error())}
	}
	return &Error{http.StatusServiceUnavailable, "unavailable", printable.Cut(printable.Line(err.Error()), 1000)}
}

// Write answers a request with an error.
func Write(w http.ResponseWriter, err error) {
	r := Of(err)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Del("ETag")
	w.WriteHeader(r.Code)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string]string{"error": r.Text, "reason": r.Reason}) // an error: the client has left
}
