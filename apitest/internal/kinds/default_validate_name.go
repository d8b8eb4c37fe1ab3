package kinds

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// Names, labels and keys: what is wrong with them, in kube-apiserver's words.

// MaxGenerated is how much of a generateName counts.
const MaxGenerated = 58

// Metadata refuses what no object may have there, besides a name.
func (r *Refusals) Metadata(res kube.Resource, meta map[string]any) {
	r.labels("metadata.labels", ObjectAt(meta, "labels"))
	for key := range keysOf(ObjectAt(meta, "annotations")) {
		r.each("metadata.annotations", key, qualifiedName(strings.ToLower(key)))
	}
	for i, e := range ListAt(meta, "finalizers") {
		name, _ := e.(string)
		wrong := qualifiedName(name)
		r.each("metadata.finalizers", name, wrong)
		if !strings.Contains(name, "/") && !standardFinalizer(name) && !anyFinalizer(res) {
			r.invalid(fmt.Sprintf("metadata.finalizers[%d]", i), name, "name is neither a standard finalizer name nor is it fully qualified")
		}
	}
	for i, e := range ListAt(meta, "ownerReferences") {
		ref, _ := e.(map[string]any)
		for _, name := range [...]string{"apiVersion", "kind", "name", "uid"} {
			if TextAt(ref, name) == "" {
				r.required(fmt.Sprintf("metadata.ownerReferences[%d].%s", i, name), "must not be empty")
			}
		}
	}
	r.controllers(ListAt(meta, "ownerReferences"))
}

// anyFinalizer reports whether finalizers of res need not be qualified: of newer
// groups and custom resources.
func anyFinalizer(res kube.Resource) bool {
	switch res.Group {
	case "coordination.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io":
		return true
	}
	_, err := object.Types().Type(res)
	return err != nil
}

// standardFinalizer reports whether a finalizer is one of Kubernetes' own.
func standardFinalizer(name string) bool {
	return name == "orphan" || name == "foregroundDeletion" || name == "kubernetes"
}

// controllers refuses owners of which more than one controls.
func (r *Refusals) controllers(refs []any) {
	first := ""
	for _, e := range refs {
		ref, _ := e.(map[string]any)
		name := TextAt(ref, "kind") + "/" + TextAt(ref, "name")
		switch {
		case ref["controller"] != true:
		case first == "":
			first = name
		default:
			r.invalid("metadata.ownerReferences", ownersInOrder(refs), `Only one reference can have Controller set to true. Found "true" in references for `+first+" and "+name)
		}
	}
}

// ownersInOrder returns owner references with their members in kube-apiserver's
// order.
func ownersInOrder(refs []any) any {
	var list []struct {
		APIVersion         string `json:"apiVersion"`
		Kind               string `json:"kind"`
		Name               string `json:"name"`
		UID                string `json:"uid"`
		Controller         *bool  `json:"controller,omitempty"`
		BlockOwnerDeletion *bool  `json:"blockOwnerDeletion,omitempty"`
	}
	DecodeLenient(object.Marshal(refs), &list)
	return list
}

func (r *Refusals) labels(field string, labels map[string]any) {
	for key := range keysOf(labels) {
		r.each(field, key, qualifiedName(key))
		v, _ := labels[key].(string)
		r.each(field, v, labelValue(v))
	}
}

// keysOf goes through the keys of m in order.
func keysOf(m map[string]any) iter.Seq[string] {
	if len(m) == 0 {
		return func(func(string) bool) {}
	}
	return slices.Values(object.SortedKeys(m))
}

const (
	labelRule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " +
		"and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
		`'[a-z0-9]([-a-z0-9]*[a-z0-9])?')`
	keyRule = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
		"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
	valueRule = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', " +
		"and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', " +
		"regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
	dataRule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', " +
		"regex used for validation is '[-._a-zA-Z0-9]+')"
)

func tooLong(n int, of string) string { return fmt.Sprintf("must be no more than %d %s", n, of) }

// made reports whether s is of letters, digits and the characters in others.
func made(s, others string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool { return !alphanumeric(c) && !strings.ContainsRune(others, c) }) < 0
}

func alphanumeric(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// framed is made, with a letter or digit at both ends.
func framed(s, others string) bool {
	return made(s, others) && alphanumeric(rune(s[0])) && alphanumeric(rune(s[len(s)-1]))
}

// labelName says what is wrong with a name of one part.
func labelName(s string) (wrong []string) {
	if len(s) > 63 {
		wrong = append(wrong, tooLong(63, "characters"))
	}
	switch {
	case framed(s, "-") && s == strings.ToLower(s):
	case len(subdomain(s)) == 0 && strings.Contains(s, "."):
		wrong = append(wrong, "must not contain dots")
	default:
		wrong = append(wrong, labelRule)
	}
	return wrong
}

// qualifiedName says what is wrong with the key of a label.
func qualifiedName(s string) (wrong []string) {
	prefix, name, prefixed := strings.Cut(s, "/")
	switch {
	case strings.Contains(name, "/"):
		return []string{"a valid label key " + keyRule + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"}
	case !prefixed:
		name = s
	case prefix == "":
		wrong = append(wrong, "prefix part must be non-empty")
	case len(subdomain(prefix)) > 0:
		wrong = append(wrong, "prefix part "+nameRule)
	}
	if name == "" {
		wrong = append(wrong, "name part must be non-empty")
	} else if len(name) > 63 {
		wrong = append(wrong, "name part "+tooLong(63, "bytes"))
	}
	if !framed(name, "-_.") {
		wrong = append(wrong, "name part "+keyRule)
	}
	return wrong
}

func labelValue(s string) (wrong []string) {
	if len(s) > 63 {
		wrong = append(wrong, tooLong(63, "bytes"))
	}
	if s != "" && !framed(s, "-_.") {
		wrong = append(wrong, valueRule)
	}
	return wrong
}

// dataKey says what is wrong with a key of a ConfigMap or Secret.
func dataKey(s string) (wrong []string) {
	if len(s) > 253 {
		wrong = append(wrong, tooLong(253, "characters"))
	}
	if !made(s, "-_.") {
		wrong = append(wrong, dataRule)
	}
	switch {
	case s == "." || s == "..":
		wrong = append(wrong, "must not be '"+s+"'")
	case strings.HasPrefix(s, ".."):
		wrong = append(wrong, "must not start with '..'")
	}
	return wrong
}

// portName says what is wrong with a port's name that others refer to.
func portName(s string) (wrong []string) {
	if len(s) > 15 {
		wrong = append(wrong, tooLong(15, "characters"))
	}
	if !made(s, "-") || s != strings.ToLower(s) {
		wrong = append(wrong, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
	}
	if strings.IndexFunc(s, func(c rune) bool { return c >= 'a' && c <= 'z' }) < 0 {
		wrong = append(wrong, "must contain at least one letter (a-z)")
	}
	if strings.Contains(s, "--") {
		wrong = append(wrong, "must not contain consecutive hyphens")
	}
	if strings.HasPrefix(s, "-") || strings.HasSuffix(s, "-") {
		wrong = append(wrong, "must not begin or end with a hyphen")
	}
	return wrong
}
