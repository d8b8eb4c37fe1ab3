package target

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/kube"
)

// ServedAs returns a function that requests from c in which version the type of t is
// served; nil where a version was typed.
func ServedAs(c *client.Client, t Target) func(context.Context) (kube.Resource, error) {
	typed := t.Typed
	if typed == Everything {
		typed = t.Resource.GroupResource()
	}
	if typed == "" || strings.Contains("."+strings.ToLower(typed)+".", "."+t.Resource.Version+".") {
		return nil
	}
	return func(ctx context.Context) (kube.Resource, error) {
		api, err := discovery.Fetch(ctx, c)
		if err != nil {
			return kube.Resource{}, err
		}
		rs, err := api.Resolve(typed)
		if err != nil {
			return kube.Resource{}, err
		}
		i := slices.IndexFunc(rs, func(r discovery.Resource) bool {
			return r.GroupResource() == t.Resource.GroupResource() && r.Namespaced == t.Resource.Namespaced && r.Watchable() == nil
		})
		if i < 0 {
			return kube.Resource{}, fmt.Errorf("%s is not served", t.Resource.GroupResource())
		}
		return rs[i].Resource, nil
	}
}
