// Operators measures the same operator, of databases, with this library and with
// controller-runtime: examples/database and client/database.
//
//	go run ./cmd/operators -out results/operators.md
//	go run ./cmd/operators -objects 20 -rounds 1 -idle 1s    short, to see that it works
//
// The API server is package apitest in this process, whose controllers and kubelets package
// simulate plays, over TLS and HTTP/2. Each operator is a process of its own, with webhooks
// and without leader election, and they take turns. Lines are those with code: without
// blank lines, comments, tests and what controller-gen generates.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type options struct {
	Objects, Rounds int
	Idle            time.Duration
	Cold            bool
	Out             string
}

// operator is a program that is measured.
type operator struct {
	name, pkg, dir string
	args           func(kubeconfig, certs string, port int) []string

	file  string // built
	lines int
	size  int64
	build time.Duration // of the processors, with an empty cache; 0 = not measured
	runs  []run
}

func operators() []*operator {
	return []*operator{
		{name: "listwatch", pkg: "github.com/listwatch/listwatch/examples/database", dir: "../examples/database",
			args: func(kubeconfig, _ string, port int) []string {
				address := fmt.Sprintf("127.0.0.1:%d", port)
				return []string{"-kubeconfig", kubeconfig, "-webhook-listen", address, "-webhook-url", "https://" + address}
			}},
		{name: "controller-runtime", pkg: "./client/database", dir: "client/database",
			args: func(kubeconfig, certs string, port int) []string {
				return []string{"-kubeconfig", kubeconfig, "-webhook-cert-dir", certs, "-webhook-host", "127.0.0.1", "-webhook-port", fmt.Sprint(port)}
			}},
	}
}

func main() {
	var o options
	flag.IntVar(&o.Objects, "objects", 200, "Databases that are created at once")
	flag.IntVar(&o.Rounds, "rounds", 3, "rounds, in which the operators take turns")
	flag.DurationVar(&o.Idle, "idle", 10*time.Second, "how long nothing changes before the memory is read")
	flag.BoolVar(&o.Cold, "cold", false, "also build with an empty cache, which takes minutes")
	flag.StringVar(&o.Out, "out", "", "also write the table into this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.measure(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "operators:", err)
		os.Exit(1)
	}
}

func (o options) measure(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "operators")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := certificate(dir); err != nil {
		return err
	}
	all := operators()
	for _, p := range all {
		if err := o.compile(ctx, p, dir); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	for range o.Rounds {
		for _, p := range all {
			r, err := o.play(ctx, p, dir)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			fmt.Fprintf(os.Stderr, "%s: %+v\n", p.name, r)
			p.runs = append(p.runs, r)
		}
	}
	table := o.table(all)
	fmt.Print(table)
	if o.Out == "" {
		return nil
	}
	return os.WriteFile(o.Out, []byte(table), 0o644)
}

// compile builds an operator, and counts its lines.
func (o options) compile(ctx context.Context, p *operator, dir string) error {
	p.file = filepath.Join(dir, "operator-"+p.name)
	build := func(env ...string) (*exec.Cmd, error) {
		cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", p.file, p.pkg)
		cmd.Env = append(os.Environ(), env...)
		cmd.Stderr = os.Stderr
		return cmd, cmd.Run()
	}
	if _, err := build(); err != nil {
		return err
	}
	if o.Cold {
		cmd, err := build("GOCACHE=" + filepath.Join(dir, "cache-"+p.name))
		if err != nil {
			return err
		}
		p.build = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	info, err := os.Stat(p.file)
	if err != nil {
		return err
	}
	p.size = info.Size()
	p.lines, err = lines(p.dir)
	return err
}

// lines counts the lines of code that somebody wrote.
func lines(dir string) (n int, err error) {
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "zz_generated") {
			return err
		}
		src, err := os.ReadFile(path)
		for line := range bytes.Lines(src) {
			if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) {
				n++
			}
		}
		return err
	})
	return n, err
}

func (o options) table(all []*operator) string {
	var out strings.Builder
	load, _ := os.ReadFile("/proc/loadavg")
	average, _, _ := strings.Cut(string(load), " ")
	fmt.Fprintf(&out, "# The same operator with controller-runtime\n\n%s, load %s at the end: wall times are only for a quiet machine. `go run ./cmd/operators`, which says\nwhat is measured. %d Databases are created at once after one; medians of %d rounds.\n\n",
		time.Now().UTC().Format(time.DateOnly), average, o.Objects, o.Rounds)
	fmt.Fprint(&out, "| |")
	for _, p := range all {
		fmt.Fprintf(&out, " %s |", p.name)
	}
	fmt.Fprint(&out, "\n|---|---:|---:|\n")
	row := func(name string, f func(*operator) string) {
		fmt.Fprintf(&out, "| %s |", name)
		for _, p := range all {
			fmt.Fprintf(&out, " %s |", f(p))
		}
		fmt.Fprintln(&out)
	}
	row("lines of code", func(p *operator) string { return fmt.Sprint(p.lines) })
	row("stripped binary", func(p *operator) string { return megabytes(float64(p.size)) })
	if o.Cold {
		row("processor time of a build with an empty cache", func(p *operator) string { return p.build.Round(time.Second).String() })
	}
	median := func(f func(run) float64, format func(float64) string) func(*operator) string {
		return func(p *operator) string {
			var v []float64
			for _, r := range p.runs {
				v = append(v, f(r))
			}
			slices.Sort(v)
			return format(v[len(v)/2])
		}
	}
	count := func(v float64) string { return fmt.Sprintf("%.0f", v) }
	seconds := func(v float64) string { return fmt.Sprintf("%.1f s", v) }
	row("resident memory, idle with 1 object", median(func(r run) float64 { return r.One }, megabytes))
	row("of it, what is not the program's file", median(func(r run) float64 { return r.Private }, megabytes))
	row(fmt.Sprintf("resident memory, idle with %d objects", o.Objects+1), median(func(r run) float64 { return r.Many }, megabytes))
	row("peak of the resident memory", median(func(r run) float64 { return r.Peak }, megabytes))
	row("requests for an object, Events aside", median(func(r run) float64 { return r.Requests }, func(v float64) string { return fmt.Sprintf("%.1f", v) }))
	row("requests while idle", median(func(r run) float64 { return r.Quiet }, count))
	row("processor time until all are ready", median(func(r run) float64 { return r.CPU }, seconds))
	row("time until all are ready", median(func(r run) float64 { return r.Ready }, seconds))
	return out.String()
}

func megabytes(v float64) string { return fmt.Sprintf("%.1f MB", v/1e6) }
