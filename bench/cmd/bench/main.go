// Bench runs the yardstick: it builds the server and the clients, runs each
// client in a process of its own against the same server, and prints what
// listwatch costs beside client-go, controller-runtime and a client that only
// reads. It is started in the folder of the bench module:
//
//	go run ./cmd/bench          # everything, less than 20 minutes
//	go run ./cmd/bench -quick   # a tenth of the size, once
//
// Results go to the folder results: every run as JSON, the tables as Markdown. A
// full run also writes its part of the main README.
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
	"slices"
	"syscall"
	"time"

	"github.com/listwatch/listwatch/bench/probe"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
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
	Views   []viewing
	Parts   []part
}

// outcome is the runs of one case, by client.
type outcome struct {
	Case benchCase
	Runs map[string][]probe.Result
}

// part is how long a part of the run took.
type part struct {
	Name    string
	Seconds float64
}

// timed does a part.
func (r *report) timed(name string, do func() error) error {
	began := time.Now()
	err := do()
	for i := range r.Parts {
		if r.Parts[i].Name == name {
			r.Parts[i].Seconds += time.Since(began).Seconds()
			return err
		}
	}
	r.Parts = append(r.Parts, part{name, time.Since(began).Seconds()})
	return err
}

type options struct {
	quick   bool
	cold    bool
	kubectl string
	cluster string
	pods    int
	runs    int
	out     string
	only    *regexp.Regexp
	client  *regexp.Regexp
}

// name is that of the results. Those of a part never replace the whole.
func (o options) name() string {
	switch {
	case o.only.String() != "" || o.client.String() != "":
		return "part"
	case o.quick:
		return "quick"
	}
	return "full"
}

func run(ctx context.Context) error {
	var o options
	again := flag.Bool("render", false, "measure nothing: write the tables of the last full run again")
	flag.BoolVar(&o.quick, "quick", false, "a tenth of the objects and events, and each client once")
	flag.BoolVar(&o.cold, "cold", false, "also build the minimal programs with an empty cache, which takes minutes")
	flag.StringVar(&o.kubectl, "kubectl", "", "path of a kubectl to compare the program with, instead of the one that module e2e builds")
	flag.StringVar(&o.cluster, "cluster", "", "kubeconfig of a real cluster: only compare the program with kubectl there, on the pods that it has")
	flag.IntVar(&o.pods, "pods", 10000, "how many pods that cluster has")
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
	if o.cluster != "" {
		o.only = regexp.MustCompile("^" + besideKubectl + "$")
	}
	if *again {
		return render(o)
	}
	if o.quick {
		o.runs = 1
	}
	return measure(ctx, o)
}

func measure(ctx context.Context, o options) error {
	began := time.Now()
	rep := report{Quick: o.quick}
	if o.name() == "full" { // what cannot be written at the end is said now
		if err := checkReadme(readmePath); err != nil {
			return err
		}
	}
	var err error
	if rep.Machine, err = describe(ctx); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var p programs
	err = rep.timed("builds", func() error {
		progress("building")
		if err := build(ctx, dir); err != nil || !o.only.MatchString(besideKubectl) {
			return err
		}
		var err error
		p, err = findPrograms(ctx, dir, o.kubectl)
		return err
	})
	if err != nil {
		return err
	}
	w := workshop{dir: dir, options: o, report: &rep}
	defer w.close()
	all := slices.DeleteFunc(cases(o.quick), func(c benchCase) bool { return !o.only.MatchString(c.Name) })
	for _, group := range groups(all) {
		out, err := w.run(ctx, group)
		if err != nil {
			return err
		}
		rep.Cases = append(rep.Cases, out...)
		if err := rep.save(o, "part"); err != nil { // an interrupted run is of use too
			return err
		}
	}
	w.close() // its memory
	rest := []struct {
		name string
		do   func() error
	}{
		{"store", func() (err error) { rep.Store, err = contests(ctx, dir, "store", o); return err }},
		{"queue", func() (err error) { rep.Queue, err = contests(ctx, dir, "queue", o); return err }},
		{besideKubectl, func() (err error) { rep.Views, err = p.compare(ctx, dir, o); return err }},
		{"size", func() (err error) { rep.Sizes, err = sizes(ctx, dir, o.cold); return err }},
	}
	for _, part := range rest {
		if !o.only.MatchString(part.name) {
			continue
		}
		if err := rep.timed(part.name, part.do); err != nil {
			return err
		}
		if err := rep.save(o, o.name()); err != nil {
			return err
		}
	}
	rep.Machine.Took = time.Since(began).Round(time.Second).String()
	if err := rep.save(o, o.name()); err != nil {
		return err
	}
	rep.markdown(os.Stdout)
	if o.name() == "full" {
		return rep.publish()
	}
	return nil
}

// save writes the report as JSON and as Markdown.
func (r report) save(o options, name string) error {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
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

// progress writes to stderr what is under way.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}
