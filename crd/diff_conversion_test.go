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
			d.Spec.Conversion = &crd.Conversion{Strategy: "Webhook"}
			old, err := d.JSON()
			if err != nil {
				t.Fatal(err)
			}
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // apitest has no conversions
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `%s,"status":{"storedVersions":%s}}`, bytes.TrimSuffix(bytes.TrimSpace(old), []byte("}")), tt.stored)
			}))
			defer srv.Close()
			c, err := client.New(client.Config{Server: srv.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseIdleConnections()
			d.Spec.Conversion = nil
			changes, err := crd.Diff(t.Context(), c, d)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range changes {
				got = append(got, c.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
