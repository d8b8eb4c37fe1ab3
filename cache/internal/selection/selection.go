// Package selection knows which objects an informer watches.
package selection

import (
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// Selection is what an informer watches, if that is known.
type Selection struct {
	Namespaces []string // by source; nil = unknown
	Labels     kube.Selector
	Fields     kube.FieldSelector
	Shard      kube.Shard
}

// Excludes reports whether an object is known not to be selected. JSON may be nil.
func (s Selection) Excludes(o kube.Object, uid string, json []byte) bool {
	if uid != "" && !s.Shard.Has(uid) {
		return true
	}
	if l, ok := o.(interface{ GetLabels() map[string]string }); ok && !s.Labels.Matches(l.GetLabels()) {
		return true
	}
	if s.Fields.Empty() {
		return false
	}
	members, _ := codec.Decode[map[string]any](json)
	return s.Fields.Excludes(func(path string) (string, bool) {
		switch path {
		case "metadata.name":
			return o.GetName(), true
		case "metadata.namespace":
			return o.GetNamespace(), true
		}
		return scalar(members, path)
	})
}

// scalar returns the string or boolean at a path, as a field selector compares it.
func scalar(members map[string]any, path string) (string, bool) {
	for {
		name, rest, deeper := strings.Cut(path, ".")
		switch v := members[name].(type) {
		case map[string]any:
			members, path = v, rest
			if deeper {
				continue
			}
		case string:
			return v, !deeper
		case bool:
			return strconv.FormatBool(v), !deeper
		}
		return "", false
	}
}
