package sink_test

import (
	"context"
	"fmt"
	"iter"
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

// TestVerifyHoldsNoObjects: of an object in the list, what is compared with the table is a digest.
func TestVerifyHoldsNoObjects(t *testing.T) {
	perform(t, func(t *testing.T, p *play) {
		const objects, size = 300, 100 << 10
		data := strings.Repeat("a text ", size/7)
		for n := range objects {
			p.Put(fmt.Sprintf("c%03d", n), "web", data)
		}
		p.start(nil)
		p.stop()
		<-p.ended
		before, grown := heap(), 0
		v := p.verify(hooked{p.db, func() { grown = heap() - before }}, 0)
		if v.Objects != objects || len(v.Differences) > 0 || grown > objects*size/2 {
			t.Errorf("%d objects, want %d, and %d differences; memory grew by %d bytes", v.Objects, objects, len(v.Differences), grown)
		}
	})
}

// hooked calls a function before the table is read.
type hooked struct {
	sink.Reader
	before func()
}

func (r hooked) Rows(ctx context.Context, cluster string, of kube.Resource) iter.Seq2[sink.Row, error] {
	r.before()
	return r.Reader.Rows(ctx, cluster, of)
}

func heap() int {
	var m runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
