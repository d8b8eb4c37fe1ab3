package client

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"
)

// Trace is a set of hooks, each of which may be nil, like [httptrace.ClientTrace]: for
// metrics, logs and spans. They are called in the goroutine of the request, so
// concurrently, and should not block. No hook gets a credential.
type Trace struct {
	// Start is called before a request is sent, and before it is sent again.
	Start func(RoundTrip)

	// Done is called when the response headers have arrived, or the request has failed.
	Done func(RoundTrip)

	// Redial is called when new requests begin to use new connections, with the reason.
	// Requests in progress, such as watches, continue on the old connections.
	Redial func(Reason)

	// Rotated is called with nil when a new token, certificate or CA is used, and with an error
	// when a file cannot be read again: then its old content stays in use.
	Rotated func(error)
}

// RoundTrip is one request that is sent, and the headers of its response. A request that
// is sent again is another RoundTrip.
type RoundTrip struct {
	ID     uint64 // the same in Start and Done; counts the round trips of the process
	Method string
	Path   string // without the query: selectors and continue tokens may be confidential, and are long
	Watch  bool
	Again  bool          // the request is sent again, with a newer credential
	Wait   time.Duration // time that the rate limit delayed it

	// For Done only; all except Duration and Err are zero without a response.
	Duration time.Duration // until the headers
	Code     int
	Proto    string // such as "HTTP/2.0"
	Reused   bool   // the connection was used before
	Err      error  // why there is no response

	// AuditID identifies the request in the audit log of the server. See
	// https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/.
	AuditID string

	// FlowSchema and PriorityLevel are the UIDs of the objects by which the server classified the
	// request. See https://kubernetes.io/docs/concepts/cluster-administration/flow-control/.
	FlowSchema    string
	PriorityLevel string
}

// Reason is why new requests use new connections.
type Reason string

// Values of Reason.
const (
	Silent  Reason = "silent"  // a server was silent for too long
	Rotated Reason = "rotated" // another client certificate, or other CAs
	Aged    Reason = "aged"    // Config.MaxConnAge
)

// roundTrips is the last RoundTrip.ID.
var roundTrips atomic.Uint64

// start begins a round trip, and returns the function to call at its end. hide removes
// credentials.
func (t *Trace) start(ctx context.Context, rd RoundTrip, hide func(string) string) (context.Context, func(*http.Response, error)) {
	if t == nil || t.Start == nil && t.Done == nil {
		return ctx, func(*http.Response, error) {}
	}
	rd.ID = roundTrips.Add(1)
	if t.Start != nil {
		t.Start(rd)
	}
	if t.Done == nil {
		return ctx, func(*http.Response, error) {}
	}
	began := time.Now()
	var reused atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) { reused.Store(i.Reused) },
	})
	return ctx, func(resp *http.Response, err error) {
		rd.Duration, rd.Err = time.Since(began), err
		if err == nil {
			rd.Code, rd.Proto, rd.Reused = resp.StatusCode, resp.Proto, reused.Load()
			rd.AuditID, rd.FlowSchema, rd.PriorityLevel = identifiers(resp.Header)
			for _, id := range []*string{&rd.AuditID, &rd.FlowSchema, &rd.PriorityLevel} {
				*id = hide(*id)
			}
		}
		t.Done(rd)
	}
}

func (t *Trace) redial(why Reason) {
	if t != nil && t.Redial != nil {
		t.Redial(why)
	}
}

func (t *Trace) rotated(err error) {
	if t != nil && t.Rotated != nil {
		t.Rotated(err)
	}
}

// identifiers returns the identifiers that the server assigned to a request.
func identifiers(h http.Header) (audit, flow, level string) {
	return identifier(h, "Audit-Id"), identifier(h, "X-Kubernetes-Pf-Flowschema-Uid"), identifier(h, "X-Kubernetes-Pf-Prioritylevel-Uid")
}

// identifier returns a header for logs and errors; empty if it is not an identifier.
func identifier(h http.Header, name string) string {
	v := h.Get(name)
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(v) > 64 || strings.ContainsFunc(v, odd) {
		return ""
	}
	return v
}
