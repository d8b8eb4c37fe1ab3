package library_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/kube"
)

// TestCRDNames changes the names of a definition: to free names, to those of another
// definition, and back. Ensure reports what the server says of the names that it applied,
// not of those before them, also if the server itself does not check them.
func TestCRDNames(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	cl, err := client.New(client.Config{Server: c.URL(), Token: c.Token(), TLS: client.TLS{CAFile: c.CAFile()}})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.CloseIdleConnections()
	type thing struct {
		kube.Meta `json:"metadata"`
	}
	ensure := func(plural, kind string, short ...string) error {
		d, err := crd.Of[thing](kube.Resource{Group: "names.example.com", Version: "v1", Plural: plural, Kind: kind, Namespaced: true}, crd.Options{ShortNames: short})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		return crd.Ensure(ctx, cl, crd.EnsureOptions{}, d)
	}
	if err := errors.Join(ensure("bulbs", "Bulb", "bb"), ensure("lamps", "Lamp", "lp")); err != nil {
		t.Fatal(err)
	}
	accepted := client.Of[struct {
		kube.Meta `json:"metadata"`
		Spec      struct {
			Names crd.Names `json:"names"`
		} `json:"spec"`
		Status struct {
			AcceptedNames crd.Names `json:"acceptedNames"`
		} `json:"status"`
	}](cl, kube.CustomResourceDefinitions)
	for i := range 10 {
		var taken *crd.NamesError
		if err := ensure("lamps", "Lamp", "bb"); !errors.As(err, &taken) || taken.Reason != "ShortNamesConflict" {
			t.Errorf("%d: a short name of another definition: %v", i, err)
		}
		short := fmt.Sprint("lp", i)
		if err := ensure("lamps", "Lamp", short); err != nil {
			t.Errorf("%d: a free short name: %v", i, err)
		}
		o, err := accepted.Get(t.Context(), kube.Key{Name: "lamps.names.example.com"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(crd.Names{Plural: "lamps", Singular: "lamp", Kind: "Lamp", ListKind: "LampList", ShortNames: []string{short}}, o.Status.AcceptedNames); diff != "" {
			t.Errorf("%d: Ensure returned before the names were accepted (-want +got):\n%s", i, diff)
		}
	}
	var taken *crd.NamesError
	if err := ensure("fans", "Fan", "bb"); !errors.As(err, &taken) {
		t.Errorf("a new definition with a short name of another one: %v", err)
	}
	if err := ensure("fans", "Fan"); err != nil {
		t.Errorf("a definition that has no longer a short name of another one: %v", err)
	}
	if o, err := accepted.Get(t.Context(), kube.Key{Name: "fans.names.example.com"}); err != nil || len(o.Spec.Names.Categories) > 0 {
		t.Errorf("its names are %+v, error %v", o.Spec.Names, err)
	}
}

// TestCRDRights: a user with the documented rights, and no others, installs a definition.
func TestCRDRights(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	connect := func(token string) *client.Client {
		cl, err := client.New(client.Config{Server: c.URL(), Token: token, TLS: client.TLS{CAFile: c.CAFile()}, FieldManager: "test"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cl.CloseIdleConnections)
		return cl
	}
	const rbac = "rbac.authorization.k8s.io"
	for kind, body := range map[string]map[string]any{
		"ClusterRole": {"rules": []any{map[string]any{"apiGroups": []string{"apiextensions.k8s.io"}, "resources": []string{"customresourcedefinitions"},
			"verbs": []string{"create", "patch", "list", "watch"}}}},
		"ClusterRoleBinding": {"roleRef": map[string]any{"apiGroup": rbac, "kind": "ClusterRole", "name": "installer"},
			"subjects": []any{map[string]any{"kind": "User", "apiGroup": rbac, "name": "jane"}}},
	} {
		r := kube.Resource{Group: rbac, Version: "v1", Plural: strings.ToLower(kind) + "s", Kind: kind}
		if _, err := client.Of[codec.Raw](connect(c.Token()), r).Apply(t.Context(), kube.Key{Name: "installer"}, body, client.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	d, err := crd.Of[hooked](hookeds, crd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		err := crd.Ensure(ctx, connect(c.UserToken()), crd.EnsureOptions{}, d)
		if err == nil {
			return
		}
		if ctx.Err() != nil || !errors.Is(err, kube.ErrForbidden) {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond) // until the apiserver has noticed the role
	}
}
