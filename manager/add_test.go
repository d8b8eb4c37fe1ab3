package manager_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/listwatch/listwatch/manager"
)

// TestAddWhileRunBegins: a part has the logger of the Manager, whichever is first.
func TestAddWhileRunBegins(t *testing.T) {
	for range 300 {
		parts := make([]*logged, 20)
		m := manager.New(manager.Options{Logger: slog.New(slog.DiscardHandler)})
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for n := range parts {
			parts[n] = &logged{ran: make(chan bool, 1)}
			all.Go(func() { m.Add(parts[n]) })
			if n == len(parts)/2 {
				all.Go(func() { _ = m.Run(ctx) })
			}
		}
		for _, p := range parts {
			if with := <-p.ran; !with {
				t.Error("it runs without the logger")
			}
		}
		stop()
		all.Wait()
		if t.Failed() {
			break
		}
	}
}

// logged reports whether it has a logger when it runs.
type logged struct {
	with atomic.Bool
	ran  chan bool
}

func (l *logged) SetLogger(*slog.Logger) { l.with.Store(true) }

func (l *logged) Run(ctx context.Context) error {
	l.ran <- l.with.Load()
	<-ctx.Done()
	return ctx.Err()
}
