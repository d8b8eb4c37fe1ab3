package cache_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/watch"
)

// TestNamespacesOnce: a namespace that is named twice, or besides all of them, is watched
// once, so that each change is delivered once.
func TestNamespacesOnce(t *testing.T) {
	for name, tt := range map[string]struct{ namespaces, truth []string }{
		"twice":          {[]string{"a", "b", "a"}, []string{"a", "b"}},
		"all and one":    {[]string{"a", ""}, nil},
		"all, and twice": {[]string{"", ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				i := cache.New(w.maps, options{Namespaces: tt.namespaces})
				l := newLedger(t, "handler", w.uidOf)
				l.begin(true)
				n := 0
				i.Handle(func(d delta) {
					l.take(d)
					if n++; n%3 == 0 {
						<-time.After(time.Second)
					}
				})
				w.run(i.Run)
				takes(t, func(ctx context.Context) error { return i.WaitSynced(ctx) })
				for n := range 10 {
					w.put("a", "x", fmt.Sprint(n))
					w.delete("a", "x")
					w.put("b", "x", fmt.Sprint(n))
					w.put("c", "x", fmt.Sprint(n))
				}
				w.pass(2 * time.Minute)
				l.settled(i.Store(), w.truth(tt.truth...))
				if want := 20 + 10 + 10*(2-len(tt.truth))/2; n != want {
					t.Errorf("%d deltas, want %d", n, want)
				}
			})
		})
	}
}

// TestWatchRevisionIsNotForInformers: an informer begins with what exists.
func TestWatchRevisionIsNotForInformers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		for name, o := range map[string]options{
			"all":            {Watch: watch.Options{Revision: w.srv.Revision()}},
			"two namespaces": {Watch: watch.Options{Revision: w.srv.Revision()}, Namespaces: []string{"a", "b"}},
		} {
			i := cache.New(w.maps, o)
			w.run(i.Run)
			if d := takes(t, func(ctx context.Context) error { return i.WaitSynced(ctx) }); d != 0 {
				t.Errorf("%s: it took %v", name, d)
			}
			if n := i.Store().Len(); n != 1 {
				t.Errorf("%s: stored are %d objects, want 1", name, n)
			}
		}
	})
}
