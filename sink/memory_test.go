package sink_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// TestALoadHoldsNoObjects: of an object that was committed, a list that goes on keeps
// the names in memory, and not the JSON that they are part of.
func TestALoadHoldsNoObjects(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		const objects, size = 300, 100 << 10
		data := strings.Repeat("a text ", size/7)
		for n := range objects {
			p.Server.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"d","name":"c%03d"},"data":{"text":%q}}`, n, data))
		}
		before, sent, grown := heap(), 0, 0
		p.start(func(o *sink.Options) {
			o.Scope.Resource, o.BatchRecords = kube.ConfigMaps, 10
			o.Trace.Committed = func(c sink.Committed) {
				if sent += c.Records; sent == objects && grown == 0 {
					grown = heap() - before
				}
			}
		})
		if sent != objects || grown > objects*size/2 {
			t.Errorf("%d objects were committed, want %d; memory grew by %d bytes", sent, objects, grown)
		}
	})
}

func heap() int {
	var m runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
