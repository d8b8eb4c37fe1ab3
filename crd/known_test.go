package crd_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
)

func TestConditionsHaveTheSchemaOfKubernetes(t *testing.T) {
	type thing struct {
		kube.Meta `json:"metadata"`
		Status    struct {
			Conditions []kube.Condition `json:"conditions,omitempty"`
		} `json:"status,omitzero"`
	}
	d, err := crd.Of[thing](kube.Resource{Group: "example.com", Version: "v1", Plural: "things", Kind: "Thing", Namespaced: true}, crd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties["conditions"].Items
	want, _ := crd.Known("k8s.io/apimachinery/pkg/apis/meta/v1", "Condition")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValuesOfKubeHaveTheSchemaOfKubernetes(t *testing.T) {
	type thing struct {
		kube.Meta `json:"metadata"`
		Spec      struct {
			Port kube.IntOrString `json:"port"`
			At   kube.MicroTime   `json:"at,omitzero"`
		} `json:"spec"`
	}
	d, err := crd.Of[thing](kube.Resource{Group: "example.com", Version: "v1", Plural: "things", Kind: "Thing", Namespaced: true}, crd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	port, _ := crd.Known("k8s.io/apimachinery/pkg/util/intstr", "IntOrString")
	at, _ := crd.Known("k8s.io/apimachinery/pkg/apis/meta/v1", "MicroTime")
	want := map[string]*crd.Schema{"port": port, "at": at}
	got := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
