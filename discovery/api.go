package discovery

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/internal/clip"
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
	Preferred  bool     // its version is the one that the group prefers; that may lack other resources
}

// Can reports whether the server supports verb on r.
func (r Resource) Can(verb string) bool { return slices.Contains(r.Verbs, verb) }

// Watchable returns nil if r can be listed and watched, else an error with the verbs that
// the server supports.
func (r Resource) Watchable() error {
	if r.Can("list") && r.Can("watch") {
		return nil
	}
	verbs := strings.Join(r.Verbs, ", ")
	if verbs == "" {
		verbs = "nothing"
	}
	return fmt.Errorf("%s cannot be listed and watched: the server offers only: %s", r.GroupResource(), clip.Text(verbs, 200))
}

// API is the set of resources that a server serves.
type API struct {
	resources []Resource // the core group first, then groups in the server's order; in a group the preferred version first
	broken    map[string]error
}

// All yields every resource in the server's order of preference: the core
// group first, and in a group the preferred version first. It omits
// subresources.
func (a *API) All() iter.Seq[Resource] { return slices.Values(a.resources) }

// Broken returns the errors of group versions that are missing or stale, by group and
// version ("metrics.k8s.io/v1beta1"). It is a kube.ErrBadName if a resource was omitted
// because of an invalid name. The caller owns the map.
func (a *API) Broken() map[string]error { return maps.Clone(a.broken) }

// groupVersion returns group and version in the form of apiVersion.
func groupVersion(group, version string) string {
	return kube.Resource{Group: group, Version: version}.APIVersion()
}
