package kafka

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestASilentBrokerIsGivenUp: it accepts connections, and nothing else.
func TestASilentBrokerIsGivenUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(l.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	defer l.Close()
	if err := reach(t.Context(), client, 50*time.Millisecond); err == nil || err.Error() != "no broker has answered in 50ms" {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := reach(ctx, client, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
}
