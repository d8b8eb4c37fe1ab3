package discovery

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// The legacy form: APIVersions at /api, APIGroupList at /apis, and an
// APIResourceList for each group and version.

type versionsList struct {
	typeMeta
	Versions []string `json:"versions"`
}

type groupList struct {
	typeMeta
	Groups []struct {
		Name             string          `json:"name"`
		Versions         []servedVersion `json:"versions"`
		PreferredVersion servedVersion   `json:"preferredVersion"`
	} `json:"groups"`
}

type servedVersion struct {
	Version string `json:"version"`
}

type resourceList struct {
	typeMeta
	Resources []struct {
		Name       string   `json:"name"`
		Singular   string   `json:"singularName"`
		Namespaced bool     `json:"namespaced"`
		Kind       string   `json:"kind"`
		Verbs      []string `json:"verbs"`
		ShortNames []string `json:"shortNames"`
		Categories []string `json:"categories"`
	} `json:"resources"`
}

func parseVersions(b []byte) (page, error) {
	list, err := decode[versionsList](b, "APIVersions")
	if err != nil {
		return page{}, err
	}
	if err := checkVersions(len(list.Versions)); err != nil {
		return page{}, err
	}
	var p page
	for i, v := range list.Versions {
		p.versions = append(p.versions, version{name: v, preferred: i == 0, path: "/api/" + url.PathEscape(v)})
	}
	return p, nil
}

func parseGroups(b []byte) (page, error) {
	list, err := decode[groupList](b, "APIGroupList")
	if err != nil {
		return page{}, err
	}
	n := 0
	for _, g := range list.Groups {
		n += len(g.Versions)
	}
	if err := checkVersions(n); err != nil {
		return page{}, err
	}
	var p page
	for _, g := range list.Groups {
		path := "/apis/" + url.PathEscape(g.Name) + "/"
		first := len(p.versions)
		for _, v := range g.Versions {
			one := version{group: g.Name, name: v.Version, path: path + url.PathEscape(v.Version)}
			if one.preferred = v == g.PreferredVersion; one.preferred {
				p.versions = slices.Insert(p.versions, first, one)
				continue
			}
			p.versions = append(p.versions, one)
		}
	}
	return p, nil
}

// checkVersions returns an error if n group versions exceed the limit.
func checkVersions(n int) error {
	if n > maxVersions {
		return fmt.Errorf("the server names %d group versions, more than %d", n, maxVersions)
	}
	return nil
}

func parseResources(b []byte, group, name string) ([]Resource, error) {
	list, err := decode[resourceList](b, "APIResourceList")
	if err != nil {
		return nil, err
	}
	var rs []Resource
	for _, r := range list.Resources {
		if r.Name == "" || strings.Contains(r.Name, "/") {
			continue // a subresource
		}
		rs = append(rs, Resource{
			Resource: kube.Resource{Group: group, Version: name, Plural: r.Name, Kind: r.Kind, Namespaced: r.Namespaced},
			Singular: r.Singular, ShortNames: r.ShortNames, Categories: r.Categories, Verbs: r.Verbs,
		})
	}
	return rs, nil
}
