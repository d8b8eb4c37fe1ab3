package rules_test

import (
	"fmt"

	"github.com/listwatch/listwatch/apitest/internal/rules"
)

func Example() {
	spec := map[string]any{"type": "Other"}
	var d rules.Defaults
	d.Set(spec, "type", "ClusterIP")
	d.Set(spec, "replicas", int64(1))
	fmt.Println(spec, d.Changed)

	var r rules.Refusals
	r.OneOf("spec", spec, "type", "ClusterIP", "NodePort")
	r.Each("metadata.name", "-a", rules.LabelName("-a")[:1])
	for _, c := range r.Causes {
		fmt.Println(c.Field, c.Message[:27])
	}
	// Output:
	// map[replicas:1 type:Other] true
	// spec.type Unsupported value: "Other":
	// metadata.name Invalid value: "-a": a lowe
}
