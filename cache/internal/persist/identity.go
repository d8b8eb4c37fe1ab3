package persist

import (
	"errors"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// Identity identifies the content of a snapshot. A snapshot is loaded only if all of it
// is equal, and also the JSON shape of T: its name, fields and tags.
type Identity struct {
	// Cluster distinguishes clusters; required. Use the UID of the namespace
	// kube-system, which exists as long as its cluster.
	Cluster string

	Resource       kube.Resource
	Namespace      string        // empty = all
	Labels, Fields string        // selectors, as text
	Shard          string        // kube.Shard.String; empty = all objects
	Query          string        // other parameters of each request, encoded
	Accept         client.Accept // the requested form of objects

	// Projection names the transformation of the objects, with its version; empty =
	// none. Change it with the transformation.
	Projection string

	// IncludeSecrets permits core/v1 Secrets in plain text in a file that only its
	// owner can read. Default: they are refused. It is not compared when a snapshot is
	// loaded.
	IncludeSecrets bool
}

// Kinds of Error, for errors.Is.
var (
	ErrForeign = errors.New("snapshot of something else") // another cluster, resource, selector or type
	ErrDamaged = errors.New("damaged snapshot")           // truncated, incomplete or changed
	ErrNewer   = errors.New("snapshot of a newer format") // written by a later release
	ErrRefused = errors.New("snapshot refused")           // Secrets, or a type that JSON does not preserve
)

// Error says why a snapshot cannot be saved or loaded. Its text contains no part of an
// object.
type Error struct {
	Kind   error  // one of the values above
	Reason string // what is wrong
	Err    error  // the cause; nil = none
	Aside  string // path to which ReadFile moved the file; empty = not moved
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

// ErrLeftOut matches, by errors.Is, an error of decoding after which the file is read
// without the object.
var ErrLeftOut = errors.New("left out")
