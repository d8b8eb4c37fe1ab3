package view

import (
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/schema"
)

// A custom resource may be served in several versions, of which one is stored; see
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/.
// The conversion strategy is None: the apiVersion changes, and fields that the other
// version's schema does not have are dropped.

// FromKept returns a stored object in the version r.
func FromKept(r *object.Info, v map[string]any) map[string]any {
	if r.Kept == nil {
		return eventFromCore(v)
	}
	return Converted(r, v)
}

// Converted returns v, of another version, in the version r.
func Converted(r *object.Info, v map[string]any) map[string]any {
	v = schema.Copy(v)
	v["apiVersion"] = r.APIVersion()
	r.Type().Prune(v)
	r.Type().Default(v)
	return v
}

// convertedObject returns o, of another version, in the version r.
func convertedObject(r *object.Info, o *object.Object) *object.Object {
	return objectOf(r, o, Converted(r, o.Decoded()))
}

// objectOf returns v, which is o in another form, as an object of r.
func objectOf(r *object.Info, o *object.Object, v map[string]any) *object.Object {
	b, err := schema.Encode(v)
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

// printed returns o in the form that the columns of r need.
func printed(r *object.Info, o *object.Object) *object.Object {
	if r.BuiltIn {
		return o
	}
	return Shown(r, o)
}
