package webhook

import (
	"fmt"
	"math"
	"strings"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/yamltext"
	"github.com/listwatch/listwatch/kube"
)

// Manifests returns the webhook configurations and the permissions that Run needs, as YAML for
// kubectl apply -f: a Role in the namespace of the Secret, and a ClusterRole. The program
// binds them to its service account. The configurations have no CA: tools that apply them must
// leave caBundle alone. Once Run has written a CA into a webhook, and so owns its field
// caBundle, a server-side apply that drops or renames the webhook is refused (422): remove it
// first, as by kubectl patch --type=json. With Options.Install, Run removes it.
func (s *Server) Manifests() ([]byte, error) {
	objects := []map[string]any{}
	for _, t := range s.targets() {
		if len(t.hooks) > 0 {
			objects = append(objects, map[string]any{"apiVersion": t.resource.APIVersion(), "kind": t.resource.Kind,
				"metadata": map[string]any{"name": t.key.Name}, "webhooks": s.entries(t.hooks, "")})
		}
	}
	objects = append(objects, s.roles()...)
	var text strings.Builder
	for i, o := range objects {
		b, err := codec.Encode(o)
		if err != nil {
			return nil, fmt.Errorf("encode the manifests of %s: %w", s.options.Name, err)
		}
		yaml, _, err := yamltext.Of(b, math.MaxInt)
		if err != nil {
			return nil, fmt.Errorf("encode the manifests of %s: %w", s.options.Name, err)
		}
		if i > 0 {
			text.WriteString("---\n")
		}
		text.WriteString(yaml)
	}
	return []byte(text.String()), nil
}

// roles returns the permissions that Run needs: to named objects only, except that the
// creation of the Secret has no name.
func (s *Server) roles() []map[string]any {
	if s.options.CertFile != "" && !s.options.Install {
		return nil
	}
	verbs := []string{"get", "patch"}
	if s.options.Install {
		verbs = append(verbs, "create")
	}
	rule := func(r kube.Resource, verbs []string, names ...string) map[string]any {
		o := map[string]any{"apiGroups": []string{r.Group}, "resources": []string{r.Plural}, "verbs": verbs}
		if len(names) > 0 {
			o["resourceNames"] = names
		}
		return o
	}
	var rules []any
	for _, t := range s.targets() {
		may := verbs
		if len(t.hooks) == 0 {
			may = verbs[:2]
		}
		rules = append(rules, rule(t.resource, may, t.key.Name))
	}
	rbac := "rbac.authorization.k8s.io/v1"
	all := []map[string]any{{"apiVersion": rbac, "kind": "ClusterRole", "metadata": map[string]any{"name": s.options.Name}, "rules": rules}}
	if s.options.CertFile == "" {
		all = append(all, map[string]any{"apiVersion": rbac, "kind": "Role",
			"metadata": map[string]any{"namespace": s.options.Secret.Namespace, "name": s.options.Name},
			"rules":    []any{rule(kube.Secrets, []string{"create"}), rule(kube.Secrets, []string{"get", "update"}, s.options.Secret.Name)}})
	}
	return all
}
