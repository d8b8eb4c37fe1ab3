package ui

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// TestObjectsAreHeldCompressed: of an object that was read, no string keeps the JSON in
// memory.
func TestObjectsAreHeldCompressed(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		const objects, size = 100, 100 << 10
		k := w.ui.kind("pods")
		before := heap()
		for n := range objects {
			raw, err := codec.ParseRawFull(fmt.Appendf(nil, `{"metadata":{"namespace":"shop","name":"web-%d","uid":"u-%d","resourceVersion":"%d","labels":{"app":"web-%d"},
				"annotations":{"text":%q}},"status":{"phase":"Running"}}`, n, n, 1000+n, n, strings.Repeat("a text ", size/7)))
			if err != nil {
				t.Fatal(err)
			}
			if err := k.take(watch.Event[codec.RawFull]{Type: watch.Added, Key: kube.KeyOf(raw), UID: raw.GetUID(), Revision: kube.Revision(raw.GetResourceVersion()), Object: raw}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if grown := heap() - before; k.store.Len() != objects || grown > objects*size/4 {
			t.Errorf("%d objects of %d bytes take %d bytes", k.store.Len(), size, grown)
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
