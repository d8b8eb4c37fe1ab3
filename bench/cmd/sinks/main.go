// Sinks measures what it costs to move a collection into another system: package sink beside
// a client-go informer that writes by the same sink, the first load beside the driver alone,
// and three shards beside one.
//
//	go run ./cmd/sinks -postgres 'postgres:///postgres?host=/run/postgresql&user=postgres' -out results/sinks.md
//
// The API server is package apitest in this process; each client is a process of its own,
// whose processor time is read from "the table is complete" to "the last change is committed".
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/listwatch/listwatch/bench/internal/turns"
)

// options are the flags. A client gets them as JSON.
type options struct {
	Objects, Changes, Loaded int // Loaded are the objects of the first loads
	Rounds                   int
	Postgres, Out, Only      string
}

func main() {
	var o options
	flag.IntVar(&o.Objects, "objects", 10_000, "objects of 2 KB that change")
	flag.IntVar(&o.Changes, "changes", 20_000, "changes of them")
	flag.IntVar(&o.Loaded, "loaded", 100_000, "objects of 2 KB that are loaded")
	flag.IntVar(&o.Rounds, "rounds", 3, "rounds, in which all clients take turns")
	flag.StringVar(&o.Postgres, "postgres", "", "URL of a PostgreSQL; empty = without")
	flag.StringVar(&o.Only, "only", "", "only this part: changes, load or shards")
	flag.StringVar(&o.Out, "out", "", "also write the tables into this file")
	flag.Parse()
	turns.Main("sinks", clientTask, func(ctx context.Context, j job) error { return j.run(ctx) }, o.measure)
}

// clientTask is the variable with the task of a client.
const clientTask = "LISTWATCH_BENCH_SINK"

// result is what a client prints at its end.
type result struct {
	CPU, Wall float64 // seconds
	Peak      uint64  // bytes
	Records   int
}

func (o options) measure(ctx context.Context) error {
	head := fmt.Sprintf("# Sinks\n\n%s, %d rounds in which the clients take turns, medians. CPU is user and system of the client process,\nthe database of SQLite included, a server's not.\n", time.Now().UTC().Format(time.DateOnly), o.Rounds)
	return turns.Write(ctx, o.Only, o.Out, head, turns.Part{Name: "changes", Run: o.changes}, turns.Part{Name: "load", Run: o.load}, turns.Part{Name: "shards", Run: o.shards})
}

// sinks are where records go.
func (o options) sinks() []string {
	all := []string{"sqlite", "file", "nats"}
	if o.Postgres != "" {
		all = append(all, "postgres")
	}
	return all
}

// changes compares Runners with client-go informers.
func (o options) changes(ctx context.Context, out *strings.Builder) error {
	s, err := newStage(o.Objects, false)
	if err != nil {
		return err
	}
	defer s.close()
	fmt.Fprintf(out, "\n## Changes\n\n%d changes of %d ConfigMaps of 2 KB, of which the fake server is ahead by 2,000 at most.\nThe peer is a typed informer of client-go whose handler commits by the same sink, in batches of 500 too.\n\n", o.Changes, o.Objects)
	fmt.Fprintln(out, "| sink | client | changes per CPU second | CPU a change | peak RSS | CPU, ours / theirs |\n|---|---|---:|---:|---:|---:|")
	for _, name := range o.sinks() {
		clients := []string{"ours", "client-go"}
		runs := map[string][]result{}
		for range o.Rounds {
			for _, c := range clients {
				r, err := s.play(ctx, o, job{Client: c, Sink: name, Shards: 1})
				if err == nil {
					err = counted(r.Records, o.Changes)
				}
				if err != nil {
					return fmt.Errorf("%s, %s: %w", name, c, err)
				}
				runs[c] = append(runs[c], r)
			}
		}
		ours := turns.Median(runs["ours"], cpu)
		for _, c := range clients {
			used := turns.Median(runs[c], cpu)
			fmt.Fprintf(out, "| %s | %s | %.0f | %.0f µs | %.0f MB | %s |\n", name, c, float64(o.Changes)/used, used/float64(o.Changes)*1e6,
				turns.Median(runs[c], peak)/1e6, ratio(c == "client-go", ours/used))
		}
	}
	return nil
}

