// Package wire is how a request and its response are encoded: what a client
// accepts, Status objects in the words of kube-apiserver, YAML, indented JSON, and
// the frames of a watch in protobuf.
package wire
