// Package protobuf decodes objects in Kubernetes' protobuf, media type
// application/vnd.kubernetes.protobuf, without generated code.
//
//	decode, ok := protobuf.DecoderOf[Pod]("v1", "Pod")
//
// The fields of your type are found by their JSON names in a table of field numbers.
// Fields that your type does not have are skipped by their length. Types of k8s.io/api
// are supported in the same way, and are not imported.
//
// The value is the same that codec.DecoderOf decodes from the JSON of the same server:
// unusual encodings, such as a message in pieces or a number that does not fit, are
// converted to JSON and decoded by package codec.
//
// Frames and Items correspond to those of codec: they hold one frame or item, and
// refuse larger ones than a limit before they allocate memory. An object is in its
// envelope, which names its kind, so that its bytes show their format.
package protobuf
