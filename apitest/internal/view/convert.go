package view

import (
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/schema"
)

// A custom resource may be served in several versions, of which one is stored; see
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/.
// They are converted by the strategy None: the apiVersion is another one, and what
// the schema of the other version does not know is gone.

// FromKept returns what is stored as r has it.
func FromKept(r *object.Info, v map[string]any) map[string]any {
	if r.Kept == nil {
		return eventFromCore(v)
	}
	return Converted(r, v)
}

// Converted returns v, of another version, as one of r.
func Converted(r *object.Info, v map[string]any) map[string]any {
	v = schema.Copy(v)
	v["apiVersion"] = r.APIVersion()
	r.Type().Prune(v)
	r.Type().Default(v)
	return v
}

// convertedObject returns o, of another version, as one of r.
func convertedObject(r *object.Info, o *object.Object) *object.Object {
	b, err := schema.Encode(Converted(r, o.Decoded()))
	if err != nil {
		panic(err) // we decoded it
	}
	other, err := object.Parse(r.Resource, b)
	if err != nil {
		panic(err) // it was an object before
	}
	other.Seal(r, o.Revision)
	return other
}

// printed returns o as the columns of r want it.
func printed(r *object.Info, o *object.Object) *object.Object {
	if r.BuiltIn {
		return o
	}
	return Shown(r, o)
}
