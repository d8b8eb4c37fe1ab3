package faults

import (
	"net/http"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// Stale answers a LIST as of rv, as a replica of the server that lags behind.
func Stale(rv kube.Revision) http.HandlerFunc {
	if _, err := strconv.ParseUint(string(rv), 10, 64); err != nil {
		panic("apitest: Stale: want a decimal revision")
	}
	return quirk(func(q *apitest.Quirks) { q.Revision = rv })
}

// Behind answers a LIST as of n revisions ago, or as far back as the history
// goes: a replica of the server that lags.
func Behind(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := apitest.ExchangeOf(r)
		x.Quirks().Revision = x.Server().RevisionBefore(n)
		apitest.Continue(w, r)
	}
}

// TooLarge answers 504, at once, with the cause ResourceVersionTooLarge: the
// server, or this replica of it, has yet to reach the revision that the client
// names, or any at all where it names none.
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

// numberOf returns the number that s is, 0 if it is none.
func numberOf(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// ExpireContinue answers a page of a LIST with 410 Expired, with a token to go
// on inconsistently; what brings no token gets none.
func ExpireContinue() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		apitest.WriteStatus(w, apitest.StatusContinueExpired(r.URL.Query().Get("continue")))
	}
}

// ExpireContinueForGood is ExpireContinue without a token.
func ExpireContinueForGood() http.HandlerFunc { return Answer(apitest.StatusContinueExpired("")) }

// RejectInitialEvents answers 422, as a server without streaming lists does.
func RejectInitialEvents() http.HandlerFunc {
	const why = "Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
	return Answer(&kube.Status{Code: http.StatusUnprocessableEntity, Reason: "Invalid",
		Message: `ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: ` + why,
		Details: &kube.StatusDetails{Group: "meta.k8s.io", Kind: "ListOptions",
			Causes: []kube.StatusCause{{Reason: "FieldValueForbidden", Message: why, Field: "sendInitialEvents"}}}})
}

// Forget makes the server forget its history up to now, as [Server.Compact]
// does, and goes on: before the second page of a LIST it is a compaction in
// mid-list.
func Forget() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := apitest.ExchangeOf(r).Server()
		s.Compact(s.Tick())
		apitest.Continue(w, r)
	}
}

// Recreate deletes the first object that the request is about and creates it
// anew, under another UID, before it goes on: what a client may find that was
// away. Of a continued list it is the first of the whole.
func Recreate() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		apitest.ExchangeOf(r).Recreate()
		apitest.Continue(w, r)
	}
}

// Crash is [Server.Restart] where the answer is due.
func Crash() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := apitest.ExchangeOf(r)
		x.Server().Restart()
		x.Abort()
	}
}

// Restore is [Server.RestoreTo] where the answer is due: to the state of n
// revisions ago, or as far back as the history goes.
func Restore(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := apitest.ExchangeOf(r)
		x.Server().Rewind(n)
		x.Abort()
	}
}

// Rotated is [Server.Rotate], before it goes on.
func Rotated() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		apitest.ExchangeOf(r).Server().Rotate()
		apitest.Continue(w, r)
	}
}

// Down resets every connection and lets new ones meet door for d. Hanging stalls
// TLS handshakes too; Untrusted, Outdated and HTTP1 serve, but not as before.
func Down(door apitest.Door, d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := apitest.ExchangeOf(r)
		x.Server().Down(door, d)
		x.Abort()
	}
}
