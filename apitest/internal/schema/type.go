package schema

import "github.com/listwatch/listwatch/kube"

// Type is the schema of one kind in one version. It is immutable and safe for
// concurrent use.
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

// Read decodes the object of a client. It removes the fields that t does not have and,
// of members with the same name, all but the last. strict lists both, at most 100, in
// the form of the warnings and errors of fieldValidation: `unknown field "spec.foo"`,
// `duplicate field "spec.replicas"`, in kube-apiserver's order. For a built-in type,
// values of another type than the field's are an error.
//
// The caller adds to the errors: "Pod in version "v1" cannot be handled as a Pod: "
// and, for strict ones, "strict decoding error: ".
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
			if len(strict) < strictLimit {
				strict = append(strict, `unknown field "`+path+`"`)
			}
		}
	}
	return object, strict, nil
}
