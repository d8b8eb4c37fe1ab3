package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/bench/probe"
)

// TestCharts: each chart that has numbers is a file for light and one for dark pages.
func TestCharts(t *testing.T) {
	run := func(cpu float64) []probe.Result {
		return []probe.Result{{Objects: 1000, Events: 1000, Heap: 1e6, Run: probe.Phase{User: cpu}}}
	}
	grown := func(name string, objects int) outcome {
		return outcome{benchCase{Name: name, Objects: objects, Group: growth}, map[string][]probe.Result{"ours-raw": run(1), "clientgo-typed-protobuf": run(9)}}
	}
	r := report{
		Cases: []outcome{
			{benchCase{Name: "pods"}, map[string][]probe.Result{"ours-struct8": run(0.0123), "clientgo-typed-json": run(1)}},
			grown("few", 1000), grown("many", 300000),
		},
		Views: []viewing{{What: "10 pods", Ours: []view{{First: 0.5}}, Theirs: []view{{First: 2}}}},
	}
	dir := t.TempDir()
	if err := r.charts(dir); err != nil {
		t.Fatal(err)
	}
	for file, texts := range map[string][]string{
		"bench-cpu":         {"listwatch, a struct of eight fields", "client-go, JSON", " 12.3<", " 1000<"},
		"bench-heap":        {"Heap of an object (KB)", " 1<"},
		"bench-first-row":   {"listwatch watch, 10 pods", "2.00 s"},
		"bench-growth-cpu":  {"objects kept as bytes", "client-go, protobuf", ">1k<", ">300k<"},
		"bench-growth-heap": {"client-go, protobuf"},
	} {
		for _, theme := range themes {
			b, err := os.ReadFile(filepath.Join(dir, file+theme.suffix+".svg"))
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range texts {
				if !strings.Contains(string(b), text) {
					t.Errorf("%s%s has no %q", file, theme.suffix, text)
				}
			}
		}
	}
}
