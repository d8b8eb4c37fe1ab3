// Package protobuf decodes objects from the protobuf form of Kubernetes, media type
// application/vnd.kubernetes.protobuf, without generated code.
//
//	decode, ok := protobuf.DecoderOf[Pod]("v1", "Pod")
//
// The fields of your type are found by their JSON names in a table of field numbers.
// What your type does not name is skipped by its length, unread. Types of k8s.io/api
// are filled in the same way, and are not imported.
//
// The value is the one that codec.DecoderOf gives for the JSON that the same server
// sends: what is unusual on the wire, a message in pieces or a number that does not
// fit, is translated to JSON and decoded by package codec.
//
// Frames and Items are those of codec for protobuf: they hold one frame or item, and
// refuse what is above a limit before they take the memory. An object is in its
// envelope, which names its kind, so that its bytes say which form they are in.
package protobuf
