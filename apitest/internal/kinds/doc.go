// Package kinds defines the built-in kinds of Kubernetes for the fake server, as
// kube-apiserver has them: discovery, defaults, validation, the status of new objects,
// bookmarks, the columns of Tables, and which writes increment the generation.
//
// [All] lists the resources. Values in objects have the types of package schema, and objects
// are those of package object. The kinds do not depend on the store.
package kinds
