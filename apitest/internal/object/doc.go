// Package object is the fake server's representation of an object: its metadata, its
// other members as JSON, and its encoded body.
//
// [Parse] decodes the object of a client or a test; [Object.Seal] sets the revision and
// encodes it, in the order of kube-apiserver's types. Stored objects are immutable, and
// share common parts. [Info] is a resource of a server.
//
// The package does not depend on any kind.
package object
