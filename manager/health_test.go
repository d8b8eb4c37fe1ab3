package manager_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/listwatch/listwatch/lease"
	"github.com/listwatch/listwatch/manager"
)

// TestManagerServesUntilItsPartsHaveStopped: a probe is answered while a cache stops.
func TestManagerServesUntilItsPartsHaveStopped(t *testing.T) {
	m := manager.New(manager.Options{Listen: "127.0.0.1:0"})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	m.Add(partFunc(func(ctx context.Context) error {
		stop()
		<-ctx.Done()
		transport := &http.Transport{DisableKeepAlives: true}
		for range 20 {
			r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+m.Address()+"/healthz", nil)
			if err != nil {
				t.Error(err)
				return nil
			}
			resp, err := transport.RoundTrip(r)
			if err != nil {
				t.Error(err)
				return nil
			}
			resp.Body.Close()
		}
		return nil
	}))
	if err := m.Run(ctx); err != nil {
		t.Error(err)
	}
}

// idle is an Elector that ends without a reason.
type idle struct{}

func (idle) Run(context.Context, func(context.Context, lease.Token) error) error { return nil }
func (idle) Check() error                                                        { return nil }

func TestManagerEndsWithItsElector(t *testing.T) {
	m := manager.New(manager.Options{Elector: idle{}})
	m.AddLed(partFunc(func(ctx context.Context) error { <-ctx.Done(); return nil }))
	if err := m.Run(t.Context()); err == nil || err.Error() != "manager: leader election ended" {
		t.Errorf("Run: %v", err)
	}
}
