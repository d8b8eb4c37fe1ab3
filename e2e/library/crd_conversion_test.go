package library_test

import (
	"context"
	"encoding/base64"
	"os"
	"testing"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/kube"
)

// TestCRDWithoutItsConversion: a definition whose conversion goes is applied, although others
// own the CA of its webhook, as package webhook does, or all of it. After Ensure nothing
// differs, and a dry run changes nothing.
func TestCRDWithoutItsConversion(t *testing.T) {
	real := cluster.ForTest(t, cluster.Options{})
	c, err := client.New(client.Config{Server: real.URL(), Token: real.Token(), TLS: client.TLS{CAFile: real.CAFile()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	def, err := crd.Of[hooked](hookeds, crd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(real.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	hooks := *def
	hooks.Spec.Conversion = &crd.Conversion{Strategy: "Webhook", Webhook: map[string]any{
		"clientConfig": map[string]any{"url": "https://127.0.0.1:1/convert"}, "conversionReviewVersions": []string{"v1"},
	}}
	ca := map[string]any{"spec": map[string]any{"conversion": map[string]any{"webhook": map[string]any{
		"clientConfig": map[string]any{"caBundle": base64.StdEncoding.EncodeToString(pem)}}}}}
	definitions := client.Of[codec.Raw](c, kube.CustomResourceDefinitions)
	key := kube.Key{Name: def.Metadata.Name}
	for _, owner := range []string{"crd", "kubectl"} {
		if err := crd.Ensure(t.Context(), c, crd.EnsureOptions{FieldManager: owner}, &hooks); err != nil {
			t.Fatal(err)
		}
		before, err := definitions.With(client.WriteOptions{FieldManager: "hooks-ca"}).Apply(t.Context(), key, ca, client.ApplyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, dry := range []bool{true, false} {
			if err := crd.Ensure(t.Context(), c, crd.EnsureOptions{DryRun: dry}, def); err != nil {
				t.Errorf("owned by %s, dry run %v: %v", owner, dry, err)
			}
			now, err := definitions.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			spec := func(o codec.Raw) (s struct {
				Spec struct {
					Conversion crd.Conversion `json:"conversion"`
				} `json:"spec"`
			}) {
				if err := o.Decode(&s); err != nil {
					t.Fatal(err)
				}
				return s
			}
			if got := spec(now).Spec.Conversion; dry && now.GetResourceVersion() != before.GetResourceVersion() || !dry && (got.Strategy != "None" || got.Webhook != nil) {
				t.Errorf("owned by %s, dry run %v: the conversion is %v", owner, dry, got)
			}
		}
		if changes, err := crd.Diff(t.Context(), c, def); len(changes) > 0 || err != nil {
			t.Errorf("owned by %s: after Ensure there are changes: %v %v", owner, changes, err)
		}
	}
}

// TestCRDBeforeItsConversion: a program that installs a definition with its own conversion
// webhook, and then serves it, begins although objects are stored in another version.
func TestCRDBeforeItsConversion(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	h := &hookStage{t: t, ctx: ctx, cluster: cluster.ForTest(t, cluster.Options{}), balancer: newBalancer(t)}
	h.admin = h.connect(h.cluster.Token())
	betas := hookeds
	betas.Version = "v1beta1"
	former, err := crd.Of[hookedBeta](betas, crd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := crd.Ensure(ctx, h.admin, crd.EnsureOptions{}, former); err != nil {
		t.Fatal(err)
	}
	beta := hookedBeta{Meta: kube.Meta{Namespace: "default", Name: "old"}}
	beta.Spec.Width = 3
	if _, err := client.Of[hookedBeta](h.admin, betas).Create(ctx, beta); err != nil {
		t.Fatal(err)
	}
	probe := h.server()
	def, err := crd.Of[hooked](hookeds, crd.Options{Also: []crd.Version{crd.VersionOf[hookedBeta]("v1beta1", crd.VersionOptions{})}})
	if err != nil {
		t.Fatal(err)
	}
	def.Spec.Conversion = probe.Conversion(hookeds)
	h.permit(probe)
	if err := crd.Ensure(ctx, h.admin, crd.EnsureOptions{}, def); err != nil {
		t.Fatal(err)
	}
	replica := h.start()
	defer h.end(replica)
	h.until("the object is converted", func() error {
		o, err := client.Of[hooked](h.admin, hookeds).Get(ctx, kube.Key{Namespace: "default", Name: "old"})
		if err == nil && o.Spec.Size != 3 {
			t.Fatalf("it is %+v", o.Spec)
		}
		return err
	})
}
