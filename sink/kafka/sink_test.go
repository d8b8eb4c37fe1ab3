package kafka_test

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/listwatch/listwatch/sink/kafka"
	"github.com/listwatch/listwatch/sink/sinktest"
)

// brokers returns the addresses of a new cluster, kfake, or of the real one that
// LISTWATCH_TEST_KAFKA names.
func brokers(t *testing.T) []string {
	t.Helper()
	if real := os.Getenv("LISTWATCH_TEST_KAFKA"); real != "" {
		t.Logf("against the broker %s", real)
		return strings.Split(real, ",")
	}
	t.Log("against kfake")
	return boot(t).ListenAddrs()
}

// boot starts a broker of this process.
func boot(t *testing.T) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

var prefixes atomic.Int64

// prefix is another one for each storage, which a real broker keeps.
func prefix() string {
	return fmt.Sprintf("listwatch-test-%d-%d", os.Getpid(), prefixes.Add(1))
}

func open(t *testing.T, o kafka.Options, brokers []string, opts ...kgo.Opt) *kafka.Sink {
	t.Helper()
	s, err := kafka.Open(t.Context(), o, append(opts, kgo.SeedBrokers(brokers...))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestSink(t *testing.T) {
	sinktest.Test(t, func(t *testing.T) sinktest.Store {
		b, o := brokers(t), kafka.Options{Prefix: prefix()}
		return sinktest.Store{Connect: func(t *testing.T) sinktest.Sink { return open(t, o, b) }}
	})
}
