package store

import (
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// Taken returns the cluster IPs and ports of the Services in t except key, for
// assign. The caller holds the store's mu.
func (t *Table) Taken(key kube.Key) func(any) bool {
	all := make(map[any]bool)
	for k, o := range t.objects {
		raw, _ := o.Field("spec")
		spec, err := schema.DecodeObject(raw)
		if k == key || err != nil {
			continue
		}
		all[rules.TextAt(spec, "clusterIP")] = true
		all[rules.IntAt(spec, "healthCheckNodePort")] = true
		for p := range rules.ObjectsAt(spec, "ports") {
			all[rules.IntAt(p, "nodePort")] = true
		}
	}
	return func(v any) bool { return all[v] }
}
