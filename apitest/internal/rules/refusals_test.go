package rules_test

import (
	"fmt"
	"testing"

	"github.com/listwatch/listwatch/apitest/internal/causes"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/kube"
)

// TestRefusalsAreLimited: of hundreds of thousands of wrong elements, and though the text about
// each repeats them all.
func TestRefusalsAreLimited(t *testing.T) {
	var finalizers, owners []any
	for i := range 100_000 {
		finalizers = append(finalizers, fmt.Sprint("f", i))
		owners = append(owners, map[string]any{"apiVersion": "v1", "kind": "A", "name": "n", "uid": fmt.Sprint(i), "controller": true})
	}
	for name, list := range map[string][]any{"finalizers": finalizers, "ownerReferences": owners} {
		var r rules.Refusals
		r.Metadata(kube.ConfigMaps, map[string]any{"name": "z", name: list})
		size := 0
		for _, cause := range r.Causes {
			size += len(cause.Field) + len(cause.Message)
		}
		if len(r.Causes) == 0 || len(r.Causes) > causes.Most || size > causes.MostBytes {
			t.Errorf("%s: %d causes of %d bytes", name, len(r.Causes), size)
		}
	}
}

// TestFinalizerWarningsAreLimited: they are at most as many as a response can have.
func TestFinalizerWarningsAreLimited(t *testing.T) {
	o := &object.Object{}
	for i := range 100_000 {
		o.Meta.Finalizers = append(o.Meta.Finalizers, fmt.Sprint("f", i))
	}
	if n := len(rules.FinalizerWarnings(nil, o)); n != 100 {
		t.Errorf("%d warnings", n)
	}
	if n := len(rules.FinalizerWarnings(o, o)); n != 0 {
		t.Errorf("%d warnings about finalizers that were there", n)
	}
}
