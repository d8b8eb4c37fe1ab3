// Package wire encodes requests and responses: the types that a client accepts, Status
// objects with kube-apiserver's texts, YAML, indented JSON, and the frames of a watch
// in protobuf.
package wire
