package apitest

import (
	"net/http"

	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// WriteStatus answers a request with st, as kube-apiserver does. Retry-After is
// sent where st.Details asks for it. It serves handlers given to [Server.On].
func WriteStatus(w http.ResponseWriter, st *kube.Status) { wire.WriteStatus(w, st) }

// StatusExpired returns what a watch from too old a revision gets: 410 Expired.
// oldest is the first revision that would have been served.
func StatusExpired(asked, oldest uint64) *kube.Status { return wire.Expired(asked, oldest) }

// StatusTooLarge returns what a LIST at a revision ahead of the server gets
// after 3 s: 504 Timeout with the cause ResourceVersionTooLarge.
func StatusTooLarge(asked, current uint64) *kube.Status { return wire.TooLarge(asked, current) }

// StatusInternal returns a 500 InternalError.
func StatusInternal(message string) *kube.Status { return wire.Internal(message) }

// StatusForbidden returns the 403 of a user who may not verb res in namespace.
func StatusForbidden(user, verb string, res kube.Resource, namespace string) *kube.Status {
	return wire.Forbidden(user, verb, res, namespace)
}

// StatusUnauthorized returns a 401.
func StatusUnauthorized() *kube.Status { return wire.Unauthorized() }

// StatusThrottled returns a 429; retryAfter is in seconds, 0 = no such header.
func StatusThrottled(retryAfter int) *kube.Status { return wire.Throttled(retryAfter) }

// StatusContinueExpired returns what a LIST with a continue token gets that is too old: 410
// Expired, with a token to go on inconsistently. For what is no token it is the refusal of
// that; for "" a 410 without a token.
func StatusContinueExpired(token string) *kube.Status { return store.ExpiredToken(token) }
