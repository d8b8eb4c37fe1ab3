// Bench runs the yardstick: it builds the server and the clients, runs each
// client in a process of its own against the same server, and prints what
// listwatch costs beside client-go, controller-runtime and a client that only
// reads. It is started in the folder of the bench module:
//
//	go run ./cmd/bench          # everything, less than 20 minutes
//	go run ./cmd/bench -quick   # a tenth of the size, once
//
// Results go to the folder results: every run as JSON, the tables as Markdown.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"time"

	"github.com/listwatch/listwatch/bench/probe"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// report is everything that a run of the yardstick has found; it is what is
// kept as JSON.
type report struct {
	Machine machine
	Quick   bool
	Cases   []outcome
	Store   []probe.Contest `json:",omitempty"`
	Queue   []probe.Contest `json:",omitempty"`
	Sizes   []size
	Rows    []firstRow
}

// outcome is the runs of one case, by client.
type outcome struct {
	Case benchCase
	Runs map[string][]probe.Result
}

type options struct {
	quick   bool
	cold    bool
	kubectl string
	runs    int
	out     string
	only    *regexp.Regexp
	client  *regexp.Regexp
}

func run(ctx context.Context) error {
	var o options
	flag.BoolVar(&o.quick, "quick", false, "a tenth of the objects and events, and each client once")
	flag.BoolVar(&o.cold, "cold", false, "also build the minimal programs with an empty cache, which takes minutes")
	flag.StringVar(&o.kubectl, "kubectl", "", "path of a kubectl, to compare the time to the first row with")
	flag.IntVar(&o.runs, "runs", 3, "runs of each client, of which the median counts; slow clients run less often")
	flag.StringVar(&o.out, "out", "results", "folder for the results")
	only := flag.String("only", "", "cases to run, a regular expression of their names")
	clients := flag.String("clients", "", "clients to run, a regular expression of their names")
	flag.Parse()
	var err1, err2 error
	o.only, err1 = regexp.Compile(*only)
	o.client, err2 = regexp.Compile(*clients)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if o.quick {
		o.runs = 1
	}
	return measure(ctx, o)
}

func measure(ctx context.Context, o options) error {
	began := time.Now()
	rep := report{Quick: o.quick}
	var err error
	if rep.Machine, err = describe(ctx); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	progress("building")
	if err := build(ctx, dir); err != nil {
		return err
	}
	w := workshop{dir: dir, options: o}
	defer w.close()
	for _, c := range cases(o.quick) {
		if !o.only.MatchString(c.Name) {
			continue
		}
		out, err := w.run(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		rep.Cases = append(rep.Cases, out)
		if err := rep.save(o); err != nil { // an interrupted run is of use too
			return err
		}
	}
	if o.only.MatchString("store") {
		if rep.Store, err = contests(ctx, dir, "store", o); err != nil {
			return err
		}
	}
	if o.only.MatchString("queue") {
		if rep.Queue, err = contests(ctx, dir, "queue", o); err != nil {
			return err
		}
	}
	if o.only.MatchString("size") {
		if rep.Sizes, err = sizes(ctx, dir, o.cold); err != nil {
			return err
		}
	}
	if o.kubectl != "" {
		if rep.Rows, err = firstRows(ctx, dir, o.kubectl); err != nil {
			return fmt.Errorf("first row: %w", err)
		}
	}
	rep.Machine.Took = time.Since(began).Round(time.Second).String()
	if err := rep.save(o); err != nil {
		return err
	}
	rep.markdown(os.Stdout)
	return nil
}

// save writes the report as JSON and as Markdown.
func (r report) save(o options) error {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	name := "full"
	if o.quick {
		name = "quick"
	}
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.out, name+".json"), append(b, '\n'), 0o644); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(o.out, name+".md"))
	if err != nil {
		return err
	}
	r.markdown(f)
	return f.Close()
}

// progress tells on stderr what is under way.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}
