package ui

import (
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/describe"
)

// TestCommandsAreInert: a shell reads the names in commands as words, and kubectl none of
// them as a flag. Names of Roles may have any characters but / and %.
func TestCommandsAreInert(t *testing.T) {
	roles := kube.Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Plural: "roles", Kind: "Role", Namespaced: true}
	inWorld(t, Options{Keep: []string{roles.GroupResource()}}, func(w *world) {
		for name, want := range map[string]string{
			"reader":        "roles.rbac.authorization.k8s.io/reader -n shop",
			"a; $(id)":      "'roles.rbac.authorization.k8s.io/a; $(id)' -n shop",
			"--server=evil": "roles.rbac.authorization.k8s.io/--server=evil -n shop",
		} {
			w.srv.Put(roles, map[string]any{"metadata": map[string]any{"namespace": "shop", "name": name}})
			w.pass(time.Second)
			var o wireObject
			w.open().get("api/object?"+url.Values{"type": {roles.GroupResource()}, "ns": {"shop"}, "name": {name}}.Encode(), &o)
			commands := []describe.Command{{Title: "Read it", Text: "kubectl get " + want + " -o yaml"}, {Title: "Describe it", Text: "kubectl describe " + want}}
			if diff := cmp.Diff(commands, o.Commands); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	})
}
