package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/causes"
	"github.com/listwatch/listwatch/internal/protojson"
	"github.com/listwatch/listwatch/kube"
)

// wireStatus is a Status in the order of kube-apiserver's fields.
type wireStatus struct {
	Kind       string              `json:"kind"`
	APIVersion string              `json:"apiVersion"`
	Metadata   kube.StatusMeta     `json:"metadata"`
	Status     string              `json:"status"`
	Message    string              `json:"message,omitempty"`
	Reason     string              `json:"reason,omitempty"`
	Details    *kube.StatusDetails `json:"details,omitempty"`
	Code       int                 `json:"code,omitempty"`
}

// EncodeStatus returns st as JSON, without a newline. A code of 0 or below 400
// means success.
func EncodeStatus(st *kube.Status) []byte {
	w := wireStatus{"Status", "v1", st.Metadata, "Failure", st.Message, st.Reason, st.Details, st.Code}
	if st.Code < http.StatusBadRequest {
		w.Status = "Success"
	}
	b, err := json.Marshal(w)
	if err != nil {
		panic(err) // strings and integers only
	}
	return b
}

// WriteStatus responds with st, as kube-apiserver does, with Retry-After if st.Details
// has it.
func WriteStatus(w http.ResponseWriter, st *kube.Status) {
	if st.Details != nil && st.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(st.Details.RetryAfterSeconds))
	}
	code := st.Code
	if code == 0 {
		code = http.StatusOK
	}
	WriteJSON(w, code, "application/json", append(EncodeStatus(st), '\n'))
}

// WriteJSON responds with body, which must not be cached.
func WriteJSON(w http.ResponseWriter, code int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache, private")
	w.WriteHeader(code)
	w.Write(body) // an error means that the client has left
}

// Expired returns the response to a watch from a revision that is too old: 410 Expired.
// oldest is the first available revision.
func Expired(asked, oldest uint64) *kube.Status {
	return &kube.Status{Code: http.StatusGone, Reason: "Expired",
		Message: fmt.Sprintf("too old resource version: %d (%d)", asked, oldest)}
}

// TooLarge returns the response, after 3 s, to a LIST at a revision ahead of the
// server: 504 Timeout with the cause ResourceVersionTooLarge.
func TooLarge(asked, current uint64) *kube.Status {
	return &kube.Status{Code: http.StatusGatewayTimeout, Reason: "Timeout",
		Message: fmt.Sprintf("Timeout: Too large resource version: %d, current: %d", asked, current),
		Details: &kube.StatusDetails{RetryAfterSeconds: 1, Causes: []kube.StatusCause{
			{Reason: "ResourceVersionTooLarge", Message: "Too large resource version"}}}}
}

// EntityTooLarge returns the 413 of a body, or of what it stands for, above the limit.
func EntityTooLarge(limit int64) *kube.Status {
	return &kube.Status{Code: http.StatusRequestEntityTooLarge, Reason: "RequestEntityTooLarge",
		Message: fmt.Sprintf("Request entity too large: limit is %d", limit), Details: &kube.StatusDetails{}}
}

// Internal returns a 500 InternalError.
func Internal(message string) *kube.Status {
	return &kube.Status{Code: http.StatusInternalServerError, Reason: "InternalError",
		Message: "Internal error occurred: " + message,
		Details: &kube.StatusDetails{Causes: []kube.StatusCause{{Message: message}}}}
}

// Forbidden returns the 403 of a user who may not verb res in namespace.
func Forbidden(user, verb string, res kube.Resource, namespace string) *kube.Status {
	where := "at the cluster scope"
	if namespace != "" {
		where = fmt.Sprintf("in the namespace %q", namespace)
	}
	return &kube.Status{Code: http.StatusForbidden, Reason: "Forbidden",
		Message: fmt.Sprintf("%s is forbidden: User %q cannot %s resource %q in API group %q %s",
			res.GroupResource(), user, verb, res.Plural, res.Group, where),
		Details: &kube.StatusDetails{Group: res.Group, Kind: res.Plural}}
}

// Unauthorized returns a 401.
func Unauthorized() *kube.Status {
	return &kube.Status{Code: http.StatusUnauthorized, Reason: "Unauthorized", Message: "Unauthorized"}
}

// Throttled returns a 429; retryAfter is in seconds, 0 = no such header.
func Throttled(retryAfter int) *kube.Status {
	return &kube.Status{Code: http.StatusTooManyRequests, Reason: "TooManyRequests",
		Message: "too many requests, please try again later.",
		Details: &kube.StatusDetails{RetryAfterSeconds: retryAfter}}
}

