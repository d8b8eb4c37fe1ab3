// Command scenarios plays every scenario of apitest/scenario with four clients
// and prints their verdicts side by side: this engine's informer, client-go's
// informer with streaming lists, the same with plain ones, and the cache of
// controller-runtime, which is built on client-go.
//
//	go run ./cmd/scenarios -o scenarios.md    all of them, some 5 minutes
//	go run ./cmd/scenarios -requests '^gone/' those that match, with what shows a failure
//
// It ends with exit code 1 if this engine does not pass, or if a verdict on
// another client is not explained in why.go.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/listwatch/listwatch/apitest/scenario"
)

func main() {
	klog.SetLogger(logr.Discard())
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("scenarios", flag.ContinueOnError)
	flags.SetOutput(stderr)
	file := flags.String("o", "", "write the report to this file instead of standard output")
	requests := flags.Bool("requests", false, "print on standard error what shows each verdict but pass")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	only, err := regexp.Compile(flags.Arg(0))
	if err != nil || flags.NArg() > 1 {
		fmt.Fprintln(stderr, "scenarios: want at most one regular expression:", err)
		return 2
	}
	var all []scenario.Scenario
	for _, s := range scenario.All() {
		if only.MatchString(s.Name) {
			all = append(all, s)
		}
	}
	verdicts := play(ctx, all)
	if err := context.Cause(ctx); err != nil {
		fmt.Fprintln(stderr, "scenarios:", err)
		return 1
	}
	if *requests {
		for i := range all {
			for j, f := range followers {
				if v := verdicts[i][j]; v.Outcome != scenario.Pass {
					fmt.Fprintf(stderr, "%s: %s\n", f.name, v)
				}
			}
		}
	}
	var report bytes.Buffer
	err = write(&report, all, verdicts)
	if *file != "" {
		err = errors.Join(err, os.WriteFile(*file, report.Bytes(), 0o644))
	} else {
		stdout.Write(report.Bytes())
	}
	if err != nil {
		fmt.Fprintln(stderr, "scenarios:", err)
		return 1
	}
	return 0
}

// play plays all scenarios with all clients at once: they mostly wait. They begin
// one after the other, so that their busy moments do not meet.
func play(ctx context.Context, all []scenario.Scenario) [][]scenario.Verdict {
	verdicts := make([][]scenario.Verdict, len(all))
	var running sync.WaitGroup
	for i, s := range all {
		verdicts[i] = make([]scenario.Verdict, len(followers))
		for j, f := range followers {
			running.Go(func() { verdicts[i][j] = judge(ctx, s, f) })
			time.Sleep(stagger)
		}
	}
	running.Wait()
	return verdicts
}

const stagger = 20 * time.Millisecond

// judge plays one scenario with one client.
func judge(ctx context.Context, s scenario.Scenario, f follower) scenario.Verdict {
	ctx, cancel := context.WithTimeout(ctx, s.Limit+time.Minute)
	defer cancel()
	run, err := scenario.Serve(ctx, s.Name, scenario.Options{})
	if err != nil {
		return scenario.Verdict{Scenario: s.Name, Outcome: scenario.NotExercised, Reason: err.Error()}
	}
	defer run.Close()
	following, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- f.follow(following, run) }()
	v := run.Wait(ctx)
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) && v.Outcome == scenario.NotExercised {
		v.Reason += "; the client ended: " + err.Error()
	}
	return v
}
