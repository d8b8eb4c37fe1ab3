package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"

	"github.com/listwatch/listwatch/bench/probe"
)

// contests runs a program of contests, the store or the queue, beside its peers. A
// quick run has as many objects: a smaller store fits into the processor's cache.
func contests(ctx context.Context, dir, name string, o options) ([]probe.Contest, error) {
	progress("%s", name)
	turns := 3
	if o.quick {
		turns = 1
	}
	out, err := output(ctx, filepath.Join(dir, name), "-turns", strconv.Itoa(turns))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var all []probe.Contest
	return all, json.Unmarshal([]byte(out), &all)
}

// contestTargets: no slower than client-go's store, and fewer allocations.
func (r report) contestTargets() (out []target) {
	for _, c := range r.Store {
		a, b := c.Ours, c.Theirs
		if b.Reads > 0 {
			out = append(out, target{"store: " + c.What, millions(a.Reads), c.Peer, millions(b.Reads), b.Reads / a.Reads, 1})
			continue
		}
		out = append(out, target{"store: " + c.What, nanoseconds(a.Nanoseconds), c.Peer, nanoseconds(b.Nanoseconds), a.Nanoseconds / b.Nanoseconds, 1})
		if b.Allocs >= 0.5 { // less is the runtime's
			out = append(out, target{"store: " + c.What + ", allocations", number(a.Allocs), c.Peer, number(b.Allocs), math.Round(100*a.Allocs) / 100 / b.Allocs, 0.99})
		}
	}
	return out
}

// queueTargets: twice as many keys a second, with fewer allocations.
func (r report) queueTargets() (out []target) {
	for _, c := range r.Queue {
		a, b := c.Ours, c.Theirs
		out = append(out, target{"queue: " + c.What, millions(a.Keys), c.Peer, millions(b.Keys), b.Keys / a.Keys, 0.5})
		if b.Allocs >= 0.05 {
			out = append(out, target{"queue: " + c.What + ", allocations", number(a.Allocs), c.Peer, number(b.Allocs), math.Round(100*a.Allocs) / 100 / b.Allocs, 0.99})
		}
	}
	return out
}

// queueTable prints every number of the queues.
func (r report) queueTable(w io.Writer) {
	fmt.Fprint(w, "\n### queue\n\n100,000 keys; in the flow each is added four times while workers take them.\n\n"+
		"| contest | whose | keys a second | CPU a key | allocations | bytes |\n|---|---|---:|---:|---:|---:|\n")
	row := func(what, whose string, s probe.Side) {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %.0f |\n", what, whose, millions(s.Keys), nanoseconds(s.Nanoseconds), number(s.Allocs), s.Bytes)
	}
	last := ""
	for _, c := range r.Queue {
		if c.What != last {
			row(c.What, "ours", c.Ours)
		}
		last = c.What
		row(c.What, c.Peer, c.Theirs)
	}
}

// storeTable prints every number of the contests.
func (r report) storeTable(w io.Writer) {
	fmt.Fprint(w, "\n### store\n\n100,000 pods, an index by namespace and one by node.\n\n"+
		"| operation | whose | CPU | allocations | bytes | reads a second | writes a second |\n|---|---|---:|---:|---:|---:|---:|\n")
	row := func(what, whose string, s probe.Side) {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %.0f | %s | %s |\n", what, whose, or(s.Nanoseconds, nanoseconds), number(s.Allocs), s.Bytes, or(s.Reads, millions), or(s.Writes, count))
	}
	last := ""
	for _, c := range r.Store {
		if c.What != last {
			row(c.What, "ours", c.Ours)
		}
		last = c.What
		row(c.What, c.Peer, c.Theirs)
	}
}
