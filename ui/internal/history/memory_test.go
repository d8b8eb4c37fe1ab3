package history

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/compressed"
)

// TestUsedIsTheMemory: states take about the memory that they are counted with, and not
// that of the objects that they are differences of.
func TestUsedIsTheMemory(t *testing.T) {
	s, l := New(64<<20), new(Life)
	var c compressed.Compressor
	before := heap()
	for n := range 5000 {
		raw, err := codec.ParseRaw(fmt.Appendf(nil, `{"metadata":{"name":"a","resourceVersion":"%d"},"data":{"text":%q}}`, n, strings.Repeat("a text ", 1000)))
		if err != nil {
			t.Fatal(err)
		}
		packed, err := c.Compress(compressed.Of(raw))
		if err == nil {
			err = s.Add(l, State{Pos: int64(n)}, packed, raw.JSON())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if grown, used := heap()-before, s.Used(); grown > 2*used {
		t.Errorf("%d bytes are counted and %d taken", used, grown)
	}
	runtime.KeepAlive(l)
}

func heap() int64 {
	var m runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