func cpu(r result) float64  { return r.CPU }
func wall(r result) float64 { return r.Wall }
func peak(r result) float64 { return float64(r.Peak) }

func ratio(shown bool, r float64) string {
	if !shown {
		return ""
	}
	return fmt.Sprintf("%.2f", r)
}

// load compares the first load with what the driver takes for the same rows.
func (o options) load(ctx context.Context, out *strings.Builder) error {
	s, err := newStage(o.Loaded, false)
	if err != nil {
		return err
	}
	defer s.close()
	fmt.Fprintf(out, "\n## First load\n\n%d ConfigMaps of 2 KB, from an empty table to a complete one. The driver writes the same rows in the same\nbatches, each in a transaction, from memory: database/sql with prepared statements, pgx with COPY.\n\n", o.Loaded)
	fmt.Fprintln(out, "| sink | client | CPU | wall | peak RSS | CPU, ours / driver | wall, ours / driver |\n|---|---|---:|---:|---:|---:|---:|")
	for _, name := range o.sinks() {
		clients := []string{"runner", "driver"}
		if name != "sqlite" && name != "postgres" {
			continue
		}
		runs := map[string][]result{}
		for range o.Rounds {
			for _, c := range clients {
				a, err := s.start(ctx, o, job{Client: c, Sink: name, Shards: 1})
				if err != nil {
					return fmt.Errorf("%s, %s: %w", name, c, err)
				}
				r, err := a.finish()
				if err != nil {
					return err
				}
				runs[c] = append(runs[c], r)
			}
		}
		for _, c := range clients {
			fmt.Fprintf(out, "| %s | %s | %.1f s | %.1f s | %.0f MB | %s | %s |\n", name, c, turns.Median(runs[c], cpu), turns.Median(runs[c], wall), turns.Median(runs[c], peak)/1e6,
				ratio(c == "driver", turns.Median(runs["runner"], cpu)/turns.Median(runs[c], cpu)), ratio(c == "driver", turns.Median(runs["runner"], wall)/turns.Median(runs[c], wall)))
		}
	}
	return nil
}

// shards compares the busiest of three processes with one that has all, with a server that
// filters and with one that does not know shardSelector.
func (o options) shards(ctx context.Context, out *strings.Builder) error {
	fmt.Fprintf(out, "\n## Shards\n\n%d changes of %d ConfigMaps into NATS; the server is ahead of a process by 2,000 of its\nchanges at most. The three run one after the other, as if each had a machine, and all changes are\nplayed for each; the processor time is that of the busiest. Without the gate the server sends\nall changes to each process, which takes its own.\n\n", o.Changes, o.Objects)
	fmt.Fprintln(out, "| gate ShardedListAndWatch | processes | changes per CPU second of the busiest | beside one |\n|---|---:|---:|---:|")
	for _, gate := range []bool{true, false} {
		if err := o.shardsOf(ctx, out, gate); err != nil {
			return err
		}
	}
	return nil
}

func (o options) shardsOf(ctx context.Context, out *strings.Builder, gate bool) error {
	s, err := newStage(o.Objects, gate)
	if err != nil {
		return err
	}
	defer s.close()
	runs := map[int][]result{}
	for range o.Rounds {
		for _, n := range []int{1, 3} {
			busiest, err := s.shards(ctx, o, n)
			if err != nil {
				return err
			}
			runs[n] = append(runs[n], busiest)
		}
	}
	name := map[bool]string{true: "on", false: "off"}[gate]
	for _, n := range []int{1, 3} {
		used := turns.Median(runs[n], cpu)
		fmt.Fprintf(out, "| %s | %d | %.0f | %.2f |\n", name, n, float64(o.Changes)/used, turns.Median(runs[1], cpu)/used)
	}
	return nil
}

var errShort = errors.New("the client ended early")
