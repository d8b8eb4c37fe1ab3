package faults

import (
	"net/http"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// Stale shows a LIST as of rv, like a replica of the server that lags behind.
func Stale(rv kube.Revision) http.HandlerFunc {
	if _, err := strconv.ParseUint(string(rv), 10, 64); err != nil {
		panic("apitest: Stale: want a decimal revision")
	}
	return quirk(func(q *apitest.Quirks) { q.Revision = rv })
}

// Behind shows a LIST as of n revisions ago, or as of the beginning of the history,
// like a replica of the server that lags behind.
func Behind(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := apitest.ExchangeOf(r)
		x.Quirks().Revision = x.Server().RevisionBefore(n)
		apitest.Continue(w, r)
	}
}

// TooLarge responds 504, at once, with the cause ResourceVersionTooLarge: the server,
// or this replica, has not reached the revision of the request yet, or any revision if
// the request has none.
func TooLarge() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		asked := numberOf(r.URL.Query().Get("resourceVersion")) // 0 is no revision either
		current := numberOf(string(apitest.ExchangeOf(r).Server().Revision()))
		if asked > 0 {
			current = min(current, asked-1)
		}
		apitest.WriteStatus(w, apitest.StatusTooLarge(max(asked, current+1), current))
	}
}

// numberOf returns the number in s, 0 if it is not a number.
func numberOf(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// ExpireContinue responds to a page of a LIST with 410 Expired, with a token that
// continues inconsistently; a request without a token gets none.
func ExpireContinue() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		apitest.WriteStatus(w, apitest.StatusContinueExpired(r.URL.Query().Get("continue")))
	}
}

// ExpireContinueForGood is ExpireContinue without a token.
func ExpireContinueForGood() http.HandlerFunc { return Answer(apitest.StatusContinueExpired("")) }

// RejectInitialEvents responds 422 to requests for initial events, like a server without
// streaming lists.
func RejectInitialEvents() http.HandlerFunc {
	const why = "Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
	reject := Answer(&kube.Status{Code: http.StatusUnprocessableEntity, Reason: "Invalid",
		Message: `ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: ` + why,
		Details: &kube.StatusDetails{Group: "meta.k8s.io", Kind: "ListOptions",
			Causes: []kube.StatusCause{{Reason: "FieldValueForbidden", Message: why, Field: "sendInitialEvents"}}}})
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("sendInitialEvents") {
			reject(w, r)
		} else {
			apitest.Continue(w, r)
		}
	}
}

// Forget drops the server's history up to now, like [Server.Compact], and continues:
// before the second page of a LIST it is a compaction between pages.
func Forget() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := apitest.ExchangeOf(r).Server()
		s.Compact(s.Tick())
		apitest.Continue(w, r)
	}
}

// Recreate deletes the first object of the request's collection and creates it again,
// with another UID, before it continues, as may happen while a client is disconnected.
// For a continued list it is the first of the whole list.
func Recreate() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		apitest.ExchangeOf(r).Recreate()
		apitest.Continue(w, r)
	}
}

// Crash is [Server.Restart] in place of the response.
func Crash() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := apitest.ExchangeOf(r)
		x.Server().Restart()
		x.Abort()
	}
}

// Restore is [Server.RestoreTo] in place of the response: to the state of n revisions
// ago, or to the beginning of the history.
func Restore(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := apitest.ExchangeOf(r)
		x.Server().Rewind(n)
		x.Abort()
	}
}

// Rotated is [Server.Rotate]; then it continues.
func Rotated() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		apitest.ExchangeOf(r).Server().Rotate()
		apitest.Continue(w, r)
	}
}

// Down resets every connection and applies door to new ones for d. Hanging also stalls
// TLS handshakes; Untrusted, Outdated and HTTP1 serve, but differently.
func Down(door apitest.Door, d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := apitest.ExchangeOf(r)
		x.Server().Down(door, d)
		x.Abort()
	}
}
