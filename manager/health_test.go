package manager_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
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

// TestProbeOfAPanic: a check that panics has failed. The others are answered, and its stack is
// logged.
func TestProbeOfAPanic(t *testing.T) {
	var log bytes.Buffer
	m := manager.New(manager.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	m.CheckReady("first", func() error { panic("no map") })
	m.CheckReady("second", func() error { return nil })
	w := httptest.NewRecorder()
	m.Server().Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	if want := "[-]first: it panicked: no map\n[+]second ok\n"; w.Code != http.StatusServiceUnavailable || w.Body.String() != want {
		t.Errorf("%d %q, want 503 %q", w.Code, w.Body, want)
	}
	if text := log.String(); !strings.Contains(text, "check=first") || !strings.Contains(text, "health_test.go") {
		t.Errorf("logged: %q", text)
	}
}
