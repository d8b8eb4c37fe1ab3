package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// Reason is why a field is refused, as the API server names it.
type Reason string

// The reasons of a [FieldError].
const (
	Invalid      Reason = "FieldValueInvalid"
	Required     Reason = "FieldValueRequired"
	Duplicate    Reason = "FieldValueDuplicate"
	NotSupported Reason = "FieldValueNotSupported"
	Forbidden    Reason = "FieldValueForbidden"
	TooLong      Reason = "FieldValueTooLong"
	TooMany      Reason = "FieldValueTooMany"
)

// FieldError refuses an object because of one field. errors.Join joins several. The client
// gets code 422 with a cause for each FieldError, as for fields that the API server itself
// refuses. The message goes to the client and to logs: it must not contain a secret.
type FieldError struct {
	Field   string // path, such as "spec.ports[0].name"
	Reason  Reason // default: Invalid
	Message string // such as "must not be empty"
}

func (e *FieldError) Error() string {
	title := map[Reason]string{"": "Invalid value", Invalid: "Invalid value", Required: "Required value", Duplicate: "Duplicate value",
		NotSupported: "Unsupported value", Forbidden: "Forbidden", TooLong: "Too long", TooMany: "Too many"}[e.Reason]
	if title == "" {
		title = string(e.Reason)
	}
	if e.Message == "" {
		return e.Field + ": " + title
	}
	return e.Field + ": " + title + ": " + e.Message
}

// maxCauses limits the causes of one refusal, maxMessage a message in bytes.
const (
	maxCauses  = 100
	maxMessage = 4 << 10
)

// statusOf returns what the client gets for an error of a hook.
func statusOf(err error, what string) *kube.Status {
	var st *kube.Status
	if fields := fieldErrors(err, nil); len(fields) > 0 {
		st := &kube.Status{Code: http.StatusUnprocessableEntity, Reason: "Invalid", Details: &kube.StatusDetails{}}
		texts := make([]string, 0, len(fields))
		for _, f := range fields[:min(len(fields), maxCauses)] {
			reason := f.Reason
			if reason == "" {
				reason = Invalid
			}
			_, message, _ := strings.Cut(f.Error(), ": ")
			st.Details.Causes = append(st.Details.Causes, kube.StatusCause{Reason: string(reason), Message: clip(message), Field: f.Field})
			texts = append(texts, f.Error())
		}
		st.Message = clip(fmt.Sprintf("%s is invalid: %s", what, strings.Join(texts, ", ")))
		return st
	}
	var panicked *panicError
	var limit *codec.LimitError
	switch {
	case errors.As(err, &panicked):
		return &kube.Status{Code: http.StatusInternalServerError, Reason: "InternalError", Message: panicked.Error()}
	case errors.As(err, &st):
		out := kube.Status{}
		if st != nil { // a function returned a nil *Status as an error
			out = *st
		}
		if out.Code < 400 {
			out.Code = http.StatusInternalServerError
		}
		out.Message = clip(err.Error())
		out.Metadata = kube.StatusMeta{}
		return &out
	case errors.As(err, &limit):
		return &kube.Status{Code: http.StatusRequestEntityTooLarge, Reason: "RequestEntityTooLarge", Message: clip("the webhook cannot take the object: " + err.Error())}
	case errors.Is(err, context.DeadlineExceeded):
		return &kube.Status{Code: http.StatusGatewayTimeout, Reason: "Timeout", Message: clip(err.Error())}
	}
	return &kube.Status{Code: http.StatusForbidden, Reason: "Forbidden", Message: clip(err.Error())}
}

// fieldErrors adds the field errors of err, those of joined errors included, in order.
func fieldErrors(err error, to []*FieldError) []*FieldError {
	switch e := err.(type) {
	case nil:
		return to
	case *FieldError:
		return append(to, e)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			to = fieldErrors(one, to)
		}
		return to
	}
	return fieldErrors(errors.Unwrap(err), to)
}

// clip returns at most maxMessage bytes of s as valid UTF-8.
func clip(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxMessage)], "") }

// panicError is a panic of a function of the program. Clients see its text only.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return "the webhook failed; its log has the reason" }

// reason describes the panic without a value of the program, which may be secret.
func (e *panicError) reason() string {
	if err, ok := e.value.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a panic with a %T", e.value)
}

// guarded calls f, and returns its panic as an error. An error that has no text, such as a
// nil *FieldError, panics too.
func guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, debug.Stack()}
		}
	}()
	if err = f(); err != nil {
		_ = err.Error()
	}
	return err
}
