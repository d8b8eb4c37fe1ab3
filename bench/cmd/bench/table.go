package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// markdown prints the report: the targets, then every case.
func (r report) markdown(w io.Writer) {
	fmt.Fprintf(w, "%s.\n\n", r.Machine)
	if r.Quick {
		fmt.Fprint(w, "A quick run: a tenth of the objects and events that the cases are named after, and each client once. Of use to see that all works, not to quote.\n\n")
	}
	if ts := r.targets(); len(ts) > 0 {
		r.targetTable(w, ts)
	}
	for _, c := range r.Cases {
		c.table(w)
	}
	if len(r.Store) > 0 {
		r.storeTable(w)
	}
	if len(r.Queue) > 0 {
		r.queueTable(w)
	}
	if len(r.Views) > 0 {
		r.viewTable(w)
	}
	if len(r.Sizes) > 0 {
		fmt.Fprint(w, "\n### minimal informer program\n\n| program | stripped | packages | modules | cold build, wall | CPU |\n|---|---:|---:|---:|---:|---:|\n")
		for _, s := range r.Sizes {
			fmt.Fprintf(w, "| %s | %s | %d | %d | %s | %s |\n", s.Program, megabytes(float64(s.Bytes)), s.Packages, s.Modules, or(s.Cold, seconds), or(s.ColdCPU, seconds))
		}
	}
	if len(r.Parts) > 0 {
		r.partTable(w)
	}
}

// partTable prints where the time went.
func (r report) partTable(w io.Writer) {
	fmt.Fprint(w, "\n### where the time goes\n\n| part | wall |\n|---|---:|\n")
	for _, p := range r.Parts {
		fmt.Fprintf(w, "| %s | %s |\n", p.Name, count(p.Seconds)+" s")
	}
}

func (r report) targetTable(w io.Writer, ts []target) {
	fmt.Fprint(w, "| what | ours | against | theirs | ratio | target | |\n|---|---:|---|---:|---:|---:|---|\n")
	for _, t := range ts {
		verdict, limit := "met", fraction(t.limit)
		switch {
		case t.limit == noTarget:
			verdict, limit = "", "-"
		case t.ratio > t.limit:
			verdict = "**missed**"
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s |\n", t.what, t.ours, t.peer, t.theirs, fraction(t.ratio), limit, verdict)
	}
}

// fraction prints a ratio below 1 as 1/x.
func fraction(v float64) string {
	if v > 0 && v < 0.75 {
		s := fmt.Sprintf("%.1f", 1/v)
		return "1/" + strings.TrimSuffix(s, ".0")
	}
	return fmt.Sprintf("%.3g", v)
}

func or(v float64, text func(float64) string) string {
	if v == 0 {
		return "-"
	}
	return text(v)
}

// table prints the clients of one case, medians of their runs.
func (c outcome) table(w io.Writer) {
	fmt.Fprintf(w, "\n### %s\n\n", c.Case.Name)
	paced := c.Case.Rate > 0
	fmt.Fprintf(w, "%d objects, %d events, %s; %d informers, %d handlers.\n\n", c.Case.Objects, c.Case.Events, c.Case.Initial, c.Case.Informers, c.Case.Handlers)
	if c.Case.SlowEvents > 0 && len(c.Case.Slow) > 0 {
		fmt.Fprintf(w, "%s: %d events.\n\n", strings.Join(c.Case.Slow, ", "), c.Case.SlowEvents)
	}
	fmt.Fprint(w, "| client | runs | sync CPU | of it system | sync wall | events CPU | CPU an event | of it system | page faults an event | allocations an event | heap | an object | peak RSS in sync | peak RSS | LIST requests |")
	if paced {
		fmt.Fprint(w, " latency p50 | p99 |")
	}
	fmt.Fprint(w, "\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	if paced {
		fmt.Fprint(w, "---:|---:|")
	}
	fmt.Fprintln(w)
	for _, name := range append(slices.Clone(c.Case.Clients), c.Case.Slow...) {
		runs := c.Runs[name]
		if len(runs) == 0 {
			continue
		}
		fmt.Fprintf(w, "| %s | %d |", name, len(runs))
		columns := []metric{syncCPU, syncSys, syncWall, eventsCPU, perEvent, perSystem, perFault, allocs, heap, perObject, peakSync, peakAll, lists}
		if paced {
			columns = append(columns, p50, p99)
		}
		for _, m := range columns {
			fmt.Fprintf(w, " %s |", m.text(medianOf(runs, m)))
		}
		fmt.Fprintln(w)
	}
}
