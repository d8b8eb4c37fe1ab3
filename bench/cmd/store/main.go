// Store compares listwatch's Store with client-go's thread-safe store, both
// holding the same 100,000 pods under two indexes, by namespace and by node. It
// prints a list of probe.Contest as JSON.
//
// The sides take turns, so that what else the machine does meets both. What one
// goroutine does alone is measured in its processor time. Garbage is collected
// between the contests: what it costs shows in the allocations only.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/listwatch/listwatch/bench/probe"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "store:", err)
		os.Exit(1)
	}
}

func run() error {
	n := flag.Int("objects", 100_000, "how many")
	turns := flag.Int("turns", 5, "of each side, of which the median counts")
	length := flag.Duration("reads", 250*time.Millisecond, "how long a turn of reads is")
	profile := flag.String("profile", "", "file for a CPU profile")
	flag.Parse()
	end, err := probe.Profile(*profile)
	if err != nil {
		return err
	}
	defer end()
	w, err := newWorld(*n)
	if err != nil {
		return err
	}
	var out []probe.Contest
	for _, u := range w.updates() {
		cs, err := u.run(*turns)
		if err != nil {
			return err
		}
		out = append(out, cs...)
	}
	reads, err := w.readContests(*turns, *length)
	if err != nil {
		return err
	}
	out = append(out, reads...)
	if err := w.check(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}
