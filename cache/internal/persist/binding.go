package persist

import (
	"errors"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// Binding says what a snapshot is of. It is loaded only where all of it is
// equal, and so is the JSON shape of T: its name, fields and tags.
type Binding struct {
	// Cluster tells clusters apart; required. The UID of the namespace
	// kube-system does, which lives as long as its cluster.
	Cluster string

	Resource       kube.Resource
	Namespace      string        // empty = all
	Labels, Fields string        // selectors, as text
	Shard          string        // kube.Shard.String; empty = all objects
	Query          string        // what else each request asks for, encoded
	Accept         client.Accept // the form in which objects were asked for

	// Projection names what was done to the objects before they were stored,
	// and its version; empty = nothing. Change it with the transformation.
	Projection string

	// IncludeSecrets permits to write core/v1 secrets, in plain text, to a file
	// that only its owner can read. Default: they are refused. It is a
	// permission, not a part of what is compared.
	IncludeSecrets bool
}

// What an Error is to errors.Is.
var (
	ErrForeign = errors.New("snapshot of something else") // another cluster, resource, selector or type
	ErrDamaged = errors.New("damaged snapshot")           // cut, half-written or changed
	ErrNewer   = errors.New("snapshot of a newer format") // by a later release
	ErrRefused = errors.New("snapshot refused")           // secrets, or a type that JSON does not carry
)

// Error says why a snapshot cannot be taken or used. Its text holds no
// part of an object.
type Error struct {
	Kind   error  // one of the values above
	Reason string // what is wrong
	Err    error  // the cause, where there is one
	Aside  string // where ReadFile moved the file; empty = it did not
}

func (e *Error) Error() string {
	s := e.Kind.Error() + ": " + e.Reason
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Aside != "" {
		s += "; moved to " + e.Aside
	}
	return s
}

// Unwrap returns Kind and Err.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// ErrLeftOut is what an error of decoding is to errors.Is where the object is left out
// and the file is read on.
var ErrLeftOut = errors.New("left out")
