package kube_test

import (
	"testing"

	"github.com/listwatch/listwatch/kube"
)

func TestFieldSelectorExcludes(t *testing.T) {
	known := map[string]string{"a": "1", "b": ""}
	for _, tt := range []struct {
		selector string
		want     bool
	}{
		{"", false},
		{"a=1", false}, {"a=2", true}, {"a!=1", true}, {"a!=2", false}, {"b=", false}, {"b!=", true},
		{"c=1", false}, {"c!=1", false}, {"c=", false}, // not known
		{"c=1,a=2", true}, {"a=1,c=1", false},
	} {
		s, err := kube.ParseFieldSelector(tt.selector)
		if err != nil {
			t.Fatal(err)
		}
		got := s.Excludes(func(path string) (string, bool) {
			v, ok := known[path]
			return v, ok
		})
		if got != tt.want {
			t.Errorf("%q excludes: %v, want %v", tt.selector, got, tt.want)
		}
	}
}
