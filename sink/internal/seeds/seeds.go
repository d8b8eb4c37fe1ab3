// Package seeds finds the Kafka brokers that answer.
package seeds

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Timeout is how long a broker may take to answer for the first time.
const Timeout = 10 * time.Second

// rest is how long the other brokers may take after the first answer.
const rest = 500 * time.Millisecond

// Answering returns base without the seed brokers that are silent, or answer as no broker does:
// kgo waits 10 seconds for each of the former, whenever it is their turn, and fails by the latter.
// Those that refuse connections remain. It asks all of them at once, and fails where none has
// answered within timeout. The error says of each what is wrong, if there are several.
func Answering(ctx context.Context, timeout time.Duration, base []kgo.Opt) ([]kgo.Opt, error) {
	base = slices.Clip(base)
	client, err := kgo.NewClient(append(base, kgo.DisableClientMetrics())...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	short, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	brokers := client.SeedBrokers()
	errs, done := make([]error, len(brokers)), make(chan int)
	for i, b := range brokers {
		go func() {
			metadata := kmsg.NewPtrMetadataRequest()
			metadata.Topics = []kmsg.MetadataRequestTopic{} // none; nil is all
			_, errs[i] = b.Request(short, metadata)
			done <- i
		}()
	}
	seeds := client.OptValue(kgo.SeedBrokers).([]string) // in the same order
	var kept []string
	answered := false
	for range brokers {
		i := <-done
		if errs[i] != nil && short.Err() != nil {
			errs[i] = fmt.Errorf("no answer in %v", timeout)
			continue
		}
		if dial := (*net.OpError)(nil); errs[i] == nil || errors.As(errs[i], &dial) && dial.Op == "dial" {
			kept = append(kept, seeds[i])
		}
		if errs[i] == nil {
			answered = true
			time.AfterFunc(rest, cancel)
		}
	}
	switch {
	case answered:
		return append(base, kgo.SeedBrokers(kept...)), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case len(errs) == 1:
		return nil, errs[0]
	}
	err = fmt.Errorf("no broker can be used: %s: %w", seeds[0], errs[0])
	for i := 1; i < len(errs); i++ {
		err = fmt.Errorf("%w; %s: %w", err, seeds[i], errs[i])
	}
	return nil, err
}
