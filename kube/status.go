package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/listwatch/listwatch/internal/clip"
)

// Kinds of Status, for errors.Is. The server sends a code and a reason; [Status.Is]
// maps them to these. See
// https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#response-status-kind.
var (
	// ErrInvalid: the request itself is invalid (400, 405, 406, 413, 415, 422), and a
	// retry without a change fails again.
	ErrInvalid = errors.New("invalid request")
	// ErrUnauthorized: the server does not accept the credentials (401).
	ErrUnauthorized = errors.New("unauthorized")
	// ErrForbidden: the user may not do this (403).
	ErrForbidden = errors.New("forbidden")
	// ErrNotFound: the object, or the whole resource, does not exist (404).
	ErrNotFound = errors.New("not found")
	// ErrExists: an object to create exists already (409 AlreadyExists).
	ErrExists = errors.New("already exists")
	// ErrConflict: the object changed since it was read (409 Conflict).
	ErrConflict = errors.New("conflict")
	// ErrGone: the server no longer has the requested history (410 Gone or Expired):
	// list again.
	ErrGone = errors.New("gone")
	// ErrThrottled: too many requests (429); retry after Status.RetryAfter.
	ErrThrottled = errors.New("throttled")
	// ErrTooLargeRevision: the requested revision is newer than the server's (504 with cause
	// ResourceVersionTooLarge). The server is behind another replica, or its etcd was
	// restored from a backup.
	ErrTooLargeRevision = errors.New("resource version too large")
	// ErrUnavailable: the server cannot respond now (500 and above, without ErrTooLargeRevision).
	ErrUnavailable = errors.New("unavailable")
)

// Status is the error response of a server, or the object of an ERROR event in a watch.
// It is an error; compare it by errors.Is with the Err values of this package, read it
// by errors.As.
type Status struct {
	Code    int    `json:"code,omitempty"`    // the HTTP code, also inside of a stream with code 200
	Reason  string `json:"reason,omitempty"`  // one CamelCase word for programs, such as "Expired"
	Message string `json:"message,omitempty"` // for people; clipped to 4 KiB when it is printed

	Details *StatusDetails `json:"details,omitempty"`

	// Metadata.Continue is set for a list page that expired: a token that continues the
	// list at a newer, inconsistent revision.
	Metadata StatusMeta `json:"metadata"`

	// RetryAfter is the pause that the server requests, from the Retry-After header or
	// from details.retryAfterSeconds; 0 = none.
	RetryAfter time.Duration `json:"-"`

	// AuditID identifies the request in the server's audit log, from the Audit-Id
	// header; empty in a stream, and if the server did not send it. Error does not show it:
	// the text of the same failure is the same, so that it may be written into a status.
	AuditID string `json:"-"`
}

// StatusMeta is the list metadata of a Status.
type StatusMeta struct {
	Continue        string `json:"continue,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// StatusDetails identifies the object that a Status is about.
type StatusDetails struct {
	Name              string        `json:"name,omitempty"`
	Group             string        `json:"group,omitempty"`
	Kind              string        `json:"kind,omitempty"` // the server sets the plural name of the resource
	UID               string        `json:"uid,omitempty"`
	Causes            []StatusCause `json:"causes,omitempty"`
	RetryAfterSeconds int           `json:"retryAfterSeconds,omitempty"`
}

// StatusCause is one of several causes, for example one invalid field.
type StatusCause struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Field   string `json:"field,omitempty"`
}

// Error returns the server's message with its code and reason, and without the objects
// that the message quotes, which may be Secrets.
func (s *Status) Error() string {
	if s == nil { // a function returned a nil *Status as an error
		s = new(Status)
	}
	msg, reason := oneLine(withoutObjects(s.Message), 4<<10), oneLine(s.Reason, 80)
	if msg == "" {
		msg = strings.ToLower(http.StatusText(s.Code))
	}
	if msg == "" {
		msg = "an error without a message"
	}
	switch {
	case s.Code == 0 && reason == "":
		return "server: " + msg
	case s.Code == 0:
		return fmt.Sprintf("server: %s (%s)", msg, reason)
	case reason == "":
		return fmt.Sprintf("server: %s (%d)", msg, s.Code)
	}
	return fmt.Sprintf("server: %s (%d %s)", msg, s.Code, reason)
}

// withoutObjects returns a server's message without the objects that it quotes, which may
// be Secrets, or have credentials in environment variables.
func withoutObjects(msg string) string {
	const before = "Invalid value: "
	var b strings.Builder
	msg = withoutTail(msg)
	for {
		head, rest, found := strings.Cut(msg, before)
		b.WriteString(head)
		if !found {
			return b.String()
		}
		b.WriteString(before)
		msg = rest
		switch {
		case strings.HasPrefix(rest, `"{`), strings.HasPrefix(rest, `"map[`):
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil { // it is cut off
				return b.String() + `"...`
			}
			b.WriteString(`"..."`)
			msg = rest[len(quoted):]
		case strings.HasPrefix(rest, "{"), strings.HasPrefix(rest, "["):
			b.WriteString("...")
			var object json.RawMessage
			d := json.NewDecoder(strings.NewReader(rest))
			if err := d.Decode(&object); err != nil {
				return b.String()
			}
			if msg = rest[d.InputOffset():]; !strings.HasPrefix(msg, ":") { // as Go prints it
				return b.String()
			}
		default:
			if i := strings.IndexAny(rest, "{ :\"\n"); i >= 0 && rest[i] == '{' { // core.PodTemplateSpec{
				return b.String() + "..."
			}
		}
	}
}

