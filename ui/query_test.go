package ui

import (
	"testing"
	"time"
)

// TestNamespaceAndNameAreSearched as Activity writes them: in lists and changes.
func TestNamespaceAndNameAreSearched(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		w.pass(time.Second)
		w.pod("web", "Running")
		w.pass(time.Second)
		for text, want := range map[string]int{"shop/web": 1, "shop": 1, "web": 1, "-shop/web": 0, "-web": 0, "web/shop": 0} {
			var list wireWindow
			var changes struct{ Changes []wireChange }
			p.get("api/list?type=pods&text="+text, &list)
			p.get("api/changes?types=pods&text="+text, &changes)
			if list.Matched != want || len(changes.Changes) != want {
				t.Errorf("%s: %d rows, %d changes, want %d", text, list.Matched, len(changes.Changes), want)
			}
		}
	})
}
