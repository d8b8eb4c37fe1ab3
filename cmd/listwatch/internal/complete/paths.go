package complete

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/list"
)

// pathObjects is how many objects of a type say which members it has.
const pathObjects = 20

var (
	// pathAtEnd is the path that an expression ends with, and what is before it.
	pathAtEnd = regexp.MustCompile(`^((?s).*?[^\w.\]"']|)((?:\.\w+(?:\[\])?)*)\.(\w*)$`)

	// member are the names that follow a dot in jq without quotes.
	member = regexp.MustCompile(`^[A-Za-z_]\w*$`)
)

// expressions completes what expressions consist of: words, if it is at their beginning,
// and paths, as the objects of the types before it have them.
type expressions struct {
	*completer
	words []string
}

func (e expressions) complete(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	const directive = noFiles | cobra.ShellCompDirectiveNoSpace
	if wanted, ok := strings.CutPrefix(prefix, "condition="); ok && e.words != nil {
		return prefixed("condition=", e.conditions(cmd, args), wanted), directive
	}
	found := prefixed("", e.words, prefix)
	at := pathAtEnd.FindStringSubmatch(cmp.Or(prefix, "."))
	if at == nil {
		return found, directive
	}
	members := map[string]string{} // with a dot where they are objects
	e.objects(cmd, args, func(object map[string]any) {
		for _, v := range follow([]any{object}, at[2]) {
			m, _ := v.(map[string]any)
			for name, value := range m {
				if _, nested := value.(map[string]any); nested && member.MatchString(name) {
					members[name] = name + "."
				} else if members[name] == "" && member.MatchString(name) {
					members[name] = name
				}
			}
		}
	})
	return append(found, prefixed(at[1]+at[2]+".", slices.Sorted(maps.Values(members)), at[3])...), directive
}

// conditions returns the types of the conditions in the status of objects.
func (c *completer) conditions(cmd *cobra.Command, args []string) []string {
	var found []string
	c.objects(cmd, args, func(object map[string]any) {
		for _, v := range follow([]any{object}, ".status.conditions[]") {
			if m, ok := v.(map[string]any); ok {
				if name, ok := m["type"].(string); ok && !slices.Contains(found, name) {
					found = append(found, name)
				}
			}
		}
	})
	slices.Sort(found)
	return inert(found)
}

// labels completes names of labels of objects, of which the last is unfinished.
func (c *completer) labels(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	found := map[string]bool{}
	c.objects(cmd, args, func(object map[string]any) {
		for _, v := range follow([]any{object}, ".metadata.labels") {
			m, _ := v.(map[string]any)
			for name := range m {
				found[name] = true
			}
		}
	})
	names, directive := completeListed(inert(slices.Sorted(maps.Keys(found))))(cmd, args, prefix)
	return names, directive | cobra.ShellCompDirectiveNoSpace
}

// prefixed returns those of words that begin with wanted, after before.
func prefixed(before string, words []string, wanted string) []string {
	var found []string
	for _, w := range words {
		if strings.HasPrefix(w, wanted) {
			found = append(found, before+w)
		}
	}
	return found
}

// follow returns what a path such as .spec.containers[] leads to.
func follow(values []any, path string) []any {
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "."), ".") {
		name, each := strings.CutSuffix(part, "[]")
		var next []any
		for _, v := range values {
			m, ok := v.(map[string]any)
			switch elements, isList := m[name].([]any); {
			case part == "":
				next = append(next, v)
			case ok && each && isList:
				next = append(next, elements...)
			case ok && !each:
				next = append(next, m[name])
			}
		}
		values = next
	}
	return values
}

// objects calls each with some objects of the types that args name.
func (c *completer) objects(cmd *cobra.Command, args []string, each func(object map[string]any)) {
	if len(args) == 0 {
		return
	}
	c.ask(cmd, func(ctx context.Context, cl *client.Client, api *discovery.API, namespace string) {
		for typed := range strings.SplitSeq(args[0], ",") {
			typed, name, _ := strings.Cut(typed, "/")
			rs, err := api.Resolve(typed)
			if err != nil || len(rs) != 1 {
				continue
			}
			col := client.Of[codec.Raw](cl, rs[0].Resource)
			if rs[0].Namespaced {
				col = col.In(namespace)
			}
			seen := 0
			for o, err := range list.New(col, list.Options{Limit: pathObjects}).All(ctx) {
				if seen == pathObjects {
					break
				}
				seen++
				var object map[string]any
				if err == nil && o.Decode(&object) == nil && (name == "" || o.GetName() == name) {
					each(object)
				}
			}
		}
	})
}
