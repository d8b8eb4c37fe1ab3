package apitest

import (
	"maps"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/schema"
)

// A custom resource may be served in several versions, of which one is stored; see
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/.
// They are converted by the strategy None: the apiVersion is another one, and what
// the schema of the other version does not know is gone.

// keep returns what a client wrote as it is stored.
func (c *change) keep(v map[string]any) map[string]any {
	form := c.target.form
	if form.Kept == nil {
		return eventToCore(v)
	}
	form.Type().Default(v)
	c.sent = v
	return adopted(form.Kept, v)
}

// asSent returns what is to be stored, next, in the version in which it was written,
// with what that alone has.
func (c *change) asSent(next map[string]any) map[string]any {
	if c.sent == nil || c.target.sub != "" {
		return fromKept(c.target.form, next)
	}
	sent := maps.Clone(c.sent)
	sent["metadata"] = next["metadata"]
	return sent
}

// fromKept returns what is stored as r has it.
func fromKept(r *object.Info, v map[string]any) map[string]any {
	if r.Kept == nil {
		return eventFromCore(v)
	}
	return adopted(r, v)
}

// adopted returns v, of another version, as one of r.
func adopted(r *object.Info, v map[string]any) map[string]any {
	v = schema.Copy(v)
	v["apiVersion"] = r.APIVersion()
	r.Type().Prune(v)
	r.Type().Default(v)
	return v
}

// converted returns o, of another version, as one of r.
func converted(r *object.Info, o *object.Object) *object.Object {
	b, err := schema.Encode(adopted(r, o.Decoded()))
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
	return shown(r, o)
}
