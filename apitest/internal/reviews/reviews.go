// Package reviews has the rules of kube-apiserver for reviews, the questions in the form of a
// create that authentication.k8s.io and authorization.k8s.io have.
package reviews

import (
	"maps"

	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// Check returns why the review o of a resource, in a namespace or "", is refused; nil if it
// is not.
func Check(res kube.Resource, namespace string, o map[string]any) *kube.Status {
	spec := rules.ObjectAt(o, "spec")
	switch res.Plural {
	case "tokenreviews":
		if rules.TextAt(spec, "token") == "" {
			return wire.BadRequest("token is required for TokenReview in authentication")
		}
	case "selfsubjectrulesreviews":
		if rules.TextAt(spec, "namespace") == "" {
			return wire.BadRequest("no namespace on request")
		}
	case "selfsubjectaccessreviews", "subjectaccessreviews", "localsubjectaccessreviews":
		return checkAccess(res, namespace, spec, rules.ObjectAt(o, "metadata"))
	}
	return nil
}

// checkAccess is Check for the reviews of one access.
func checkAccess(res kube.Resource, namespace string, spec, metadata map[string]any) *kube.Status {
	if own := rules.TextAt(metadata, "namespace"); res.Namespaced && own != "" && own != namespace {
		return wire.BadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	var r rules.Refusals
	attributes, path := rules.ObjectAt(spec, "resourceAttributes"), pathOf(spec)
	if (attributes == nil) == (path == nil) {
		r.Invalid("spec", path, "exactly one of nonResourceAttributes or resourceAttributes must be specified")
	}
	if groups, _ := spec["groups"].([]any); res.Plural != "selfsubjectaccessreviews" && rules.TextAt(spec, "user") == "" && len(groups) == 0 {
		r.Invalid("spec.user", "", "at least one of user or group must be specified")
	}
	checkSelector(&r, attributes, "fieldSelector")
	checkSelector(&r, attributes, "labelSelector")
	empty := "must be empty"
	if res.Namespaced {
		empty = "must be empty except for namespace"
	}
	metadata = maps.Clone(metadata)
	for _, name := range []string{"namespace", "managedFields", "creationTimestamp"} {
		delete(metadata, name)
	}
	if len(metadata) > 0 {
		r.Invalid("metadata", metadata, empty)
	}
	if own := rules.TextAt(attributes, "namespace"); res.Namespaced && attributes != nil && own != namespace {
		r.Invalid("spec.resourceAttributes.namespace", own, "must match metadata.namespace")
	}
	if res.Namespaced && path != nil {
		r.Invalid("spec.nonResourceAttributes", path, "disallowed on this kind of request")
	}
	if len(r.Causes) == 0 {
		return nil
	}
	return wire.Invalid(res.Group, "", "", r.Causes...) // kube-apiserver does not name the kind here
}

// pathOf returns the nonResourceAttributes as kube-apiserver shows them; nil if there are none.
func pathOf(spec map[string]any) map[string]any {
	m := rules.ObjectAt(spec, "nonResourceAttributes")
	if m == nil {
		return nil
	}
	return map[string]any{"Path": rules.TextAt(m, "path"), "Verb": rules.TextAt(m, "verb")}
}

// checkSelector refuses a selector of attributes that is empty, or is given in both ways.
func checkSelector(r *rules.Refusals, attributes map[string]any, name string) {
	s := rules.ObjectAt(attributes, name)
	if s == nil {
		return
	}
	at := "spec.resourceAttributes." + name
	requirements, _ := s["requirements"].([]any)
	switch raw := rules.TextAt(s, "rawSelector"); {
	case raw != "" && len(requirements) > 0:
		r.Invalid(at+".rawSelector", raw, "may not specified at the same time as requirements")
	case raw == "" && len(requirements) == 0:
		r.Required(at+".requirements", "when "+at+" is specified, requirements or rawSelector is required")
	}
}

// Everything is the status of a SelfSubjectRulesReview of who may do everything.
func Everything() map[string]any {
	all := []any{"*"}
	return map[string]any{"incomplete": false, "nonResourceRules": []any{map[string]any{"verbs": all, "nonResourceURLs": all}},
		"resourceRules": []any{map[string]any{"verbs": all, "apiGroups": all, "resources": all}}}
}
