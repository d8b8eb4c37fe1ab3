package discovery

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// Version is the Kubernetes version of /version.
const Version = "v1.37.0"

type groupVersion struct {
	GroupVersion string `json:"groupVersion"`
	Version      string `json:"version"`
}

type apiGroup struct {
	Name             string         `json:"name"`
	Versions         []groupVersion `json:"versions"`
	PreferredVersion groupVersion   `json:"preferredVersion"`
}

type apiResource struct {
	Name         string   `json:"name"`
	SingularName string   `json:"singularName"`
	Namespaced   bool     `json:"namespaced"`
	Group        string   `json:"group,omitempty"`
	Version      string   `json:"version,omitempty"`
	Kind         string   `json:"kind"`
	Verbs        []string `json:"verbs"`
	ShortNames   []string `json:"shortNames,omitempty"`
	Categories   []string `json:"categories,omitempty"`
	Hash         string   `json:"storageVersionHash,omitempty"`
}

type groupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

type aggregatedSubresource struct {
	Subresource  string           `json:"subresource"`
	ResponseKind groupVersionKind `json:"responseKind"`
	Verbs        []string         `json:"verbs"`
}

type aggregatedResource struct {
	Resource         string                  `json:"resource"`
	ResponseKind     groupVersionKind        `json:"responseKind"`
	Scope            string                  `json:"scope"`
	SingularResource string                  `json:"singularResource"`
	Verbs            []string                `json:"verbs"`
	ShortNames       []string                `json:"shortNames,omitempty"`
	Categories       []string                `json:"categories,omitempty"`
	Subresources     []aggregatedSubresource `json:"subresources,omitempty"`
}

type aggregatedVersion struct {
	Version   string               `json:"version"`
	Resources []aggregatedResource `json:"resources"`
	Freshness string               `json:"freshness"`
}

type aggregatedGroup struct {
	Metadata struct {
		Name string `json:"name,omitempty"`
	} `json:"metadata"`
	Versions []aggregatedVersion `json:"versions"`
}

// Answer responds to r for /version, /api, /apis, /openapi/v2, /openapi/v3 and below, with
// the served resources; all other paths are not found, in the two forms of kube-apiserver. d has
// the documents of the server.
func (d *Documents) Answer(w http.ResponseWriter, r *http.Request, resources []*object.Info) {
	resources = sorted(resources)
	path := strings.Trim(r.URL.Path, "/")
	parts := strings.Split(path, "/")
	if r.URL.Path == "/openapi/v2" {
		openAPIv2(w, r)
		return
	}
	if path == "openapi/v3" || strings.HasPrefix(path, "openapi/v3/") {
		d.openAPI(w, r, resources)
		return
	}
	known := path == "version" || path == "api" || path == "apis" || (parts[0] == "api" || parts[0] == "apis") && slices.ContainsFunc(resources, func(i *object.Info) bool {
		return parts[0] == "api" && path == "api/"+i.APIVersion() || path == "apis/"+i.Group || path == "apis/"+i.APIVersion()
	})
	if st := undiscoverable(r, path); st != nil && known {
		wire.WriteStatus(w, st)
		return
	}
	switch {
	case path == "":
		root(w, resources)
	case path == "version":
		version(w)
	case path == "api" || path == "apis":
		discoverAll(w, r, resources, path == "api")
	case parts[0] == "api" && len(parts) == 2:
		discoverVersion(w, resources, "", parts[1])
	case parts[0] == "apis" && len(parts) == 2:
		for _, g := range groups(resources) {
			if g.Name == parts[1] {
				wire.WriteJSON(w, http.StatusOK, "application/json", append(object.Marshal(struct {
					Kind       string `json:"kind"`
					APIVersion string `json:"apiVersion"`
					apiGroup
				}{"APIGroup", "v1", g}), '\n'))
				return
			}
		}
		wire.PageNotFound(w)
	case parts[0] == "apis" && len(parts) == 3:
		discoverVersion(w, resources, parts[1], parts[2])
	case parts[0] == "api" && len(parts) > 2, parts[0] == "apis" && len(parts) > 3 && parts[1] != "" && slices.ContainsFunc(resources, func(i *object.Info) bool {
		return i.Group == parts[1] && i.BuiltIn
	}):
		wire.WriteStatus(w, wire.NoResource())
	default:
		wire.PageNotFound(w)
	}
}

// sorted returns resources by group priority, version and name.
func sorted(resources []*object.Info) []*object.Info {
	return slices.SortedFunc(slices.Values(resources), func(a, b *object.Info) int {
		return cmp.Or(compareGroups(a.Group, b.Group), object.CompareVersions(b.Version, a.Version), cmp.Compare(a.Plural, b.Plural))
	})
}

// groups returns the named groups.
func groups(resources []*object.Info) []apiGroup {
	var list []apiGroup
	for _, r := range resources {
		if r.Group == "" {
			continue
		}
		gv := groupVersion{r.APIVersion(), r.Version}
		if n := len(list); n == 0 || list[n-1].Name != r.Group {
			list = append(list, apiGroup{Name: r.Group, PreferredVersion: gv})
		}
		g := &list[len(list)-1]
		if !slices.Contains(g.Versions, gv) {
			g.Versions = append(g.Versions, gv)
		}
	}
	return list
}

