// Package workload makes the objects that the benchmark's server sends: pods of
// about 6 KB as kube-apiserver writes them, config maps, and custom resources of
// 1 KB and 200 KB.
//
// A [Kind] is rendered once, in JSON and, where it has one, in protobuf, with
// placeholders of fixed width for what tells objects apart: index, namespace,
// UID, revision, container IDs, addresses. A [Template] is that rendering with
// the places marked; [Template.Append] makes object number i of it for the price
// of a copy, so that 300,000 objects are ready within a second or two.
//
// What differs between objects is what differs in life: identities are random
// hexadecimal, everything else is one of a few variants. The same number always
// gives the same bytes.
package workload
