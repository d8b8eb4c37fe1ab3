package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
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

// encodeStatus returns st as JSON, without a newline. A code of 0 or below 400
// means success.
func encodeStatus(st *kube.Status) []byte {
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

// WriteStatus answers a request with st, as kube-apiserver does. Retry-After is
// sent where st.Details asks for it. It serves handlers given to [Server.On].
func WriteStatus(w http.ResponseWriter, st *kube.Status) {
	if st.Details != nil && st.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(st.Details.RetryAfterSeconds))
	}
	code := st.Code
	if code == 0 {
		code = http.StatusOK
	}
	writeJSON(w, code, "application/json", append(encodeStatus(st), '\n'))
}

func writeJSON(w http.ResponseWriter, code int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache, private")
	w.WriteHeader(code)
	w.Write(body) // an error means that the client has gone
}

// StatusExpired returns what a watch from too old a revision gets: 410 Expired.
// oldest is the first revision that would have been served.
func StatusExpired(asked, oldest uint64) *kube.Status {
	return &kube.Status{Code: http.StatusGone, Reason: "Expired",
		Message: fmt.Sprintf("too old resource version: %d (%d)", asked, oldest)}
}

// StatusTooLarge returns what a LIST at a revision ahead of the server gets
// after 3 s: 504 Timeout with the cause ResourceVersionTooLarge.
func StatusTooLarge(asked, current uint64) *kube.Status {
	return &kube.Status{Code: http.StatusGatewayTimeout, Reason: "Timeout",
		Message: fmt.Sprintf("Timeout: Too large resource version: %d, current: %d", asked, current),
		Details: &kube.StatusDetails{RetryAfterSeconds: 1, Causes: []kube.StatusCause{
			{Reason: "ResourceVersionTooLarge", Message: "Too large resource version"}}}}
}

// StatusInternal returns a 500 InternalError.
func StatusInternal(message string) *kube.Status {
	return &kube.Status{Code: http.StatusInternalServerError, Reason: "InternalError",
		Message: "Internal error occurred: " + message,
		Details: &kube.StatusDetails{Causes: []kube.StatusCause{{Message: message}}}}
}

// StatusForbidden returns the 403 of a user who may not verb res in namespace.
func StatusForbidden(user, verb string, res kube.Resource, namespace string) *kube.Status {
	where := "at the cluster scope"
	if namespace != "" {
		where = fmt.Sprintf("in the namespace %q", namespace)
	}
	return &kube.Status{Code: http.StatusForbidden, Reason: "Forbidden",
		Message: fmt.Sprintf("%s is forbidden: User %q cannot %s resource %q in API group %q %s",
			res.GroupResource(), user, verb, res.Plural, res.Group, where),
		Details: &kube.StatusDetails{Group: res.Group, Kind: res.Plural}}
}

// StatusUnauthorized returns a 401.
func StatusUnauthorized() *kube.Status {
	return &kube.Status{Code: http.StatusUnauthorized, Reason: "Unauthorized", Message: "Unauthorized"}
}

// StatusThrottled returns a 429; retryAfter is in seconds, 0 = no such header.
func StatusThrottled(retryAfter int) *kube.Status {
	return &kube.Status{Code: http.StatusTooManyRequests, Reason: "TooManyRequests",
		Message: "too many requests, please try again later.",
		Details: &kube.StatusDetails{RetryAfterSeconds: retryAfter}}
}

func statusNotFound(res kube.Resource, name string) *kube.Status {
	return &kube.Status{Code: http.StatusNotFound, Reason: "NotFound",
		Message: fmt.Sprintf("%s %q not found", res.GroupResource(), name),
		Details: &kube.StatusDetails{Name: name, Group: res.Group, Kind: res.Plural}}
}

func statusExists(res kube.Resource, name string) *kube.Status {
	return &kube.Status{Code: http.StatusConflict, Reason: "AlreadyExists",
		Message: fmt.Sprintf("%s %q already exists", res.GroupResource(), name),
		Details: &kube.StatusDetails{Name: name, Group: res.Group, Kind: res.Plural}}
}

func statusConflict(res kube.Resource, name, why string) *kube.Status {
	return &kube.Status{Code: http.StatusConflict, Reason: "Conflict",
		Message: fmt.Sprintf("Operation cannot be fulfilled on %s %q: %s", res.GroupResource(), name, why),
		Details: &kube.StatusDetails{Name: name, Group: res.Group, Kind: res.Plural}}
}

func statusBadRequest(format string, args ...any) *kube.Status {
	return &kube.Status{Code: http.StatusBadRequest, Reason: "BadRequest", Message: fmt.Sprintf(format, args...)}
}

// statusRaw is the 500 of an error that kube-apiserver did not foresee.
func statusRaw(format string, args ...any) *kube.Status {
	return &kube.Status{Code: http.StatusInternalServerError, Message: fmt.Sprintf(format, args...)}
}

// statusMethod is the 405 of a verb that the resource has not.
func statusMethod() *kube.Status {
	return &kube.Status{Code: http.StatusMethodNotAllowed, Reason: "MethodNotAllowed",
		Message: "the server does not allow this method on the requested resource",
		Details: &kube.StatusDetails{}}
}

// notAllowed is the 405 of a verb that t has not.
func (t target) notAllowed() *kube.Status {
	st := statusMethod()
	if !t.info.BuiltIn && t.sub != "" {
		st.Message = fmt.Sprintf("%s is not supported on resources of kind %q", t.verb, t.res.GroupResource())
		st.Details = &kube.StatusDetails{Group: t.res.Group, Kind: t.res.Plural}
	}
	return st
}

// statusInvalid is a 422 about fields of a kind.
func statusInvalid(group, kind, name string, causes ...kube.StatusCause) *kube.Status {
	subject := kind
	if group != "" {
		subject += "." + group
	}
	var texts []string
	for _, c := range causes {
		if text := c.Field + ": " + c.Message; !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	text := strings.Join(texts, ", ")
	if len(texts) > 1 {
		text = "[" + text + "]"
	}
	return &kube.Status{Code: http.StatusUnprocessableEntity, Reason: "Invalid",
		Message: fmt.Sprintf("%s %q is invalid: %s", subject, name, text),
		Details: &kube.StatusDetails{Name: name, Group: group, Kind: kind, Causes: causes}}
}

// registryOf is where kube-apiserver keeps r in etcd, as its errors say.
func registryOf(r *object.Info) string {
	switch {
	case r.Resource == kube.Services:
		return "services/specs"
	case r.Resource == kube.Endpoints:
		return "services/endpoints"
	case r.Resource == kube.Nodes:
		return "minions"
	case r.Resource == kube.Ingresses:
		return "ingress"
	case r.BuiltIn && r.Plural == "replicationcontrollers":
		return "controllers"
	case r.BuiltIn && r.Resource != kube.CustomResourceDefinitions:
		return r.Plural
	}
	return r.Group + "/" + r.Plural
}
