package crd_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
)

// TestDiffOfAConversionThatGoes: without their webhook, objects that are stored in another
// version lose what the stored one lacks, also if nobody is served that version; and clients of
// a served one get values of another type.
func TestDiffOfAConversionThatGoes(t *testing.T) {
	type wide struct {
		kube.Meta `json:"metadata"`
		Spec      struct {
			Width int `json:"width,omitempty"`
		} `json:"spec"`
	}
	type sized struct {
		kube.Meta `json:"metadata"`
		Spec      struct {
			Size string `json:"size,omitempty"`
		} `json:"spec"`
	}
	type counted struct {
		kube.Meta `json:"metadata"`
		Spec      struct {
			Size int `json:"size,omitempty"`
		} `json:"spec"`
	}
	boxes := kube.Resource{Group: "example.com", Version: "v2", Plural: "boxes", Kind: "Box", Namespaced: true}
	unserved := crd.VersionOptions{Unserved: true}
	gone := "conversion: the strategy changed from Webhook to None"
	misread := "v1: conversion: no webhook converts between it and v2, which is stored: values are misread or dropped (breaking)"
	for _, tt := range []struct {
		name   string
		v1     crd.Version
		stored string // the versions that objects are stored in
		want   []string
	}{
		{"objects are stored in it", crd.VersionOf[wide]("v1", unserved), `["v1","v2"]`, []string{gone, misread}},
		{"it is served, with another type", crd.VersionOf[counted]("v1", crd.VersionOptions{}), `["v2"]`, []string{gone, misread}},
		{"it is served, and the same", crd.VersionOf[sized]("v1", crd.VersionOptions{}), `["v1","v2"]`, []string{gone}},
		{"nobody uses it", crd.VersionOf[wide]("v1", unserved), `["v2"]`, []string{gone}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := crd.Of[sized](boxes, crd.Options{Also: []crd.Version{tt.v1}})
			if err != nil {
				t.Fatal(err)
			}
			old := *d
			old.Spec.Conversion = &crd.Conversion{Strategy: "Webhook"}
			if diff := cmp.Diff(tt.want, changes(t, &old, tt.stored, d)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDiffOfAConversionThatGoesWithADifference: the schemas of the versions become the same when
// the webhook goes. What is stored was written with the former ones.
func TestDiffOfAConversionThatGoesWithADifference(t *testing.T) {
	type small struct {
		kube.Meta `json:"metadata"`
		Spec      struct {
			Size int `json:"size,omitempty"`
		} `json:"spec"`
	}
	type large struct {
		kube.Meta `json:"metadata"`
		Spec      struct {
			Size int    `json:"size,omitempty"`
			Unit string `json:"unit,omitempty"`
		} `json:"spec"`
	}
	boxes := kube.Resource{Group: "example.com", Version: "v1", Plural: "boxes", Kind: "Box", Namespaced: true}
	of := func(d *crd.Definition, err error) *crd.Definition {
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	options := func(v2 crd.Version) crd.Options { return crd.Options{Also: []crd.Version{v2}} }
	next := of(crd.Of[large](boxes, options(crd.VersionOf[large]("v2", crd.VersionOptions{}))))
	for _, tt := range []struct {
		name string
		old  *crd.Definition
		want []string
	}{
		{"one version had a member more", of(crd.Of[small](boxes, options(crd.VersionOf[large]("v2", crd.VersionOptions{})))), []string{
			"conversion: the strategy changed from Webhook to None", "v1: spec.unit: added",
			"v2: conversion: no webhook converts between it and v1, which is stored: values are misread or dropped (breaking)"}},
		{"they were the same", of(crd.Of[small](boxes, options(crd.VersionOf[small]("v2", crd.VersionOptions{})))), []string{
			"conversion: the strategy changed from Webhook to None", "v1: spec.unit: added", "v2: spec.unit: added"}},
	} {
		tt.old.Spec.Conversion = &crd.Conversion{Strategy: "Webhook"}
		if diff := cmp.Diff(tt.want, changes(t, tt.old, `["v1"]`, next)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// changes returns what applying next would change if old is on the server, which stores objects
// in the versions of stored, a list in JSON. apitest has no conversions.
func changes(t *testing.T, old *crd.Definition, stored string, next *crd.Definition) (list []string) {
	t.Helper()
	body, err := old.JSON()
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `%s,"status":{"storedVersions":%s}}`, bytes.TrimSuffix(bytes.TrimSpace(body), []byte("}")), stored)
	}))
	defer srv.Close()
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	found, err := crd.Diff(t.Context(), c, next)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range found {
		list = append(list, change.String())
	}
	return list
}
