package apitest_test

import (
	"testing"

	"github.com/listwatch/listwatch/apitest"
)

// TestWritesAllocateLittle: writes take their time for what they allocate, and that
// can be counted. The limits are a tenth above what was counted, with the request
// and its recorder, and managedFields.
func TestWritesAllocateLittle(t *testing.T) {
	limits := map[string]float64{
		"configmap/create": 185, "configmap/update": 135,
		"pod/create": 2130, "pod/update": 1710, "pod/status": 1440, "pod/merge": 2430, "pod/strategic": 2580, "pod/json": 2430, "pod/statusmerge": 2720,
		"widget/create": 540, "widget/update": 620, "widget/merge": 740, "widget/status": 810,
	}
	for _, w := range writings() {
		limit, ok := limits[w.name]
		if !ok {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			srv := widgetServer(t, apitest.Options{NoValidation: true})
			w.prepare(t, srv)
			n := 0
			allocs := testing.AllocsPerRun(40, func() { w.serve(t, srv, n); n++ })
			if allocs > limit {
				t.Errorf("%.0f allocations, want at most %.0f", allocs, limit)
			}
		})
	}
}
