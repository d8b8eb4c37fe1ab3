package target

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/kube"
)

// AnyVersion reports whether the type was typed without a version.
func (t Target) AnyVersion() bool {
	return t.Typed != "" && !strings.Contains("."+strings.ToLower(t.Typed)+".", "."+t.Resource.Version+".")
}

// ServedAs returns a function that returns in which version the type of t is served, as
// fetch says; nil where a version was typed. For an Absent t it is never nil.
func ServedAs(fetch func(context.Context) (*discovery.API, error), can Offered, t Target) func(context.Context) (kube.Resource, error) {
	typed := t.Typed
	switch {
	case t.Absent && !t.AnyVersion():
		typed = t.Resource.String()
		if t.Resource.Group == "" {
			typed += "." // configmaps.v1 alone may be of a group v1
		}
	case !t.AnyVersion():
		return nil
	case t.Absent, typed == Everything:
		typed = t.Resource.GroupResource()
	}
	anyScope := t.Absent && t.Namespace == ""
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
			return r.GroupResource() == t.Resource.GroupResource() && (anyScope || r.Namespaced == t.Resource.Namespaced) && can(r, false) == nil
		})
		if i < 0 {
			return kube.Resource{}, fmt.Errorf("%s is not served", t.Resource.GroupResource())
		}
		return rs[i].Resource, nil
	}
}
