package cache_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
)

// TestWaitInAHandlerEndsAndNamesIt: a handler that waits for its own informer waits in
// vain; with its ctx that is over, the error names it, and the informer goes on.
func TestWaitInAHandlerEndsAndNamesIt(t *testing.T) {
	for name, wait := range map[string]func(context.Context, *informer, kube.Partial) error{
		"WaitSynced":   func(ctx context.Context, i *informer, _ kube.Partial) error { return i.WaitSynced(ctx) },
		"WaitRevision": func(ctx context.Context, i *informer, _ kube.Partial) error { return i.WaitRevision(ctx, "1000000000") },
		"Await":        func(ctx context.Context, i *informer, o kube.Partial) error { return i.Await(ctx, o) },
		"AwaitDeleted": func(ctx context.Context, i *informer, o kube.Partial) error { return i.AwaitDeleted(ctx, o) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.put("a", "x", "1")
				i := cache.New(w.maps, options{})
				var err error
				i.Handle(func(d delta) {
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
					defer cancel()
					err = wait(ctx, i, d.New)
				})
				w.run(i.Run)
				if d := takes(t, func(ctx context.Context) error { return i.WaitSynced(ctx) }); d != 2*time.Second {
					t.Errorf("it synced after %v, want the 2 seconds of the handler", d)
				}
				const want = "the handler cache_test.TestWaitInAHandlerEndsAndNamesIt."
				if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want a deadline and %q", err, want)
				}
			})
		})
	}
}
