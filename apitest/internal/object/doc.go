// Package object is what a fake server keeps of an object: its metadata, its other members
// as JSON, and the whole as it goes over the wire.
//
// [Parse] reads what a client or a test hands in; [Object.Seal] fixes the revision and
// encodes, in the order of kube-apiserver's types. Objects that are stored are never
// changed, and share what they have in common. [Info] is what a server says of a resource.
//
// The package knows no kind by name.
package object
