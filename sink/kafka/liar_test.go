package kafka_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/listwatch/listwatch/sink/kafka"
)

// broker answers each connection with what, after its first request, until the test ends.
func broker(t *testing.T, what []byte) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			go func() {
				c.Read(make([]byte, 4096))
				c.Write(what)
			}()
		}
	}()
	return l.Addr().String()
}

// TestResponsesOfABrokerAreLimited: what it announces is not allocated.
func TestResponsesOfABrokerAreLimited(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	at := broker(t, []byte{0x04, 0, 0, 1, 0, 0, 0, 0})
	_, err := kafka.Open(ctx, kafka.Options{}, kgo.SeedBrokers(at))
	if err == nil || !strings.Contains(err.Error(), "67108864") {
		t.Errorf("error %v", err)
	}
}
