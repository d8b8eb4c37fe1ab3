package discovery

import (
	"errors"

	"github.com/listwatch/listwatch/kube"
)

// errStale is the error in API.Broken of a version whose server did not answer the
// aggregator, so that its resources may be outdated.
var errStale = errors.New("its API server does not answer, so its resources may be outdated")

type typeMeta struct {
	Kind string `json:"kind"`
}

func (t typeMeta) kind() string { return t.Kind }

// groupDiscoveryList is APIGroupDiscoveryList of apidiscovery.k8s.io; v2 and
// v2beta1 have the same form. See
// https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.34/#apigroupdiscovery-v2-apidiscovery-k8s-io.
type groupDiscoveryList struct {
	typeMeta
	Items []struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Versions []struct {
			Version   string              `json:"version"`
			Freshness string              `json:"freshness"`
			Resources []resourceDiscovery `json:"resources"`
		} `json:"versions"`
	} `json:"items"`
}

type resourceDiscovery struct {
	Resource     string `json:"resource"`
	ResponseKind *struct {
		Kind string `json:"kind"`
	} `json:"responseKind"`
	Scope      string   `json:"scope"`
	Singular   string   `json:"singularResource"`
	Verbs      []string `json:"verbs"`
	ShortNames []string `json:"shortNames"`
	Categories []string `json:"categories"`
}

// parseAggregated decodes the aggregated form. The first version of a group is the
// preferred one.
func parseAggregated(b []byte) (page, error) {
	list, err := decode[groupDiscoveryList](b, "APIGroupDiscoveryList")
	if err != nil {
		return page{}, err
	}
	n := 0
	for _, g := range list.Items {
		n += len(g.Versions)
	}
	if err := checkVersions(n); err != nil {
		return page{}, err
	}
	var p page
	for _, g := range list.Items {
		for i, gv := range g.Versions {
			v := version{group: g.Metadata.Name, name: gv.Version, preferred: i == 0}
			if gv.Freshness == "Stale" {
				v.err = errStale
			}
			for _, r := range gv.Resources {
				// an entry without a kind has subresources only
				if r.Resource == "" || r.ResponseKind == nil || r.ResponseKind.Kind == "" {
					continue
				}
				v.resources = append(v.resources, Resource{
					Resource: kube.Resource{
						Group: v.group, Version: v.name, Plural: r.Resource,
						Kind: r.ResponseKind.Kind, Namespaced: r.Scope == "Namespaced",
					},
					Singular: r.Singular, ShortNames: r.ShortNames, Categories: r.Categories, Verbs: r.Verbs,
				})
			}
			p.versions = append(p.versions, v)
		}
	}
	return p, nil
}
