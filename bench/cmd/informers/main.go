// Informers measures what an informer costs beside client-go's where programs have many: 100
// of them in one process, idle and busy, and one that 8 goroutines read while it is written to
// (kubernetes/kubernetes#130767).
//
//	go run ./cmd/informers -out results/informers.md
//
// The API server is package apitest in this process, over TLS and HTTP/2; both sides decode
// *corev1.ConfigMap from protobuf. Each client is a process of its own, and they take turns.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/listwatch/listwatch/bench/internal/turns"
)

type options struct {
	Objects, Changes, Informers int
	Rate, Rounds                int
	Idle                        time.Duration
	Out, Only                   string
}

func main() {
	var o options
	flag.IntVar(&o.Objects, "objects", 10_000, "objects of 1 KB, in as many namespaces as there are informers")
	flag.IntVar(&o.Changes, "changes", 5_000, "changes, each of another object")
	flag.IntVar(&o.Informers, "informers", 100, "informers of one process")
	flag.IntVar(&o.Rate, "rate", 1000, "changes a second")
	flag.IntVar(&o.Rounds, "rounds", 3, "rounds, in which all clients take turns")
	flag.DurationVar(&o.Idle, "idle", 10*time.Second, "how long nothing changes")
	flag.StringVar(&o.Only, "only", "", "only this part: many or contention")
	flag.StringVar(&o.Out, "out", "", "also write the tables into this file")
	flag.Parse()
	turns.Main("informers", clientTask, func(ctx context.Context, j job) error { return j.run(ctx) }, o.measure)
}

// clientTask is the variable with the task of a client.
const clientTask = "LISTWATCH_BENCH_INFORMERS"

func (o options) measure(ctx context.Context) error {
	if o.Changes > o.Objects || o.Objects%o.Informers != 0 {
		return fmt.Errorf("%d changes of %d objects in %d namespaces: each change needs an object of its own, each namespace as many", o.Changes, o.Objects, o.Informers)
	}
	s, err := newStage(o)
	if err != nil {
		return err
	}
	defer s.close()
	head := fmt.Sprintf("# Informers\n\n%s, load %s before the start, %d rounds in which the clients take turns, medians. CPU is user and system of the\nclient process. %d ConfigMaps of 1 KB in %d namespaces, TLS and HTTP/2, protobuf, *corev1.ConfigMap on both sides.\n",
		time.Now().UTC().Format(time.DateOnly), load(), o.Rounds, o.Objects, o.Informers)
	return turns.Write(ctx, o.Only, o.Out, head, turns.Part{Name: "many", Run: s.many}, turns.Part{Name: "contention", Run: s.contention})
}

// load is the machine's, over the last minute.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	text, _, _ := strings.Cut(string(b), " ")
	return text
}

var clients = []string{"ours", "client-go"}

// many compares processes of many informers, at rest and with changes.
func (s *stage) many(ctx context.Context, out *strings.Builder) error {
	runs := map[string][]outcome{}
	for range s.Rounds {
		for _, c := range clients {
			r, err := s.play(ctx, job{Client: c, Informers: s.Informers})
			if err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
			runs[c] = append(runs[c], r)
		}
	}
	fmt.Fprintf(out, "\n## %d informers in one process\n\nEach follows a namespace. They start, nothing happens for %s, and then %d objects change, %d a second.\n\n", s.Informers, s.Idle, s.Changes, s.Rate)
	fmt.Fprintln(out, "| client | CPU until synced | goroutines | heap | RSS, idle | CPU a minute, idle | CPU a change | goroutines, busy | heap, busy | RSS, busy |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, c := range clients {
		of := func(f func(outcome) float64) float64 { return turns.Median(runs[c], f) }
		fmt.Fprintf(out, "| %s | %.2f s | %.0f | %.1f MB | %.0f MB | %.0f ms | %.0f µs | %.0f | %.1f MB | %.0f MB |\n", c,
			of(func(r outcome) float64 { return r.Synced.CPU }), of(func(r outcome) float64 { return float64(r.Idle.Goroutines) }),
			of(func(r outcome) float64 { return r.Synced.Heap / 1e6 }), of(func(r outcome) float64 { return r.Idle.RSS / 1e6 }),
			of(func(r outcome) float64 { return (r.Idle.CPU - r.Synced.After) * 1e3 * 60 / s.Idle.Seconds() }),
			of(func(r outcome) float64 { return (r.Busy.CPU - r.Idle.After) / float64(s.Changes) * 1e6 }),
			of(func(r outcome) float64 { return float64(r.Busy.Goroutines) }), of(func(r outcome) float64 { return r.Busy.Heap / 1e6 }),
			of(func(r outcome) float64 { return r.Busy.RSS / 1e6 }))
	}
	return nil
}

// contention compares an informer whose store is read meanwhile.
func (s *stage) contention(ctx context.Context, out *strings.Builder) error {
	fmt.Fprintf(out, "\n## 8 goroutines that read\n\nThey read the store of one informer without pause, while %d objects change, %d a second: an object by its key, the %d\nobjects of a value of an index, all %d in no order, or all of them sorted (list). Latency is from the write in the server to the handler's call, with the wait\nfor a processor of the two that server, readers and informer share.\n\n", s.Changes, s.Rate, s.Objects/s.Informers, s.Objects)
	fmt.Fprintln(out, "| reads | client | reads per CPU second | latency p50 | p99 | max |\n|---|---|---:|---:|---:|---:|")
	for _, reads := range []string{"none", "key", "index", "all", "list"} {
		runs := map[string][]outcome{}
		for range s.Rounds {
			for _, c := range clients {
				r, err := s.play(ctx, job{Client: c, Informers: 1, Reads: reads})
				if err != nil {
					return fmt.Errorf("%s, %s: %w", reads, c, err)
				}
				runs[c] = append(runs[c], r)
			}
		}
		for _, c := range clients {
			of := func(f func(outcome) float64) float64 { return turns.Median(runs[c], f) }
			late := func(q float64) float64 { return of(func(r outcome) float64 { return r.Busy.late(q) }) }
			fmt.Fprintf(out, "| %s | %s | %s | %.2f ms | %.2f ms | %.2f ms |\n", reads, c,
				perSecond(of(func(r outcome) float64 { return float64(r.Busy.Reads) / (r.Busy.CPU - r.Idle.After) })), late(0.5), late(0.99), late(1))
		}
	}
	return nil
}

func perSecond(n float64) string {
	switch {
	case n == 0:
		return ""
	case n < 10_000:
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.0f,000", n/1000)
}
