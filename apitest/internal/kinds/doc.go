// Package kinds is all that a fake server knows of the built-in kinds of Kubernetes: how
// discovery lists them, what kube-apiserver fills in and refuses, what a new object and a
// bookmark look like, the columns of Tables, and which writes count as a new generation.
//
// [All] lists the resources. Values of objects are those of package schema; an object is
// one of package object. No kind knows the store.
package kinds
