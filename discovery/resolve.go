package discovery

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/internal/clip"
	"github.com/listwatch/listwatch/kube"
)

// Resolve returns the resources that name selects, ignoring case:
//
//	pods, pod, Pod, po       plural, singular, kind or short name
//	deployments.apps         with its group, or an unambiguous beginning of it
//	deployments.v1.apps      with version and group; pods.v1 and pods.v1. for core
//	all                      a category: each of its resources that can be watched
//
// Only a category selects more than one. Plurals take precedence over singulars and
// kinds, these over short names, and these over categories. Without a version the group's
// preferred version is selected. If several groups serve the name, the core group is
// selected (so "events" are those of v1, as in kubectl), then the first built-in group in
// the server's order; between other groups the error is an *AmbiguousError. A name that
// no group serves is an *UnknownError. [Resource.Watchable] says whether a result can be
// watched.
func (a *API) Resolve(name string) ([]Resource, error) {
	q := strings.ToLower(strings.TrimSpace(name))
	switch {
	case q == "":
		return nil, errors.New("resolve resource: the name is empty")
	case strings.Contains(q, "/"):
		return nil, fmt.Errorf("resolve resource %q: want a type only; subresources cannot be watched", clip.Text(name, 200))
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

// scopes returns the possible meanings of the text after the first dot of a name, the most
// exact first.
func scopes(rest string) []func(kube.Resource) bool {
	version, group, both := strings.Cut(rest, ".")
	return []func(kube.Resource) bool{
		func(r kube.Resource) bool { return both && r.Version == version && r.Group == group },
		func(r kube.Resource) bool { return r.Group == rest },
		func(r kube.Resource) bool { return r.Group == "" && r.Version == rest },
		func(r kube.Resource) bool { return rest != "" && strings.HasPrefix(r.Group, rest) },
	}
}

// matchers are the possible meanings of a lower-case name, in order of precedence.
var matchers = [...]func(r Resource, name string) bool{
	func(r Resource, name string) bool { return strings.ToLower(r.Plural) == name },
	func(r Resource, name string) bool {
		return strings.ToLower(r.Singular) == name || strings.ToLower(r.Kind) == name
	},
	func(r Resource, name string) bool {
		return slices.ContainsFunc(r.ShortNames, func(s string) bool { return strings.ToLower(s) == name })
	},
}

// best returns the resources in scope that match name with the highest precedence, each in
// one version, in the server's order; nil = none.
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

// category returns the watchable resources of a category, each in one version. If none is
// watchable it returns the others.
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

// holds reports whether rs contains r in any version. The preferred version comes first,
// so it is the one that is kept.
func holds(rs []Resource, r Resource) bool {
	return slices.ContainsFunc(rs, func(x Resource) bool { return x.Group == r.Group && x.Plural == r.Plural })
}

// choose selects one of found, which is in the server's order.
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

// builtin reports whether kube-apiserver itself serves group, or did in the past.
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
