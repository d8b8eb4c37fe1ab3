package discovery

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// Resolve returns what name means, upper and lower case being equal:
//
//	pods, pod, Pod, po       plural, singular, kind or short name
//	deployments.apps         with its group, or an unambiguous beginning of it
//	deployments.v1.apps      with version and group; pods.v1 and pods.v1. for core
//	all                      a category: each of its resources that can be watched
//
// Only a category gives more than one. A plural outweighs a singular or kind,
// that a short name, and that a category. Without a version the one that the
// group prefers is taken. Of several groups that serve a name, core wins (so
// "events" are those of v1, as in kubectl), then the first built-in group as
// the server ranks them; among others the name is an *AmbiguousError. What
// nobody serves is an *UnknownError. Neither says that the result can be
// watched: [Resource.Watchable] does.
func (a *API) Resolve(name string) ([]Resource, error) {
	q := strings.ToLower(strings.TrimSpace(name))
	switch {
	case q == "":
		return nil, errors.New("resolve resource: the name is empty")
	case strings.Contains(q, "/"):
		return nil, fmt.Errorf("resolve resource %q: want a type only; subresources cannot be watched", clip(name, 200))
	}
	base, rest, dotted := strings.Cut(q, ".")
	if base == "" {
		return nil, a.unknown(name, base)
	}
	if !dotted {
		if found := a.best(base, func(kube.Resource) bool { return true }); found != nil {
			return choose(name, found)
		}
		if found := a.category(q); found != nil {
			return found, nil
		}
		return nil, a.unknown(name, base)
	}
	for _, in := range scopes(rest) {
		if found := a.best(base, in); found != nil {
			return choose(name, found)
		}
	}
	return nil, a.unknown(name, base)
}

// scopes returns the meanings of what follows the first dot of a name, the
// most exact first.
func scopes(rest string) []func(kube.Resource) bool {
	version, group, both := strings.Cut(rest, ".")
	return []func(kube.Resource) bool{
		func(r kube.Resource) bool { return both && r.Version == version && r.Group == group },
		func(r kube.Resource) bool { return r.Group == rest },
		func(r kube.Resource) bool { return r.Group == "" && r.Version == rest },
		func(r kube.Resource) bool { return rest != "" && strings.HasPrefix(r.Group, rest) },
	}
}

// matchers are the meanings of a lower-case name, the strongest first.
var matchers = [...]func(r Resource, name string) bool{
	func(r Resource, name string) bool { return strings.ToLower(r.Plural) == name },
	func(r Resource, name string) bool {
		return strings.ToLower(r.Singular) == name || strings.ToLower(r.Kind) == name
	},
	func(r Resource, name string) bool {
		return slices.ContainsFunc(r.ShortNames, func(s string) bool { return strings.ToLower(s) == name })
	},
}

// best returns the resources in scope that name fits best, each in one
// version, in the server's order; nil if there are none.
func (a *API) best(name string, in func(kube.Resource) bool) []Resource {
	for _, matches := range matchers {
		var found []Resource
		for _, r := range a.resources {
			if in(r.Resource) && matches(r, name) && !holds(found, r) {
				found = append(found, r)
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// category returns its watchable resources, each in one version, or those that
// are not if there are no others.
func (a *API) category(name string) []Resource {
	var watchable, other []Resource
	for _, r := range a.resources {
		if !slices.ContainsFunc(r.Categories, func(c string) bool { return strings.ToLower(c) == name }) {
			continue
		}
		switch {
		case r.Watchable() == nil && !holds(watchable, r):
			watchable = append(watchable, r)
		case r.Watchable() != nil && !holds(other, r):
			other = append(other, r)
		}
	}
	if watchable == nil {
		return other
	}
	return watchable
}

// holds reports whether rs has r in some version. As the preferred version
// comes first, it is the one that is kept.
func holds(rs []Resource, r Resource) bool {
	return slices.ContainsFunc(rs, func(x Resource) bool { return x.Group == r.Group && x.Plural == r.Plural })
}

// choose picks one of found, which is in the server's order.
func choose(name string, found []Resource) ([]Resource, error) {
	if len(found) == 1 {
		return found, nil
	}
	for _, r := range found {
		if r.Group == "" {
			return []Resource{r}, nil
		}
	}
	for _, r := range found {
		if builtin(r.Group) {
			return []Resource{r}, nil
		}
	}
	return nil, &AmbiguousError{Name: name, Candidates: found}
}

// builtin reports whether kube-apiserver itself serves group, or once did.
func builtin(group string) bool {
	switch group {
	case "", "apps", "autoscaling", "batch", "extensions", "policy",
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io",
		"authorization.k8s.io", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
		"flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io",
		"rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io":
		return true
	}
	return false
}