// withoutTail returns a message without an object at its end: the value that an apply has
// in place of text, the lists of a patch that do not fit, the beginning of a body, and the
// differences of a pod.
func withoutTail(msg string) string {
	for _, before := range []string{"got &", "are not identical: "} {
		if head, _, found := strings.Cut(msg, before); found {
			msg = head + strings.TrimSuffix(before, "&") + "..."
		}
	}
	if strings.HasPrefix(msg, "the object provided is unrecognized") {
		msg = msg[:max(0, strings.LastIndex(msg, " ("))]
	}
	if i := strings.Index(msg, "fields other than"); i >= 0 {
		if head, _, found := strings.Cut(msg[i:], "\n"); found {
			msg = msg[:i] + head + " ..."
		}
	}
	return msg
}

// oneLine returns at most n bytes of s, with spaces for characters that move a
// terminal's cursor or change the direction of text.
func oneLine(s string, n int) string {
	return strings.TrimSpace(clip.Text(strings.Join(strings.FieldsFunc(s, movesText), " "), n))
}

// Is reports whether target is the Err value of this package for the code or the reason
// of s. One of the two is enough: an ERROR event may lack the other.
func (s *Status) Is(target error) bool {
	if s == nil {
		return false
	}
	switch target {
	case ErrGone:
		return s.Code == http.StatusGone || s.Reason == "Expired" || s.Reason == "Gone"
	case ErrNotFound:
		return s.Code == http.StatusNotFound || s.Reason == "NotFound"
	case ErrExists:
		return s.Reason == "AlreadyExists"
	case ErrConflict:
		return s.Reason == "Conflict" || s.Code == http.StatusConflict && s.Reason != "AlreadyExists"
	case ErrUnauthorized:
		return s.Code == http.StatusUnauthorized || s.Reason == "Unauthorized"
	case ErrForbidden:
		return s.Code == http.StatusForbidden || s.Reason == "Forbidden"
	case ErrThrottled:
		return s.Code == http.StatusTooManyRequests || s.Reason == "TooManyRequests"
	case ErrTooLargeRevision:
		return s.tooLarge()
	case ErrInvalid:
		switch s.Code {
		case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
			http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
			return true
		}
		return s.Reason == "Invalid" || s.Reason == "BadRequest"
	case ErrUnavailable:
		switch s.Reason {
		case "InternalError", "ServerTimeout", "Timeout", "ServiceUnavailable":
			return !s.tooLarge()
		}
		return s.Code >= 500 && !s.tooLarge()
	}
	return false
}

// tooLarge checks the three forms that servers have used: a cause by type, a cause by
// message, and, before 1.17, only the status message.
func (s *Status) tooLarge() bool {
	if s.Code != http.StatusGatewayTimeout && s.Reason != "Timeout" {
		return false
	}
	const text = "Too large resource version"
	if s.Details != nil {
		for _, c := range s.Details.Causes {
			if c.Reason == "ResourceVersionTooLarge" || c.Message == text {
				return true
			}
		}
	}
	return strings.Contains(s.Message, text)
}

func movesText(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }
