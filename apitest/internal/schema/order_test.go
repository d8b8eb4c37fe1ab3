package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// TestOrderAfterDeletions: the results are those of kube-apiserver 1.37, where an element that a
// patch adds takes the place that one deleted by it had left at the end of the list.
func TestOrderAfterDeletions(t *testing.T) {
	var catalog schema.Catalog
	typ, err := catalog.Type(kube.ServiceAccounts)
	if err != nil {
		t.Fatal(err)
	}
	list := func(names string, e map[string]any) (l []any) {
		for _, n := range strings.Fields(names) {
			m := map[string]any{"name": n}
			for k, v := range e {
				m[k] = v
			}
			l = append(l, m)
		}
		return l
	}
	for _, c := range []struct{ live, gone, added, order, want string }{
		{"c b", "b", "d", "d", "c d"},
		{"c b", "c", "f a", "f a", "b f a"},
		{"b d e c", "e", "a", "a", "b d c a"},
		{"e b c d", "d", "f c", "f b c", "e f b c"},
		{"e c d a", "d", "b f", "b f", "e c a b f"},
		{"c a b", "a d", "e", "e b", "c e b"},
		{"a b", "", "c", "c", "c a b"},
		{"a b c", "b c", "", "a", "a"},
	} {
		merged, err := typ.StrategicMerge(map[string]any{"secrets": list(c.live, nil)}, map[string]any{
			"secrets":                  append(list(c.gone, map[string]any{"$patch": "delete"}), list(c.added, nil)...),
			"$setElementOrder/secrets": list(c.order, nil)})
		if got, want := fmt.Sprint(merged["secrets"]), fmt.Sprint(list(c.want, nil)); err != nil || got != want {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
}
