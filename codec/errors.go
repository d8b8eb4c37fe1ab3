package codec

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// ErrTooLarge is what a LimitError is to errors.Is.
var ErrTooLarge = errors.New("too large")

// LimitError says that a frame, an item or an object is larger than allowed.
type LimitError struct {
	What  string // "frame", "item", "list metadata", ...
	Limit int    // bytes
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s above the limit of %d bytes", e.What, e.Limit)
}

// Is reports whether target is ErrTooLarge.
func (e *LimitError) Is(target error) bool { return target == ErrTooLarge }

// SyntaxError says that bytes are not the JSON, or the protobuf, that was expected.
// Its text holds no part of the input.
type SyntaxError struct {
	Offset int64  // bytes before the error, from the start of the body or object; 0 if unknown
	Msg    string // what is wrong
	Form   string // of the bytes; "" = JSON
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid %s at byte %d: %s", cmp.Or(e.Form, "JSON"), e.Offset, e.Msg)
}

// NotListError says that a body is a JSON object, but not a list.
type NotListError struct {
	Kind string // the kind it names; "" if it names none or not a plausible one
}

func (e *NotListError) Error() string {
	if e.Kind == "" {
		return "not a list: neither a list kind nor items"
	}
	return "not a list: kind is " + e.Kind
}

// NotList returns a NotListError that names kind, if that is plausible.
func NotList(kind string) error { return &NotListError{Kind: plausibleKind(kind)} }

// DecodeError says that valid JSON does not fit the Go type it should fill.
// Its text names fields and types, never a value.
type DecodeError struct {
	Path   string // JSON path of the field, "spec.replicas"; "" if unknown or the whole
	Got    string // the JSON kind found: "string", "number", "object", ...; "" if unknown
	Want   string // the Go type, or the kind of value, that was wanted
	Cause  string // Go type of the error an UnmarshalJSON method returned, if one did
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

// ItemError is one object that could not be decoded and is left out: the
// stream or list it came from goes on.
type ItemError struct {
	Identity Identity // as far as it could be read; a part that no object can have is cleaned by kube.CleanName
	Size     int      // bytes of the object
	Err      error    // why
}

// Quarantine describes an object that failed to decode with err. An err that
// describes it already is returned as it is.
func Quarantine(object []byte, err error) *ItemError {
	var described *ItemError
	if errors.As(err, &described) {
		return described
	}
	id, _ := Skim(object) // on error: what was read before it
	return &ItemError{Identity: id.clean(), Size: len(object), Err: err}
}

// clean returns id with all parts as kube.CleanName returns them: they are kept, and
// shown. An apiVersion has a slash.
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

// IsItem reports whether err is about one object that is left out, an
// *ItemError, and so not the end of a sequence.
func IsItem(err error) bool {
	if err == nil {
		return false // without an allocation
	}
	var item *ItemError
	return errors.As(err, &item)
}

// Unwrap returns Err.
func (e *ItemError) Unwrap() error { return e.Err }

// plausibleKind returns k if it looks like a kind, else "": what a stranger
// sends is not to break a line of a log.
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
