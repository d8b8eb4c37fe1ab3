package target

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/kube"
)

// ServedAs returns a function that returns in which version the type of t is served, as
// fetch says; nil where a version was typed.
func ServedAs(fetch func(context.Context) (*discovery.API, error), can Offered, t Target) func(context.Context) (kube.Resource, error) {
	typed := t.Typed
	if typed == Everything {
		typed = t.Resource.GroupResource()
	}
	if typed == "" || strings.Contains("."+strings.ToLower(typed)+".", "."+t.Resource.Version+".") {
		return nil
	}
	return func(ctx context.Context) (kube.Resource, error) {
		api, err := fetch(ctx)
		if err != nil {
			return kube.Resource{}, err
		}
		rs, err := api.Resolve(typed)
		if err != nil {
			return kube.Resource{}, err
		}
		i := slices.IndexFunc(rs, func(r discovery.Resource) bool {
			return r.GroupResource() == t.Resource.GroupResource() && r.Namespaced == t.Resource.Namespaced && can(r, false) == nil
		})
		if i < 0 {
			return kube.Resource{}, fmt.Errorf("%s is not served", t.Resource.GroupResource())
		}
		return rs[i].Resource, nil
	}
}
