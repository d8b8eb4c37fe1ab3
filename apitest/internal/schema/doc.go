// Package schema implements the types of a fake API server: what kube-apiserver derives
// from OpenAPI. It prunes and validates objects, sets defaults, merges patches of all
// four kinds, and updates managedFields.
//
// A [Catalog] has the types of a real kube-apiserver, from documents of its /openapi/v3
// that are embedded without descriptions, and parses those of custom resources. A
// [Type] is one kind in one version:
//
//	var catalog schema.Catalog
//	t, err := catalog.Type(kube.Deployments)
//	o, strict, err := t.Read(body)            // pruned; strict: errors of fieldValidation
//	merged, err := t.StrategicMerge(live, patch)
//	t.Update(live, merged, schema.Write{Manager: "me", Now: time.Now()})
//
// Objects are the result of [Decode]: map[string]any, []any, string, bool, nil, int64
// for an integer that fits, and float64 for any other number. They contain no other
// types.
//
// Errors have the texts of kube-apiserver, and so they quote the client's input: they
// are for responses, not for logs. The files in testdata contain responses of a real
// server.
//
// Not supported: CEL rules (x-kubernetes-validations), validation and defaults that
// kube-apiserver implements in Go for its own types, conversion between versions.
package schema
