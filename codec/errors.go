package codec

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// ErrTooLarge matches every LimitError by errors.Is.
var ErrTooLarge = errors.New("too large")

// LimitError reports that a frame, an item or an object exceeds a limit.
type LimitError struct {
	What  string // "frame", "item", "list metadata", ...
	Limit int    // bytes
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s above the limit of %d bytes", e.What, e.Limit)
}

// Is reports whether target is ErrTooLarge.
func (e *LimitError) Is(target error) bool { return target == ErrTooLarge }

// SyntaxError reports bytes that are not the expected JSON or protobuf. Its text
// contains no part of the input.
type SyntaxError struct {
	Offset int64  // bytes before the error, from the start of the body or object; 0 if unknown
	Msg    string // the error
	Form   string // format of the bytes; "" = JSON
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid %s at byte %d: %s", cmp.Or(e.Form, "JSON"), e.Offset, e.Msg)
}

// NotListError reports a body that is a JSON object, but not a list.
type NotListError struct {
	Kind string // its kind; "" if it has none or an invalid one
}

func (e *NotListError) Error() string {
	if e.Kind == "" {
		return "not a list: neither a list kind nor items"
	}
	return "not a list: kind is " + e.Kind
}

// NotList returns a NotListError with kind, if kind is valid.
func NotList(kind string) error { return &NotListError{Kind: plausibleKind(kind)} }

// DecodeError reports that valid JSON does not fit the Go type. Its text contains names
// of fields and types, never a value.
type DecodeError struct {
	Path   string // JSON path of the field, "spec.replicas"; "" = unknown, or the whole object
	Got    string // kind of the JSON value: "string", "number", "object", ...; "" = unknown
	Want   string // the Go type or kind of value that was expected
	Cause  string // Go type of the error of an UnmarshalJSON method, if there is one
	Offset int64  // bytes before the error; 0 if unknown
}

func (e *DecodeError) Error() string {
	msg := "decode"
	if e.Path != "" {
		msg += " " + e.Path
	}
	if e.Got != "" {
		msg += ": " + e.Got
	}
	msg += " into " + e.Want
	if e.Cause != "" {
		msg += ": " + e.Cause
	}
	return msg
}

// ItemError reports an object that could not be decoded and is left out: the stream or
// list continues.
type ItemError struct {
	Identity Identity // the readable parts; invalid ones are cleaned by kube.CleanName
	Size     int      // bytes of the object
	Err      error    // the reason
}

// Quarantine returns the ItemError of an object that could not be decoded because of
// err. If err wraps an ItemError, that is returned.
func Quarantine(object []byte, err error) *ItemError {
	var described *ItemError
	if errors.As(err, &described) {
		return described
	}
	id, _ := Skim(object) // on error: the parts before it
	return &ItemError{Identity: id.clean(), Size: len(object), Err: err}
}

// clean returns id with all parts cleaned by kube.CleanName, because they are stored
// and shown. An apiVersion may contain a slash.
func (id Identity) clean() Identity {
	group, version, found := strings.Cut(id.APIVersion, "/")
	if id.APIVersion = kube.CleanName(group); found {
		id.APIVersion += "/" + kube.CleanName(version)
	}
	for _, part := range []*string{&id.Kind, &id.Namespace, &id.Name, &id.UID, &id.ResourceVersion} {
		*part = kube.CleanName(*part)
	}
	return id
}

func (e *ItemError) Error() string {
	name := e.Identity.Name
	if e.Identity.Namespace != "" {
		name = e.Identity.Namespace + "/" + name
	}
	kind := plausibleKind(e.Identity.Kind)
	if kind == "" {
		kind = "object"
	}
	return fmt.Sprintf("%s %q of %d bytes: %v", kind, name, e.Size, e.Err)
}

// IsItem reports whether err wraps an *ItemError, after which a sequence continues.
func IsItem(err error) bool {
	if err == nil {
		return false // avoids an allocation
	}
	var item *ItemError
	return errors.As(err, &item)
}

// Unwrap returns Err.
func (e *ItemError) Unwrap() error { return e.Err }

// plausibleKind returns k if it looks like a kind, else "": input from a server must
// not break a log line.
func plausibleKind(k string) string {
	if len(k) > 63 {
		return ""
	}
	for _, c := range []byte(k) {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return ""
		}
	}
	return k
}
