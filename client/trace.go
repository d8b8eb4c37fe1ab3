package client

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"
)

// Trace is a set of hooks, each of which may be nil, as in [httptrace.ClientTrace]:
// for metrics, logs and spans. They are called in the goroutine of the request,
// so by several at once, and should not block. None is shown a credential.
type Trace struct {
	// Start is called before a request is sent, and each time it is sent again.
	Start func(Round)

	// Done is called when the headers of its answer are there, or when it failed.
	Done func(Round)

	// Redial is called when new requests get new connections from now on, and the
	// reason. Requests that run, watches above all, go on where they are.
	Redial func(Reason)

	// Rotated is called with nil when another token, certificate or authority is
	// used from now on, and with an error when a file that is due to be looked at
	// again cannot be used: what it held before stays in use.
	Rotated func(error)
}

// Round is one request that is sent, and the headers of its answer. A request that
// is sent again, after a 401, is another round.
type Round struct {
	ID     uint64 // the same in Start and Done; counts the rounds of a process
	Method string
	Path   string // without the query: selectors and continue tokens may say much, and are long
	Watch  bool
	Again  bool          // the server refused the credential of the round before
	Wait   time.Duration // for the rate limit, before

	// Of Done only; all but Duration and Err are zero where there was no answer.
	Duration time.Duration // until the headers
	Code     int
	Proto    string // such as "HTTP/2.0"
	Reused   bool   // the connection served a request before
	Err      error  // there was no answer

	// AuditID is how the audit log of the server names the request. See
	// https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/.
	AuditID string

	// FlowSchema and PriorityLevel are the UIDs of what the server sorted the
	// request into. See https://kubernetes.io/docs/concepts/cluster-administration/flow-control/.
	FlowSchema    string
	PriorityLevel string
}

// Reason is why new requests get new connections.
type Reason string

// Values of Reason.
const (
	Silent  Reason = "silent"  // a server said nothing for too long
	Rotated Reason = "rotated" // another client certificate, or other authorities
	Aged    Reason = "aged"    // Config.MaxConnAge
)

// rounds counts for Round.ID.
var rounds atomic.Uint64

// start begins a round, and returns the function to call at its end. Hide takes out what
// must not be told.
func (t *Trace) start(ctx context.Context, rd Round, hide func(string) string) (context.Context, func(*http.Response, error)) {
	if t == nil || t.Start == nil && t.Done == nil {
		return ctx, func(*http.Response, error) {}
	}
	rd.ID = rounds.Add(1)
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

// identifiers returns what the server calls a request and what it sorted it into.
func identifiers(h http.Header) (audit, flow, level string) {
	return identifier(h, "Audit-Id"), identifier(h, "X-Kubernetes-Pf-Flowschema-Uid"), identifier(h, "X-Kubernetes-Pf-Prioritylevel-Uid")
}

// identifier returns a header that goes into logs and errors: nothing if it is none.
func identifier(h http.Header, name string) string {
	v := h.Get(name)
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(v) > 64 || strings.ContainsFunc(v, odd) {
		return ""
	}
	return v
}
