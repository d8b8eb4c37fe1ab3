// Package schema knows the types that a fake API server serves: what
// kube-apiserver derives from OpenAPI. It prunes and validates objects, fills in
// defaults, merges patches of all four kinds, and keeps managedFields.
//
// A [Catalog] has the types of a real kube-apiserver, from documents of its
// /openapi/v3 that are embedded without their texts, and makes those of custom
// resources. A [Type] is one kind of one version:
//
//	var catalog schema.Catalog
//	t, err := catalog.Type(kube.Deployments)
//	o, strict, err := t.Read(body)            // pruned; strict: errors of fieldValidation
//	merged, err := t.StrategicMerge(live, patch)
//	t.Update(live, merged, schema.Write{Manager: "me", Now: time.Now()})
//
// Objects are what [Decode] makes of JSON: map[string]any, []any, string, bool,
// nil, int64 for an integer that fits, and float64 for any other number. No other
// type may occur in them.
//
// Errors are worded as kube-apiserver words them, and so they quote what the
// client sent: they are answers, not log lines. The files in testdata hold what a
// real one answered.
//
// What it does not know: CEL rules (x-kubernetes-validations), validation and
// defaulting that kube-apiserver does in Go for its own types, conversion between
// versions.
package schema
