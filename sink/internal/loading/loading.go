// Package loading measures the first load of a table beside what the driver of the sink
// takes for the same rows.
package loading

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/sinktest"
)

var objects = flag.Int("load.objects", 20_000, "objects of 2 KB that BenchmarkLoad loads")

// Benchmark loads a table by a Runner, from an API server in this process, and then has
// the driver write the same batches, each in one transaction. open makes an empty sink
// and returns what closes it.
func Benchmark(b *testing.B, open func(*testing.B) (sink.Sink, func()), driver func(b *testing.B, batches [][]sink.Record)) {
	srv := apitest.NewWith(b, apitest.Options{NoManagedFields: true})
	for i := range *objects {
		srv.Put(sinktest.Resource, map[string]any{"metadata": map[string]any{"namespace": "default", "name": fmt.Sprint("n-", i), "labels": map[string]any{"app": "web"}},
			"data": map[string]any{"value": strings.Repeat(fmt.Sprintf("%8d", i), 250)}})
	}
	c, err := client.New(client.Config{Server: srv.URL, Warn: func(string) {}})
	if err != nil {
		b.Fatal(err)
	}
	defer c.CloseIdleConnections()
	var batches [][]sink.Record
	rate := func(b *testing.B) {
		b.ReportMetric(float64(*objects)*float64(b.N)/b.Elapsed().Seconds(), "objects/s")
	}
	b.Run("runner", func(b *testing.B) {
		for b.Loop() {
			s, closed := open(b)
			batches = nil
			if err := load(b.Context(), c, tee{s, &batches}); err != nil {
				b.Fatal(err)
			}
			closed()
		}
		rate(b)
	})
	b.Run("driver", func(b *testing.B) {
		for b.Loop() {
			driver(b, batches)
		}
		rate(b)
	})
}

var errLive = errors.New("the table is complete")

func load(ctx context.Context, c *client.Client, s sink.Sink) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, err := sink.NewRunner(sink.Options{Client: c, Sink: s, Scope: sink.Scope{Cluster: "c", Resource: sinktest.Resource}, Logger: slog.New(slog.DiscardHandler),
		Trace: sink.Trace{Committed: func(c sink.Committed) {
			if c.Position.Phase == sink.Live {
				cancel(errLive)
			}
		}}})
	if err == nil {
		err = r.Run(ctx)
	}
	if errors.Is(err, errLive) {
		return nil
	}
	return err
}

// tee keeps what is committed.
type tee struct {
	sink.Sink
	batches *[][]sink.Record
}

func (t tee) Commit(ctx context.Context, records []sink.Record, p sink.Position) error {
	*t.batches = append(*t.batches, slices.Clone(records))
	return t.Sink.Commit(ctx, records, p)
}
