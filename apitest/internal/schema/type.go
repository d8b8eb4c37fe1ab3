package schema

import "github.com/listwatch/listwatch/kube"

// Type is the schema of one kind in one version. It does not change, and may be
// used by many goroutines at once.
type Type struct {
	id      gvk
	root    *node
	builtIn bool

	// Of custom resources only.
	meta     *node // ObjectMeta
	resource kube.Resource
	source   any // openAPIV3Schema

	described func() *description // made at the first call
}

// BuiltIn reports whether t is one of kube-apiserver's own types. Strategic merge
// patches are for those only.
func (t *Type) BuiltIn() bool { return t.builtIn }

// Read decodes an object that a client sent. It drops the fields that t does not
// know and, of members with the same name, all but the last. strict names both,
// at most 100, as the warnings and errors of fieldValidation do: `unknown field
// "spec.foo"`, `duplicate field "spec.replicas"`; they are in kube-apiserver's
// order. Of a built-in type, values of another type than the field's are an error.
//
// The caller puts the errors together: "Pod in version "v1" cannot be handled as
// a Pod: " and, for strict ones, "strict decoding error: ".
func (t *Type) Read(b []byte) (object map[string]any, strict []string, err error) {
	r := &reader{b: b, typed: t.builtIn}
	root := t.root
	if !t.builtIn {
		root = nil
	}
	v, err := r.read(root)
	if err != nil {
		return nil, nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		_, err := DecodeObject(b)
		return nil, nil, err
	}
	strict = r.strict
	if !t.builtIn {
		for _, path := range t.Prune(object) {
			strict = append(strict, `unknown field "`+path+`"`)
		}
	}
	return object, strict, nil
}
