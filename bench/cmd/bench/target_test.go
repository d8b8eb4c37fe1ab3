package main

import (
	"strings"
	"testing"

	"github.com/listwatch/listwatch/bench/probe"
)

func runs(cpu ...float64) (out []probe.Result) {
	for _, s := range cpu {
		out = append(out, probe.Result{Events: 1000, Objects: 10, Run: probe.Phase{User: s / 2, System: s / 2}})
	}
	return out
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		cpu  []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 2}, 2},
		{[]float64{4, 1, 2, 3}, 2.5},
	} {
		if got := medianOf(runs(test.cpu...), eventsCPU); got != test.want {
			t.Errorf("median of %v: %v, want %v", test.cpu, got, test.want)
		}
	}
}

func TestFraction(t *testing.T) {
	for v, want := range map[float64]string{1. / 15: "1/15", 0.5: "1/2", 0.4: "1/2.5", 0.8: "0.8", 3: "3", 21.94: "21.9"} {
		if got := fraction(v); got != want {
			t.Errorf("fraction(%v) = %q, want %q", v, got, want)
		}
	}
}

// A line stands in the table only if both of its sides were measured.
func TestTargetsLeaveOutWhatWasNotRun(t *testing.T) {
	r := report{Cases: []outcome{{
		Case: benchCase{Name: "pods"},
		Runs: map[string][]probe.Result{"ours-raw": runs(1), "clientgo-typed-json": runs(20), "floor": runs(0.25)},
	}}}
	var verdicts []string
	var table strings.Builder
	r.targetTable(&table, r.targets())
	for line := range strings.Lines(table.String()) {
		if strings.Contains(line, "CPU of the events") {
			cells := strings.Split(line, "|")
			verdicts = append(verdicts, strings.TrimSpace(cells[3])+" "+strings.TrimSpace(cells[5])+" "+strings.TrimSpace(cells[7]))
		}
	}
	want := "clientgo-typed-json 1/20 met, floor 4 **missed**"
	if got := strings.Join(verdicts, ", "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func verdicts(r report, part string) (out []string) {
	var table strings.Builder
	r.targetTable(&table, r.targets())
	for line := range strings.Lines(table.String()) {
		if strings.Contains(line, part) {
			cells := strings.Split(line, "|")
			out = append(out, strings.TrimSpace(cells[5])+" "+strings.TrimSpace(cells[7]))
		}
	}
	return out
}

func TestTargetsOfTheStore(t *testing.T) {
	r := report{Store: []probe.Contest{
		{What: "update", Ours: probe.Side{Nanoseconds: 100}, Theirs: probe.Side{Nanoseconds: 200, Allocs: 4}},
		{What: "update", Ours: probe.Side{Nanoseconds: 100, Allocs: 4.0001}, Theirs: probe.Side{Nanoseconds: 80, Allocs: 4}},
		{What: "Get", Ours: probe.Side{Nanoseconds: 100, Reads: 3e6}, Theirs: probe.Side{Nanoseconds: 80, Reads: 2e6}},
	}}
	want := "1/2 met, 0 met, 1.25 **missed**, 1 **missed**, 1/1.5 met"
	if got := strings.Join(verdicts(r, "store: "), ", "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestAWarmStartMayNotList(t *testing.T) {
	for lists, want := range map[int]string{0: "0 met", 1: "1 **missed**"} {
		r := report{Cases: []outcome{{
			Case: benchCase{Name: "restart, streamed"},
			Runs: map[string][]probe.Result{"ours-raw-warm": {{Lists: lists}}},
		}}}
		if got := strings.Join(verdicts(r, "LIST requests"), ", "); got != want {
			t.Errorf("%d lists: got %s, want %s", lists, got, want)
		}
	}
}
