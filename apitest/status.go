package apitest

import (
	"net/http"

	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// WriteStatus responds to a request with st, as kube-apiserver does, with Retry-After
// if st.Details has it. It is for handlers of [Server.On].
func WriteStatus(w http.ResponseWriter, st *kube.Status) { wire.WriteStatus(w, st) }

// StatusExpired returns the response to a watch from a revision that is too old: 410
// Expired. oldest is the first available revision.
func StatusExpired(asked, oldest uint64) *kube.Status { return wire.Expired(asked, oldest) }

// StatusTooLarge returns the response that a LIST at a revision ahead of the server gets, after
// three seconds: 504 Timeout with the cause ResourceVersionTooLarge.
func StatusTooLarge(asked, current uint64) *kube.Status { return wire.TooLarge(asked, current) }

// StatusInternal returns a 500 InternalError.
func StatusInternal(message string) *kube.Status { return wire.Internal(message) }

// StatusForbidden returns the 403 of a user who may not verb res in namespace.
func StatusForbidden(user, verb string, res kube.Resource, namespace string) *kube.Status {
	return wire.Forbidden(user, verb, res, namespace)
}

// StatusUnauthorized returns a 401.
func StatusUnauthorized() *kube.Status { return wire.Unauthorized() }

// StatusThrottled returns a 429 with Retry-After, in seconds; 0 = without that header.
func StatusThrottled(retryAfter int) *kube.Status { return wire.Throttled(retryAfter) }

// StatusContinueExpired returns the response to a LIST with a continue token that is too old: 410
// Expired, with a token that continues inconsistently. For an invalid token it returns the error
// of an invalid token; for "" a 410 without a token.
func StatusContinueExpired(token string) *kube.Status { return store.ExpiredToken(token) }
