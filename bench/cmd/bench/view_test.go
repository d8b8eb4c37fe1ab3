package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/bench/probe"
)

// twoByTwo gives two bytes at a time, so that lines come in pieces.
type twoByTwo struct{ r io.Reader }

func (t twoByTwo) Read(b []byte) (int, error) { return t.r.Read(b[:min(2, len(b))]) }

func TestLinesAreCounted(t *testing.T) {
	c := lineCounter{r: twoByTwo{strings.NewReader("a\n\nbcd\ne\n\n\nf")}}
	for _, n := range []int{1, 3, 3, 6} {
		if err := c.to(n); err != nil || c.seen < n {
			t.Fatalf("to %d: seen %d, %v", n, c.seen, err)
		}
	}
	if err := c.to(7); err != io.EOF { // the last line has no end
		t.Errorf("error %v, want EOF", err)
	}
}

func TestMeterOfThisProcess(t *testing.T) {
	m, err := meterOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if m.cpu < 0 || m.cpu > 3600 || m.resident < 1<<20 || m.peak < m.resident {
		t.Errorf("%+v", m)
	}
}

func TestWhatHasNoTargetHasNoVerdict(t *testing.T) {
	r := report{Views: []viewing{{
		What: "10,000 pods", Objects: 10000, Events: 10000,
		Ours:   []view{{First: 1, All: 2, CPU: 2, Peak: 30e6}, {First: 9, All: 9, CPU: 9, Peak: 90e6}, {First: 1, All: 2, CPU: 2, Peak: 30e6}},
		Theirs: []view{{First: 2, All: 4, CPU: 3, Peak: 60e6}},
	}}}
	for part, want := range map[string]string{"first row": "1/2 **missed**", "all rows": "1/2 ", "peak RSS until then": "1/2 "} {
		if got := strings.Join(verdicts(r, part), ", "); got != want {
			t.Errorf("%s: got %q, want %q", part, got, want)
		}
	}
}

func TestWithoutEventsNothingIsSaidOfThem(t *testing.T) {
	r := report{Views: []viewing{{What: "a real cluster", Ours: []view{{First: 1}}, Theirs: []view{{First: 2}}}}}
	if got := verdicts(r, "in all"); got != nil {
		t.Errorf("got %q", got)
	}
}

func TestCasesOfAGroupTakeTurns(t *testing.T) {
	var got []string
	for _, g := range groups([]benchCase{{Name: "a"}, {Name: "b"}, {Name: "c", Group: "x"}, {Name: "d", Group: "x"}, {Name: "e", Group: "y"}, {Name: "f"}}) {
		var names []string
		for _, c := range g {
			names = append(names, c.Name)
		}
		got = append(got, strings.Join(names, "+"))
	}
	if want := []string{"a", "b", "c+d", "e", "f"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSlowClientsGetFewerEvents(t *testing.T) {
	c := benchCase{Events: 100, SlowEvents: 20, Clients: []string{"fast"}, Slow: []string{"slow"}}
	if fast, slow := c.events("fast"), c.events("slow"); fast != 100 || slow != 20 {
		t.Errorf("fast %d, slow %d", fast, slow)
	}
	c.SlowEvents = 0
	if slow := c.events("slow"); slow != 100 {
		t.Errorf("slow %d, want as many as the others", slow)
	}
}

// What is compared is the cost of one event: slow clients get fewer.
func TestRatiosAreOfTheCostOfAnEvent(t *testing.T) {
	ours, theirs := runs(1), runs(4)
	theirs[0].Events /= 5
	r := report{Cases: []outcome{{Case: benchCase{Name: "pods"}, Runs: map[string][]probe.Result{"ours-raw": ours, "clientgo-typed-json": theirs}}}}
	if got := strings.Join(verdicts(r, "CPU of the events"), ", "); got != "1/20 met" {
		t.Errorf("got %q", got)
	}
}
