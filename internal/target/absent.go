package target

import (
	"errors"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/kube"
)

// resolve returns what each type of w means in api. A type that api does not have is one of
// w.Before, where it is clear which one.
func (w Wish) resolve(api *discovery.API) (map[string][]discovery.Resource, error) {
	found := map[string][]discovery.Resource{}
	var unknown []string
	for _, t := range w.Types {
		rs, err := api.Resolve(t)
		switch {
		case err == nil:
			found[t] = rs
		case w.Before != nil && isUnknown(err):
			unknown = append(unknown, t)
		default:
			return nil, err
		}
	}
	if unknown == nil {
		return found, nil
	}
	absent := slices.DeleteFunc(w.Before(), func(r kube.Resource) bool {
		_, err := api.Resolve(r.GroupResource())
		return err == nil
	})
	for _, t := range unknown {
		i := slices.IndexFunc(absent, func(r kube.Resource) bool { return names(t, r) })
		if i < 0 && len(unknown) == 1 && len(absent) == 1 && inGroup(t, absent[0]) {
			i = 0 // by a short name, which only the server knows
		}
		if i < 0 {
			_, err := api.Resolve(t)
			return nil, err
		}
		found[t] = []discovery.Resource{{Resource: absent[i], Verbs: []string{"list", "watch"}}}
	}
	return found, nil
}

func isUnknown(err error) bool {
	_, is := errors.AsType[*discovery.UnknownError](err)
	return is
}

// names reports whether typed is r: by its plural, its singular or its kind.
func names(typed string, r kube.Resource) bool {
	name, _, _ := strings.Cut(strings.ToLower(typed), ".")
	return inGroup(typed, r) && slices.Contains([]string{name, name + "s", name + "es", strings.TrimSuffix(name, "y") + "ies"}, r.Plural)
}

// inGroup reports whether what typed has behind the name is the group, the version, or both,
// of r.
func inGroup(typed string, r kube.Resource) bool {
	_, rest, qualified := strings.Cut(strings.ToLower(typed), ".")
	return !qualified || slices.Contains([]string{r.Group, r.Version, r.Version + "." + r.Group}, rest)
}
