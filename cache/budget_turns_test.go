package cache_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// sized is an object of a given size.
type sized struct {
	kube.Meta
	size int
}

func (s sized) MemorySize() int { return s.size }

// one is a source of one object.
type one sized

func (o one) Events(ctx context.Context) iter.Seq2[watch.Event[sized], error] {
	return func(yield func(watch.Event[sized], error) bool) {
		for _, ev := range []watch.Event[sized]{
			{Type: watch.Restart}, {Type: watch.Added, Key: kube.KeyOf(o), Revision: "1", Object: sized(o)}, {Type: watch.Synced, Revision: "1"},
		} {
			if !yield(ev, nil) {
				return
			}
		}
		<-ctx.Done()
		yield(watch.Event[sized]{}, context.Cause(ctx))
	}
}

// TestBudgetIsNotPromisedTwice: while one informer stores an object, another one finds
// what that takes as used.
func TestBudgetIsNotPromisedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := cache.NewBudget(10_000)
		a := one{Meta: kube.Meta{Name: "a"}, size: 6_000}
		b := one{Meta: kube.Meta{Name: "b"}, size: 6_000}
		first := cache.From(cache.Options[sized]{Budget: budget}, cache.Source[sized](a))
		second := cache.From(cache.Options[sized]{Budget: budget}, cache.Source[sized](b))
		storing := make(chan bool)
		cache.By(first.Store(), func(sized) (string, bool) {
			<-storing
			return "", true
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- first.Run(ctx) }()
		synctest.Wait()
		admitted, leave := context.WithCancel(ctx)
		second.Handle(func(cache.Delta[sized]) { leave() })
		var over *cache.BudgetError
		if err := second.Run(admitted); !errors.As(err, &over) || over.Key.Name != "b" || over.Used < 6_000 {
			t.Errorf("the second informer: %v, want a BudgetError that counts what the first one stores", err)
		}
		leave()
		close(storing)
		if err := first.WaitSynced(ctx); err != nil {
			t.Error(err)
		}
		if used, held := budget.Used(), first.Status().Bytes; used != held || used < 6_000 || used > 7_000 {
			t.Errorf("%d bytes are used, %d by the first informer; want one object", used, held)
		}
		cancel()
		<-ended
		if used := budget.Used(); used != 0 {
			t.Errorf("%d bytes are used after the end", used)
		}
	})
}
