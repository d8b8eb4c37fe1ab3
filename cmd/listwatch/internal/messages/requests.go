package messages

import (
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/internal/printable"
)

// RequestLevel is the lowest -v that logs requests, as in kubectl.
const RequestLevel = 6

// RequestLog returns hooks that log each request, its response, and new connections.
// They log neither credentials nor queries.
func RequestLog(t *Writer, server string) *client.Trace {
	server = strings.TrimRight(server, "/")
	return &client.Trace{
		Done: func(r client.RoundTrip) { t.round(server, r) },
		Redial: func(why client.Reason) {
			t.verbose("new connections from now on: "+string(why), "redial", "reason", string(why))
		},
		Rotated: func(err error) {
			if err != nil {
				t.verbose("credentials: what was read before stays in use: "+err.Error(), "rotated", "err", printable.Line(err.Error()))
				return
			}
			t.verbose("credentials: they have changed, and are used from now on", "rotated")
		},
	}
}

// round logs one request.
func (t *Writer) round(server string, r client.RoundTrip) {
	url := server + r.Path
	attrs := []any{"method", r.Method, "url", url, "watch", r.Watch, "milliseconds", r.Duration.Milliseconds()}
	text := r.Method + " " + url
	if r.Watch {
		text += " (watch)"
	}
	if r.Again {
		text += " (again, with another credential)"
		attrs = append(attrs, "again", true)
	}
	if r.Err != nil {
		t.verbose(fmt.Sprintf("%s: failed after %s: %v", text, printable.Rough(r.Duration), r.Err), "request", append(attrs, "err", printable.Line(r.Err.Error()))...)
		return
	}
	attrs = append(attrs, "code", r.Code, "proto", r.Proto, "reused", r.Reused)
	text += fmt.Sprintf(": %d in %s, %s", r.Code, printable.Rough(r.Duration), printable.Line(r.Proto))
	if r.AuditID != "" {
		text += ", audit " + r.AuditID
		attrs = append(attrs, "audit", r.AuditID)
	}
	t.verbose(text, "request", attrs...)
}

// verbose writes a line that -v asks for.
func (t *Writer) verbose(text, message string, attrs ...any) {
	if t.Log != nil && !t.Quiet {
		t.Log.Info(message, attrs...)
		return
	}
	t.Note(text)
}
