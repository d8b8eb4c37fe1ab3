package apitest

import (
	"cmp"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// Version is what /version says of the server.
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

func (r *ResourceInfo) verbs() []string {
	if isReview(r.Resource) {
		return []string{"create"}
	}
	return []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

// subresource is a subresource as discovery has it.
type subresource struct {
	name string
	kind groupVersionKind
}

func (r *ResourceInfo) subresources() (list []subresource) {
	if r.Scale != nil {
		list = append(list, subresource{"scale", groupVersionKind{"autoscaling", "v1", "Scale"}})
	}
	if r.Status {
		list = append(list, subresource{"status", groupVersionKind{r.Group, r.Version, r.Kind}})
	}
	return list
}

func subresourceVerbs() []string { return []string{"get", "patch", "update"} }

// discover answers /version, /api, /apis and below; everything else is not
// found, in the two ways of kube-apiserver.
func (s *Server) discover(x *exchange, w http.ResponseWriter) {
	resources := s.store.resources()
	path := strings.Trim(x.r.URL.Path, "/")
	parts := strings.Split(path, "/")
	switch {
	case path == "version":
		writeJSON(w, http.StatusOK, "application/json", marshal(map[string]string{
			"major": "1", "minor": "37", "gitVersion": Version, "gitTreeState": "clean", "platform": "linux/amd64",
			"emulationMajor": "1", "emulationMinor": "37", "minCompatibilityMajor": "1", "minCompatibilityMinor": "36"}))
	case path == "openapi/v3" || strings.HasPrefix(path, "openapi/v3/"):
		s.openAPI(w, path)
	case path == "api" || path == "apis":
		s.discoverAll(x, w, resources, path == "api")
	case parts[0] == "api" && len(parts) == 2:
		discoverVersion(w, resources, "", parts[1])
	case parts[0] == "apis" && len(parts) == 2:
		for _, g := range groups(resources) {
			if g.Name == parts[1] {
				writeJSON(w, http.StatusOK, "application/json", marshal(struct {
					Kind       string `json:"kind"`
					APIVersion string `json:"apiVersion"`
					apiGroup
				}{"APIGroup", "v1", g}))
				return
			}
		}
		notFound(w)
	case parts[0] == "apis" && len(parts) == 3:
		discoverVersion(w, resources, parts[1], parts[2])
	case x.target.res.Plural != "" && slices.ContainsFunc(resources, func(r *ResourceInfo) bool {
		return r.Group == x.target.res.Group && r.builtIn
	}):
		WriteStatus(w, statusNoResource())
	default:
		notFound(w)
	}
}

// notFound is the answer where no API group or version is served.
func notFound(w http.ResponseWriter) { http.Error(w, "404 page not found", http.StatusNotFound) }

// resources returns what is served, sorted by group, version and name.
func (st *store) resources() []*ResourceInfo {
	st.mu.Lock()
	defer st.mu.Unlock()
	var list []*ResourceInfo
	for _, t := range st.tables {
		list = append(list, t.served()...)
	}
	slices.SortFunc(list, func(a, b *ResourceInfo) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), compareVersions(b.Version, a.Version), cmp.Compare(a.Plural, b.Plural))
	})
	return list
}

// groups returns the named groups.
func groups(resources []*ResourceInfo) []apiGroup {
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

func (s *Server) discoverAll(x *exchange, w http.ResponseWriter, resources []*ResourceInfo, core bool) {
	if version := wantsAggregated(x.r); version != "" {
		writeJSON(w, http.StatusOK, "application/json;g=apidiscovery.k8s.io;v="+version+";as=APIGroupDiscoveryList",
			aggregated(resources, core, version))
		return
	}
	if core {
		writeJSON(w, http.StatusOK, "application/json", marshal(struct {
			Kind      string              `json:"kind"`
			Versions  []string            `json:"versions"`
			Addresses []map[string]string `json:"serverAddressByClientCIDRs"`
		}{"APIVersions", []string{"v1"}, []map[string]string{{"clientCIDR": "0.0.0.0/0", "serverAddress": x.r.Host}}}))
		return
	}
	writeJSON(w, http.StatusOK, "application/json", marshal(struct {
		Kind       string     `json:"kind"`
		APIVersion string     `json:"apiVersion"`
		Groups     []apiGroup `json:"groups"`
	}{"APIGroupList", "v1", groups(resources)}))
}

// wantsAggregated returns the version of aggregated discovery that the first
// acceptable clause of Accept names, "" for the legacy form.
func wantsAggregated(r *http.Request) string {
	for clause := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		typ, params, err := mime.ParseMediaType(clause)
		if err != nil || typ != "application/json" && typ != "*/*" {
			continue
		}
		if params["as"] == "" {
			return ""
		}
		if v := params["v"]; params["as"] == "APIGroupDiscoveryList" && params["g"] == "apidiscovery.k8s.io" && (v == "v2" || v == "v2beta1") {
			return v
		}
	}
	return ""
}

func aggregated(resources []*ResourceInfo, core bool, version string) []byte {
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
		v.Resources = append(v.Resources, r.aggregated())
	}
	return append(marshal(list), '\n')
}

func (r *ResourceInfo) aggregated() aggregatedResource {
	kind := groupVersionKind{r.Group, r.Version, r.Kind}
	a := aggregatedResource{
		Resource: r.Plural, ResponseKind: kind, Scope: "Cluster", SingularResource: r.Singular,
		Verbs: r.verbs(), ShortNames: r.ShortNames, Categories: r.Categories,
	}
	if r.Namespaced {
		a.Scope = "Namespaced"
	}
	for _, s := range r.subresources() {
		a.Subresources = append(a.Subresources, aggregatedSubresource{s.name, s.kind, subresourceVerbs()})
	}
	return a
}

func discoverVersion(w http.ResponseWriter, resources []*ResourceInfo, group, version string) {
	list := struct {
		Kind         string        `json:"kind"`
		APIVersion   string        `json:"apiVersion"`
		GroupVersion string        `json:"groupVersion"`
		Resources    []apiResource `json:"resources"`
	}{"APIResourceList", "v1", kube.Resource{Group: group, Version: version}.APIVersion(), []apiResource{}}
	for _, r := range resources {
		if r.Group != group || r.Version != version {
			continue
		}
		list.Resources = append(list.Resources, apiResource{Name: r.Plural, SingularName: r.Singular, Namespaced: r.Namespaced, Kind: r.Kind, Verbs: r.verbs(), ShortNames: r.ShortNames, Categories: r.Categories})
		for _, s := range r.subresources() {
			sub := apiResource{Name: r.Plural + "/" + s.name, Namespaced: r.Namespaced, Kind: s.kind.Kind, Verbs: subresourceVerbs()}
			if s.kind.Group != r.Group {
				sub.Group, sub.Version = s.kind.Group, s.kind.Version
			}
			list.Resources = append(list.Resources, sub)
		}
	}
	if len(list.Resources) == 0 {
		if slices.ContainsFunc(resources, func(r *ResourceInfo) bool { return r.Group == group }) {
			WriteStatus(w, statusNoResource())
		} else {
			notFound(w)
		}
		return
	}
	writeJSON(w, http.StatusOK, "application/json", append(marshal(list), '\n'))
}
