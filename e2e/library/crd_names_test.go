package library_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/kube"
)

// TestCRDNames changes the names of a definition: to free names, to those of another
// definition, and back. Ensure reports what the server says of the names that it applied,
// not of those before them.
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
	ensure := func(plural, kind, short string) error {
		d, err := crd.Of[thing](kube.Resource{Group: "names.example.com", Version: "v1", Plural: plural, Kind: kind, Namespaced: true}, crd.Options{ShortNames: []string{short}})
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
		Status    struct {
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
}
