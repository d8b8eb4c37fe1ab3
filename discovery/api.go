package discovery

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// Resource is a resource as the server describes it. Its slices are shared:
// do not change them.
type Resource struct {
	kube.Resource
	Singular   string   // "pod"; some servers leave it empty
	ShortNames []string // "po"
	Categories []string // "all"
	Verbs      []string // "get", "list", "watch"
	Preferred  bool     // the version that the server prefers in this group
}

// Can reports whether the server serves verb on r.
func (r Resource) Can(verb string) bool { return slices.Contains(r.Verbs, verb) }

// Watchable returns nil if r can be listed and watched, else an error that
// says what it can.
func (r Resource) Watchable() error {
	if r.Can("list") && r.Can("watch") {
		return nil
	}
	verbs := strings.Join(r.Verbs, ", ")
	if verbs == "" {
		verbs = "nothing"
	}
	return fmt.Errorf("%s cannot be listed and watched: the server offers only: %s", r.GroupResource(), clip(verbs, 200))
}

// API is everything that a server serves.
type API struct {
	resources []Resource // core first, then groups as the server ranks them, then versions, preferred first
	broken    map[string]error
}

// All yields every resource in the server's order of preference: the core
// group first, and in a group the preferred version first. Subresources are
// left out.
func (a *API) All() iter.Seq[Resource] { return slices.Values(a.resources) }

// Broken returns why parts of the API are missing or stale, by group and
// version ("metrics.k8s.io/v1beta1"): a kube.ErrBadName where a resource was left
// out because a name of it is not allowed. The map is the caller's.
func (a *API) Broken() map[string]error { return maps.Clone(a.broken) }

// groupVersion prints group and version as apiVersion does.
func groupVersion(group, version string) string {
	return kube.Resource{Group: group, Version: version}.APIVersion()
}

// clip shortens s, which came from elsewhere, for an error text.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "..."
}
