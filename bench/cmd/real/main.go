// Real measures how informers sync with a real cluster, over TLS and HTTP/2: ours and
// client-go's, in each encoding.
//
//	go run ./cmd/fill -kubeconfig FILE -objects 10000
//	go run ./cmd/real -kubeconfig FILE -out results/real.md
//
// FILE may be what e2e/cmd/cluster prints. Each client is a process of its own, they take
// turns, and the first round does not count. A client's processor time is from before it
// is made until its handler has every Pod; the server's is what /metrics adds meanwhile, of
// everything that the server does. A client on a loaded machine has its processor time, but
// not its wall time, as on a quiet one.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config"
)

// result is what a client prints.
type result struct {
	CPU, Wall float64 // seconds
	Bytes     int64   // received, TLS included
	Objects   int

	Server float64 // seconds of processor time of kube-apiserver; the parent adds it
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "real:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	kubeconfig := flag.String("kubeconfig", "", "which cluster")
	rounds := flag.Int("rounds", 10, "rounds that count, in which all clients take turns")
	out := flag.String("out", "", "also write the table into this file")
	name := flag.String("client", "", "be this client, and print a result as JSON")
	flag.Parse()
	if *kubeconfig == "" {
		return errors.New("-kubeconfig is missing: no other cluster is read by accident")
	}
	cfg, err := config.Load(config.Options{Path: *kubeconfig})
	if err != nil {
		return err
	}
	if *name != "" {
		r, err := sync(ctx, *name, cfg.Client)
		if err != nil {
			return fmt.Errorf("%s: %w", *name, err)
		}
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	c, err := client.New(cfg.Client)
	if err != nil {
		return err
	}
	defer c.CloseIdleConnections()
	b := &bench{client: c, kubeconfig: *kubeconfig, runs: map[string][]result{}}
	for round := range *rounds + 1 {
		for _, client := range clients {
			r, err := b.play(ctx, client)
			if err != nil {
				return err
			}
			if round > 0 {
				b.runs[client] = append(b.runs[client], r)
			}
		}
	}
	table := b.table(*rounds)
	fmt.Print(table)
	if *out == "" {
		return nil
	}
	return os.WriteFile(*out, []byte(table), 0o644)
}

type bench struct {
	client     *client.Client
	kubeconfig string
	runs       map[string][]result
}

// play runs a client, and reads what the server takes for it.
func (b *bench) play(ctx context.Context, name string) (r result, err error) {
	before, err := b.serverTime(ctx)
	if err != nil {
		return r, err
	}
	cmd := exec.CommandContext(ctx, os.Args[0], "-kubeconfig", b.kubeconfig, "-client", name)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, err
	}
	after, err := b.serverTime(ctx)
	r.Server = after - before
	return r, err
}

// serverTime is the processor time of kube-apiserver since its start, in seconds.
func (b *bench) serverTime(ctx context.Context) (float64, error) {
	resp, err := b.client.Do(ctx, &client.Request{Path: "/metrics", Accept: "text/plain"})
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("process_cpu_seconds_total ")); ok {
			return strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
		}
	}
	return 0, errors.New("/metrics has no process_cpu_seconds_total")
}

func (b *bench) table(rounds int) string {
	var out strings.Builder
	load, _ := os.ReadFile("/proc/loadavg")
	average, _, _ := strings.Cut(string(load), " ")
	fmt.Fprintf(&out, "# Sync with a real kube-apiserver\n\n%s, load %s at the end: processor times are comparable, wall times are only on a quiet machine. TLS, HTTP/2,\n%d Pods, medians of %d rounds in which the clients take turns, after one that does not count.\n\n",
		time.Now().UTC().Format(time.DateOnly), average, b.runs[clients[0]][0].Objects, rounds)
	fmt.Fprintln(&out, "| client | CPU | wall until synced | received | CPU of the server |\n|---|---:|---:|---:|---:|")
	for _, name := range clients {
		of := func(f func(result) float64) float64 {
			var v []float64
			for _, r := range b.runs[name] {
				v = append(v, f(r))
			}
			slices.Sort(v)
			return v[len(v)/2]
		}
		fmt.Fprintf(&out, "| %s | %.3f s | %.2f s | %.1f MB | %.2f s |\n", name, of(func(r result) float64 { return r.CPU }), of(func(r result) float64 { return r.Wall }),
			of(func(r result) float64 { return float64(r.Bytes) / 1e6 }), of(func(r result) float64 { return r.Server }))
	}
	return out.String()
}