func discoverAll(w http.ResponseWriter, r *http.Request, resources []*object.Info, core bool) {
	if version := wantsAggregated(r); version != "" {
		cached(w, r, "application/json;g=apidiscovery.k8s.io;v="+version+";as=APIGroupDiscoveryList", "public",
			aggregated(resources, core, version))
		return
	}
	if core {
		wire.WriteJSON(w, http.StatusOK, "application/json", append(object.Marshal(struct {
			Kind      string              `json:"kind"`
			Versions  []string            `json:"versions"`
			Addresses []map[string]string `json:"serverAddressByClientCIDRs"`
		}{"APIVersions", []string{"v1"}, []map[string]string{{"clientCIDR": "0.0.0.0/0", "serverAddress": r.Host}}}), '\n'))
		return
	}
	wire.WriteJSON(w, http.StatusOK, "application/json", append(object.Marshal(struct {
		Kind       string     `json:"kind"`
		APIVersion string     `json:"apiVersion"`
		Groups     []apiGroup `json:"groups"`
	}{"APIGroupList", "v1", groups(resources)}), '\n'))
}

// wantsAggregated returns the version of aggregated discovery in the first acceptable
// clause of Accept, "" for the legacy form.
func wantsAggregated(r *http.Request) string {
	for _, c := range wire.Clauses(r) {
		if c.Params == nil || c.Type != "application/json" && c.Type != "*/*" {
			continue
		}
		params := c.Params
		if params["as"] == "" {
			return ""
		}
		if v := params["v"]; params["as"] == "APIGroupDiscoveryList" && params["g"] == "apidiscovery.k8s.io" && (v == "v2" || v == "v2beta1") {
			return v
		}
	}
	return ""
}

func aggregated(resources []*object.Info, core bool, version string) []byte {
	list := struct {
		Kind       string            `json:"kind"`
		APIVersion string            `json:"apiVersion"`
		Metadata   struct{}          `json:"metadata"`
		Items      []aggregatedGroup `json:"items"`
	}{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/" + version, Items: []aggregatedGroup{}}
	for _, r := range resources {
		if (r.Group == "") != core {
			continue
		}
		if n := len(list.Items); n == 0 || list.Items[n-1].Metadata.Name != r.Group {
			g := aggregatedGroup{}
			g.Metadata.Name = r.Group
			list.Items = append(list.Items, g)
		}
		g := &list.Items[len(list.Items)-1]
		if n := len(g.Versions); n == 0 || g.Versions[n-1].Version != r.Version {
			g.Versions = append(g.Versions, aggregatedVersion{Version: r.Version, Freshness: "Current"})
		}
		v := &g.Versions[len(g.Versions)-1]
		v.Resources = append(v.Resources, aggregatedOf(r))
	}
	return append(object.Marshal(list), '\n')
}

func aggregatedOf(r *object.Info) aggregatedResource {
	kind := groupVersionKind{r.Group, r.Version, r.Kind}
	if r.BuiltIn { // which have none that is not that of the list
		kind.Group, kind.Version = "", ""
	}
	a := aggregatedResource{
		Resource: r.Plural, ResponseKind: kind, Scope: "Cluster", SingularResource: r.Singular,
		Verbs: verbsOf(r), ShortNames: r.ShortNames, Categories: r.Categories,
	}
	if r.Namespaced {
		a.Scope = "Namespaced"
	}
	for _, s := range subresourcesOf(r) {
		if r.BuiltIn && s.kind.Group == r.Group && s.kind.Version == r.Version {
			s.kind.Group, s.kind.Version = "", ""
		}
		a.Subresources = append(a.Subresources, aggregatedSubresource{s.name, s.kind, s.verbs})
	}
	return a
}

func discoverVersion(w http.ResponseWriter, resources []*object.Info, group, version string) {
	list := struct {
		Kind         string        `json:"kind"`
		APIVersion   string        `json:"apiVersion,omitempty"`
		GroupVersion string        `json:"groupVersion"`
		Resources    []apiResource `json:"resources"`
	}{"APIResourceList", "v1", kube.Resource{Group: group, Version: version}.APIVersion(), []apiResource{}}
	if group == "" {
		list.APIVersion = "" // so it is, since v1.0
	}
	for _, r := range resources {
		if r.Group != group || r.Version != version {
			continue
		}
		list.Resources = append(list.Resources, apiResource{Name: r.Plural, SingularName: r.Singular, Namespaced: r.Namespaced, Kind: r.Kind, Verbs: verbsOf(r), ShortNames: r.ShortNames, Categories: r.Categories, Hash: storageHash(r)})
		for _, s := range subresourcesOf(r) {
			sub := apiResource{Name: r.Plural + "/" + s.name, Namespaced: r.Namespaced, Kind: s.kind.Kind, Verbs: s.verbs}
			if s.kind.Group != r.Group {
				sub.Group, sub.Version = s.kind.Group, s.kind.Version
			}
			list.Resources = append(list.Resources, sub)
		}
	}
	if len(list.Resources) == 0 {
		if slices.ContainsFunc(resources, func(r *object.Info) bool { return r.Group == group && r.BuiltIn }) {
			wire.WriteStatus(w, wire.NoResource())
		} else {
			wire.PageNotFound(w)
		}
		return
	}
	wire.WriteJSON(w, http.StatusOK, "application/json", append(object.Marshal(list), '\n'))
}
