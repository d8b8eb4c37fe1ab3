package seeds

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// silent returns the address of a broker that accepts connections, and nothing else.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func TestASilentBrokerIsGivenUp(t *testing.T) {
	a, b := silent(t), silent(t)
	for want, brokers := range map[string][]string{
		"no answer in 50ms": {a},
		"no broker can be used: " + a + ": no answer in 50ms; " + b + ": no answer in 50ms": {a, b},
	} {
		if _, err := Answering(t.Context(), 50*time.Millisecond, []kgo.Opt{kgo.SeedBrokers(brokers...)}); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Answering(ctx, time.Minute, []kgo.Opt{kgo.SeedBrokers(a)}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
}

// closing returns the address of a load balancer with nothing behind it.
func closing(t *testing.T) string {
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
			c.Close()
		}
	}()
	return l.Addr().String()
}

// TestASilentBrokerIsLeftOut, wherever it stands, and one that closes connections, while one that
// refuses them is kept: it takes no time.
func TestASilentBrokerIsLeftOut(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	live, dead, mute, odd := cluster.ListenAddrs()[0], "127.0.0.1:1", silent(t), closing(t)
	for _, brokers := range [][]string{{mute, odd, dead, live}, {live, mute, dead, odd}, {dead, live, odd, mute}} {
		base, err := Answering(t.Context(), time.Minute, []kgo.Opt{kgo.SeedBrokers(brokers...)})
		if err != nil {
			t.Fatal(err)
		}
		client, err := kgo.NewClient(base...)
		if err != nil {
			t.Fatal(err)
		}
		got := client.OptValue(kgo.SeedBrokers).([]string)
		client.Close()
		if len(got) != 2 || slices.Contains(got, mute) || slices.Contains(got, odd) {
			t.Errorf("%v of %v", got, brokers)
		}
	}
}
