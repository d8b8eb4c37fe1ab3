package webhooktest_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/connect"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/webhook"
	"github.com/listwatch/listwatch/webhook/webhooktest"
)

// TestAdmitSelectsByOldAndNew: as on kube-apiserver, a rule selects an update if the object has
// the labels before or after it.
func TestAdmitSelectsByOldAndNew(t *testing.T) {
	srv := apitest.NewInMemory(t)
	c, err := client.New(connect.Config(srv))
	if err != nil {
		t.Fatal(err)
	}
	hooks, err := webhook.New(c, webhook.Options{Secret: kube.Key{Namespace: "shop", Name: "hooks"}})
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	rule := webhook.Rule{Operations: []webhook.Operation{"*"}, Objects: kube.LabelSelector{MatchLabels: map[string]string{"guarded": "yes"}}}
	webhook.Validate(hooks, kube.ConfigMaps, rule, func(_ context.Context, r *webhook.Request[configMap]) error {
		asked = append(asked, string(r.Operation)+" "+r.Old.Labels["guarded"]+"-"+r.Object.Labels["guarded"])
		return nil
	})
	defer webhooktest.Admit(srv, hooks)()
	maps, key := client.Of[configMap](c, kube.ConfigMaps), kube.Key{Namespace: "shop", Name: "paint"}
	if _, err := maps.Create(t.Context(), configMap{Meta: kube.Meta{Namespace: key.Namespace, Name: key.Name}}); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"no", "yes", "no", "yes"} {
		if _, err := maps.Patch(t.Context(), key, client.MergePatch, map[string]any{"metadata": map[string]any{"labels": map[string]any{"guarded": value}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := maps.Delete(t.Context(), key, client.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"UPDATE no-yes", "UPDATE yes-no", "UPDATE no-yes", "DELETE yes-"}, asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