// Busy responds with a 429 without a body, which waits for no client.
func Busy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusTooManyRequests)
}

// NotFound returns the 404 of a missing object.
func NotFound(res kube.Resource, name string) *kube.Status {
	return &kube.Status{Code: http.StatusNotFound, Reason: "NotFound",
		Message: fmt.Sprintf("%s %q not found", res.GroupResource(), name),
		Details: &kube.StatusDetails{Name: name, Group: res.Group, Kind: res.Plural}}
}

// Exists returns the 409 of a create of an existing object.
func Exists(res kube.Resource, name string) *kube.Status {
	return &kube.Status{Code: http.StatusConflict, Reason: "AlreadyExists",
		Message: fmt.Sprintf("%s %q already exists", res.GroupResource(), name),
		Details: &kube.StatusDetails{Name: name, Group: res.Group, Kind: res.Plural}}
}

// Conflict returns the 409 of an outdated write, with the reason.
func Conflict(res kube.Resource, name, why string) *kube.Status {
	return &kube.Status{Code: http.StatusConflict, Reason: "Conflict",
		Message: fmt.Sprintf("Operation cannot be fulfilled on %s %q: %s", res.GroupResource(), name, why),
		Details: &kube.StatusDetails{Name: name, Group: res.Group, Kind: res.Plural}}
}

// BadRequest returns a 400.
func BadRequest(format string, args ...any) *kube.Status {
	return &kube.Status{Code: http.StatusBadRequest, Reason: "BadRequest", Message: fmt.Sprintf(format, args...)}
}

// StatusOf returns err if it is a Status, and else a 400 with its text.
func StatusOf(err error) *kube.Status {
	if st, ok := err.(*kube.Status); ok {
		return st
	}
	return BadRequest("%v", err)
}

// Raw returns the 500 of an unexpected error in kube-apiserver.
func Raw(format string, args ...any) *kube.Status {
	return &kube.Status{Code: http.StatusInternalServerError, Message: fmt.Sprintf(format, args...)}
}

// MethodNotAllowed returns the 405 of a verb that the resource does not support.
func MethodNotAllowed() *kube.Status {
	return &kube.Status{Code: http.StatusMethodNotAllowed, Reason: "MethodNotAllowed",
		Message: "the server does not allow this method on the requested resource",
		Details: &kube.StatusDetails{}}
}

// Invalid returns the 422 about fields of a kind, with causes within their limits.
func Invalid(group, kind, name string, wrong ...kube.StatusCause) *kube.Status {
	var list causes.List
	list.Append(wrong...)
	subject := kind
	if group != "" {
		subject += "." + group
	}
	var texts []string
	said := map[string]bool{}
	for _, c := range list.Causes {
		if text := c.Field + ": " + c.Message; !said[text] {
			said[text] = true
			texts = append(texts, text)
		}
	}
	text := strings.Join(texts, ", ")
	if len(texts) > 1 {
		text = "[" + text + "]"
	}
	return &kube.Status{Code: http.StatusUnprocessableEntity, Reason: "Invalid",
		Message: fmt.Sprintf("%s %q is invalid: %s", subject, name, text),
		Details: &kube.StatusDetails{Name: name, Group: group, Kind: kind, Causes: list.Causes}}
}

// NotAcceptable returns a 406.
func NotAcceptable(format string, args ...any) *kube.Status {
	return &kube.Status{Code: http.StatusNotAcceptable, Reason: "NotAcceptable", Message: fmt.Sprintf(format, args...)}
}

// UnsupportedMediaType returns the 415 of a body in another media type than accepted.
func UnsupportedMediaType(accepted []string) *kube.Status {
	if accepted[0] == TypeJSON {
		accepted = []string{TypeJSON, TypeYAML, protojson.MediaType}
	}
	return &kube.Status{Code: http.StatusUnsupportedMediaType, Reason: "UnsupportedMediaType",
		Message: "the body of the request was in an unknown format - accepted media types include: " + strings.Join(accepted, ", ")}
}

// NoResource returns the 404 of a path below a served version.
func NoResource() *kube.Status {
	return &kube.Status{Code: http.StatusNotFound, Reason: "NotFound",
		Message: "the server could not find the requested resource", Details: &kube.StatusDetails{}}
}

// PageNotFound responds for paths without a served API group or version.
func PageNotFound(w http.ResponseWriter) { http.Error(w, "404 page not found", http.StatusNotFound) }
