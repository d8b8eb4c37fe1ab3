package crd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewHasFurtherVersions(t *testing.T) {
	version := func(name string) Version { return NewVersion(name, &Schema{Type: "object"}, VersionOptions{}) }
	stored := version("v1")
	stored.Storage = true
	d := New(widgets, Options{Also: []Version{version("v2"), version("v3")}}, stored)
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	var names []string
	for _, v := range d.Spec.Versions {
		names = append(names, v.Name)
	}
	if diff := cmp.Diff([]string{"v1", "v2", "v3"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
