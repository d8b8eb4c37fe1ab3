package ui

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// TestNamesOfUnreadableObjectsAreNotKept: a server can send any number of them, which no
// budget of objects counts.
func TestNamesOfUnreadableObjectsAreNotKept(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		k := w.ui.kinds["pods"]
		heap := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		before := heap()
		for i := range 100_000 {
			ev := watch.Event[codec.RawFull]{Type: watch.Added, Key: kube.Key{Namespace: "shop", Name: fmt.Sprint(i, strings.Repeat("x", 200))}, Revision: "1"}
			if err := k.take(ev, &codec.ItemError{Err: errors.New("no JSON")}); err != nil {
				t.Fatal(err)
			}
		}
		if grown := heap() - before; grown > 10<<20 {
			t.Errorf("100,000 objects that cannot be read take %d MB", grown>>20)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.undecodable != 100_000 {
			t.Errorf("%d are counted", k.undecodable)
		}
	})
}
